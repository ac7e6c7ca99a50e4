"""Parts of the lam path against slow versions: inner products, lattices, halves, outliers; and what they are for."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from common import blobs

from kfree import DPMeans, lambda_path
from kfree.core.spaces import DUAL, EUCLIDEAN
from kfree.core.stats import Stats
from kfree.engines.registry import open_local
from kfree.objectives.dp_means import OBJECTIVES, DPMeansObjective
from kfree.search.agglomerate import agglomerate
from kfree.search.centres.seeding import greedy_k_means_plus_plus
from kfree.search.path import best_by_k as rungs
from kfree.search.path import gram_merges
from kfree.search.path.best_by_k import BestByK
from kfree.search.path.cells import neighbours, off_span, span_of
from kfree.search.path.gram_merges import cheapest_pair, merge_all
from kfree.search.path.held_out import stratified_halves
from kfree.search.path.lam_path import _replaces
from kfree.search.path.lattice import noise_widths, with_lattice_noise
from kfree.search.path.micro_clusters import _in_basis, spread_seeds
from kfree.search.path.outliers import _sq_distances, far_rows
from kfree.search.penalised import PenalisedSearch


def local(X):
    """Rows in memory that all count once."""
    return open_local("auto", X, weight=np.ones(len(X)))


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_merging_by_inner_products_is_merging_by_coordinates(rng, metric):
    n = rng.uniform(1, 5, size=40)
    stats = Stats(n, n[:, None] * (3.0 + rng.normal(size=(40, 7))), np.zeros(40))
    objective = OBJECTIVES[metric](0.0)
    fast, slow = merge_all(stats, objective, "native"), agglomerate(stats, objective)
    np.testing.assert_array_equal(fast.pairs, slow.pairs)
    np.testing.assert_allclose(fast.costs, slow.costs, rtol=1e-9)
    a, b, cost = cheapest_pair(stats, objective, "native")
    assert [a, b] == slow.pairs[0].tolist()
    np.testing.assert_allclose(cost, slow.costs[0], rtol=1e-9)


@pytest.mark.parametrize("metric", OBJECTIVES)
@pytest.mark.parametrize("k", [1, 2, 7, 60])
@pytest.mark.parametrize("values", ["any", "ties", "overflow"])
def test_compiled_merging_has_the_bits_of_the_reference(rng, values, k, metric):
    n = rng.integers(1, 4, size=k).astype(float)
    sums = rng.integers(-2, 3, size=(k, 3)).astype(float) if values == "ties" else rng.normal(size=(k, 3))
    if values == "overflow":
        sums[::3] *= 1e200
    stats, objective = Stats(n, n[:, None] * sums, np.zeros(k)), OBJECTIVES[metric](0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        fast, slow = (merge_all(stats, objective, engine) for engine in ("native", "reference"))
    np.testing.assert_array_equal(fast.pairs, slow.pairs)
    np.testing.assert_array_equal(fast.costs, slow.costs)


@pytest.mark.parametrize("metric", OBJECTIVES)
@pytest.mark.parametrize("k", [2, 5, 6, 23])
def test_the_cheapest_pair_is_the_first_of_all_costs(k, metric, rng, monkeypatch):
    """Blocks of clusters give the same pair as all costs at once; whole numbers make ties."""
    monkeypatch.setattr(gram_merges, "AT_ONCE", 5)
    n, objective = rng.integers(1, 4, size=k).astype(float), OBJECTIVES[metric](0.0)
    for centres in (rng.normal(size=(k, 3)), rng.integers(1, 4, size=(k, 3))):
        stats = Stats(n, n[:, None] * centres, np.zeros(k))
        gram = stats.sum @ stats.sum.T
        costs = objective.merge_costs_by_gram(n, np.diagonal(gram), gram, slice(None))
        costs[np.tril_indices(k)] = np.inf
        a, b = divmod(int(costs.argmin()), k)
        pair = cheapest_pair(stats, objective, "native")
        assert pair == cheapest_pair(stats, objective, "reference")
        assert pair[:2] == (a, b)
        assert pair[2] == pytest.approx(costs[a, b], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_no_pair_is_cheaper_than_its_bound(rng, metric):
    objective, n = OBJECTIVES[metric](0.0), rng.uniform(0.1, 9, size=50)
    for offset in (0.0, 1e4):
        stats = Stats(n, n[:, None] * (offset + rng.normal(size=(50, 3))), np.zeros(50))
        costs = objective.merge_costs(stats, slice(None))
        np.fill_diagonal(costs, np.inf)
        centres = objective.centres(stats, previous=stats.sum)
        least = rungs.Partners().least_costs(np.arange(50), objective.sizes(stats), centres)
        assert (least <= costs.min(axis=1)).all()
        if not offset:
            np.testing.assert_allclose(least, costs.min(axis=1), rtol=0.5 if metric == "cosine" else 1e-9)


def test_bounds_are_kept_where_neither_a_cluster_nor_its_partner_changed(rng, monkeypatch):
    """As new ones are, while clusters move, grow, vanish and appear; and few are compared."""
    compared = []
    bounds = rungs._bounds
    monkeypatch.setattr(rungs, "_bounds", lambda some, *rest: compared.append(len(some)) or bounds(some, *rest))
    monkeypatch.setattr(rungs, "AT_ONCE", 3)
    kept, uids, next_uid = rungs.Partners(), np.arange(60), 60
    sizes, centres = rng.uniform(1, 2, size=60), rng.normal(size=(60, 2))
    for step in range(40):
        compared.clear()
        found = kept.least_costs(uids, sizes, centres)
        n_compared = sum(compared)
        np.testing.assert_allclose(found, rungs.Partners().least_costs(uids, sizes, centres), rtol=1e-9)
        assert n_compared == 60 if step == 0 else n_compared < len(uids) / 2
        sizes, centres = sizes.copy(), centres.copy()
        centres[rng.integers(len(uids))] += rng.normal(size=2)
        sizes[rng.integers(len(uids))] *= 1.5
        keep = np.arange(len(uids)) != rng.integers(len(uids))
        uids, sizes, centres = uids[keep], sizes[keep], centres[keep]
        if step % 2:
            uids, next_uid = np.append(uids, next_uid), next_uid + 1
            sizes, centres = np.append(sizes, 1.0), np.vstack([centres, rng.normal(size=2)])


def test_the_path_never_rises(rng):
    """Beyond the clusterings that were improved it is that of merging, here one that merges badly."""
    best_by_k = BestByK(open_local("native", rng.normal(size=(40, 2)), weight=None), OBJECTIVES["euclidean"](0.0))
    best_by_k.merges = replace(best_by_k.merges, costs=9 * best_by_k.merges.costs)
    assert (np.diff(best_by_k.costs(8)) <= 0).all()


def test_the_cheapest_centres_may_be_those_of_merging(rng):
    X = rng.normal(size=(40, 2))
    best_by_k = BestByK(open_local("native", X, weight=None), OBJECTIVES["euclidean"](0.0))
    best_by_k.costs(8)
    np.testing.assert_array_equal(best_by_k.cheapest_centres(3), best_by_k.centres(3))
    best_by_k.merges = replace(best_by_k.merges, costs=0 * best_by_k.merges.costs)
    for k in (3, 12):
        labels = best_by_k.merges.labels(k)
        means = [X[labels == c].mean(axis=0) for c in range(k)]
        np.testing.assert_allclose(best_by_k.cheapest_centres(k), means, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_fit_to_few_rows_costs_no_more_than_the_path(metric):
    """At every penalty of the path; the search alone ends higher at one in ten.

    A fit with another number of clusters than the path costs less.
    """
    for seed in (1, 13):
        X = blobs(np.random.default_rng(seed), n=24, d=3, k=5, spread=1.0)[0]
        path = lambda_path(X, metric=metric)
        for step in (path.at(k=int(k)) for k in path.k):
            if step.has_penalty:
                model = DPMeans(lam=step.lam, metric=metric).fit(X)
                best = step.cost + step.lam * step.k
                assert best == pytest.approx((path.cost + step.lam * path.k).min())
                assert model.cost_ <= best * (1 + 1e-9)
                assert model.n_clusters_ == step.k or model.cost_ < best * (1 - 1e-9)


def test_directions_that_cancel_out_merge_at_a_number(rng):
    """The squared length of their sum, added up from products, can round to less than zero."""
    sums = rng.normal(size=(20, 40))
    sums = np.vstack([sums, -sums])
    stats = Stats(np.ones(40), sums, np.zeros(40))
    assert np.isfinite(merge_all(stats, OBJECTIVES["cosine"](0.0), "native").costs).all()


def test_a_basis_of_rows_that_cannot_be_squared(rng):
    rows = rng.normal(size=(4, 9))
    for scale in (1e-200, 1e200):
        found, basis = _in_basis(rows * scale, EUCLIDEAN)
        np.testing.assert_allclose(found @ basis, rows * scale, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize(("k", "d"), [(4, 7), (3, 3), (6, 3), (2, 5)])
def test_what_lies_off_the_span_of_the_centres(rng, k, d):
    X, centres = rng.normal(size=(50, d)), rng.normal(size=(k, d))
    sq_dist = ((X[:, None] - centres) ** 2).sum(axis=2)
    origin = centres.mean(axis=0)
    basis = np.linalg.svd(centres - origin)[2][: min(k - 1, d)]
    off = (X - origin) - (X - origin) @ basis.T @ basis
    sq_gap = EUCLIDEAN.sq_gaps(centres, slice(None))
    span = span_of(centres, sq_gap, EUCLIDEAN)
    assert (span is None) == (k > d)
    if span is not None:
        np.testing.assert_allclose(off_span(sq_dist, sq_gap, span), (off**2).sum(axis=1), atol=1e-9)


def test_many_centres_in_a_line_take_a_decomposition_of_their_columns_alone(rng, monkeypatch):
    """A k × k matrix for every k would take most of the time of a path."""
    X, centres = rng.normal(size=(50, 3)), rng.normal(size=(300, 1)) * [1.0, 2.0, 3.0]
    sizes, eigh = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: sizes.append(len(matrix)) or eigh(matrix))
    sq_gap = EUCLIDEAN.sq_gaps(centres, slice(None))
    span = span_of(centres, sq_gap, EUCLIDEAN)
    along = (X - centres.mean(axis=0)) @ [1.0, 2.0, 3.0] / np.sqrt(14)
    off = ((X - centres.mean(axis=0)) ** 2).sum(axis=1) - along**2
    sq_dist = ((X[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_allclose(off_span(sq_dist, sq_gap, span), off, atol=1e-9)
    assert sizes == [3]


def test_neighbours_are_the_nearest_ones_once():
    sq_gap = EUCLIDEAN.sq_gaps(np.array([[0.0], [1.0], [5.0], [5.0], [9.0]]), slice(None))
    segments = neighbours(sq_gap)
    assert segments.pairs.tolist() == [[0, 1], [2, 4]]  # centres that coincide are no pair
    assert segments.gap.tolist() == [1.0, 4.0]
    np.testing.assert_allclose(segments.projection[1], [0, 0, 0, 0, 1])
    assert neighbours(sq_gap, 2).pairs.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 4], [3, 4]]
    assert neighbours(sq_gap[:1, :1]).pairs.shape == (0, 2)


@pytest.mark.parametrize(
    ("column", "step"),
    [
        (np.arange(100) % 7, 1.0),
        (0.25 * (np.arange(100) % 7) + 3.1, 0.25),
        (np.where(np.arange(100) % 7 < 3, 0.0, 5.0), 5.0),
        (np.arange(100) % 50, 0.0),  # two rows per value may be copies
        (np.where(np.arange(100) % 20 == 0, 100.0, 0.0), 0.0),  # noise would outweigh the column
        (np.choose(np.arange(100) % 3, [0.0, 1.0, 2.5]), 0.0),
        (np.linspace(0, 1, 100) ** 2, 0.0),
        (np.ones(100), 0.0),
    ],
)
def test_steps_of_columns_on_a_lattice(column, step, rng):
    found = noise_widths(np.column_stack([column, rng.normal(size=100)]))
    np.testing.assert_allclose(found, [step, 0.0])


def test_two_values_alone_are_two_clusters_and_no_lattice(rng):
    yes_no = (np.arange(100) % 2).astype(float)[:, None]
    assert noise_widths(yes_no).tolist() == [0.0]
    assert noise_widths(np.hstack([yes_no, yes_no[::-1]])).tolist() == [1.0, 1.0]


def test_noise_goes_to_lattice_columns_and_is_one_step_wide(rng):
    X = np.column_stack([3.0 * rng.integers(5, size=300), rng.normal(size=300)])
    engine = open_local("auto", X, weight=rng.uniform(1, 2, size=300))
    noisy = with_lattice_noise(engine, EUCLIDEAN, np.random.RandomState(0))
    change = noisy.rows(np.arange(300)) - engine.rows(np.arange(300))
    np.testing.assert_allclose(change[:, 1], 0.0, atol=1e-12)
    assert 1.4 < np.abs(change[:, 0]).max() <= 1.5 + 1e-9
    np.testing.assert_array_equal(noisy.weight, engine.weight)
    plain = local(X[:, 1:])
    assert with_lattice_noise(plain, EUCLIDEAN, np.random.RandomState(0)) is plain


def test_logarithms_of_counts_have_no_density_dips():
    rng = np.random.default_rng([2, 5, 1])
    count, yes = rng.negative_binomial(2, 2 / 7, 1000), rng.integers(2, size=1000)
    assert DPMeans().fit(np.column_stack([np.log2(1 + count), yes - 0.5])).n_clusters_ == 1


def test_noise_between_unequal_steps_fills_them(rng):
    values = np.log(1 + np.arange(8.0))
    engine = local(np.column_stack([values[rng.integers(8, size=800)], rng.normal(size=800)]))
    noisy = with_lattice_noise(engine, EUCLIDEAN, np.random.RandomState(0)).rows(np.arange(800))
    np.testing.assert_allclose(noisy[:, 1], engine.rows(np.arange(800))[:, 1])
    assert np.diff(np.sort(noisy[:, 0])).max() < 0.1 < np.diff(values).min()


def test_a_copied_row_is_in_one_half_and_only_once(rng):
    distinct = rng.normal(size=(40, 3))
    number = rng.permutation(np.concatenate([np.repeat(np.arange(39), 3), np.full(60, 39)]))
    first, second = (number[half].tolist() for half in stratified_halves(local(distinct[number]), np.zeros(177, int)))
    assert sorted(set(first) | set(second)) == list(range(40))
    assert set(first) & set(second) == {39}  # a point mass, of which both have a half
    assert (first.count(39), second.count(39)) == (30, 30)
    assert (len(first), len(second)) == (50, 49)


def test_halves_have_equal_parts_of_every_stratum(rng):
    strata = rng.permutation(np.repeat([0, 1, 2], [20, 7, 3]))
    first, second = stratified_halves(local(rng.normal(size=(30, 2))), strata)
    assert sorted([*first, *second]) == list(range(30))
    assert np.abs(np.bincount(strata[first]) - np.bincount(strata[second])).max() <= 1
    assert abs(len(first) - len(second)) <= 1


def test_far_rows_are_those_without_neighbours(rng):
    X, _ = blobs(rng, n=400, d=2, k=4, spread=6.0)
    cluster = np.array([80.0, 80.0]) + rng.normal(size=(12, 2))  # far from all others, but not alone
    gross = np.array([[900.0, 0.0], [0.0, -400.0], [-300.0, 300.0]])
    far = far_rows(local(np.vstack([X, cluster, gross])))
    assert far[-3:].all()
    assert not far[:-3].any()


def test_wide_outliers_are_far_even_where_they_are_many(rng):
    X, _ = blobs(rng, n=900, d=4, k=4, spread=4.0)
    wide = 40.0 * rng.normal(size=(90, 4))
    far = far_rows(local(np.vstack([X, wide])))
    assert far[900:].mean() > 0.9
    assert far[:900].mean() < 0.02


@pytest.mark.parametrize("d", [1, 2, 10])
def test_no_row_of_a_gaussian_or_a_uniform_cube_is_far(rng, d):
    for X in (
        rng.normal(size=(1000, d)),
        rng.uniform(size=(1000, d)),
        rng.normal(size=(1000, d)) * np.arange(1, d + 1),
    ):
        assert not far_rows(local(X)).any()


@pytest.mark.parametrize("far", [0.0, 1e7])
def test_distances_by_inner_products_are_those_of_the_rows(far, rng):
    X = rng.normal(size=(60, 70)) + 1e3
    X[0] += far
    X[7] = X[30]
    expected = ((X[:, None] - X[None, :20]) ** 2).sum(axis=2)
    np.testing.assert_allclose(_sq_distances(local(X), 20), expected, rtol=1e-6 if far else 1e-9)


def test_seeds_are_distinct_rows_of_positive_weight(rng):
    X, weight = rng.normal(size=(50, 3)), rng.integers(2, size=50) + 0.0
    engine = open_local("auto", X, weight=weight)
    for n_seeds in (1, 7, 500):
        seeds = engine.frame.outward(spread_seeds(engine, n_seeds, np.random.RandomState(0)))
        assert len(seeds) == min(n_seeds, int(weight.sum())) == len(np.unique(seeds, axis=0))
        nearest = ((seeds[:, None] - X[weight > 0]) ** 2).sum(axis=2).min(axis=1)
        np.testing.assert_allclose(nearest, 0, atol=1e-20)


def test_seeds_in_rounds_cost_what_seeds_one_by_one_cost(rng):
    X, _ = blobs(rng, n=600, d=2, k=12, spread=20.0)
    X[:3] *= 100.0  # few rows with nearly all of the cost
    engine, cost = local(X), {}
    for seeding in (spread_seeds, lambda *a: greedy_k_means_plus_plus(*a, n_trials=1)):
        seeds = [seeding(engine, 60, np.random.RandomState(j)) for j in range(20)]
        cost[seeding] = np.mean([engine.sq_distances(one).min(axis=1).sum() for one in seeds])
    in_rounds, one_by_one = cost.values()
    assert in_rounds < 1.25 * one_by_one


NOTHING_THERE = {
    "ages": lambda rng: np.clip(np.round(rng.normal(40, 12, size=(500, 1))), 18, 90),
    "counts": lambda rng: rng.poisson(2.0, size=(500, 3)),
    "answers": lambda rng: np.clip(np.round(3 + rng.normal(size=(500, 5))), 1, 5),
    "yes/no": lambda rng: np.hstack([rng.normal(size=(500, 4)), rng.integers(2, size=(500, 1))]),
    "copies": lambda rng: np.repeat(rng.normal(size=(100, 3)), 5, axis=0),
    "skewed": lambda rng: rng.lognormal(0, 1, size=(1200, 3)),
    "shares": lambda rng: rng.dirichlet(np.ones(4), size=600),
    "zeros": lambda rng: rng.lognormal(0, 1, size=(600, 3)) * (rng.uniform(size=(600, 3)) < 0.5),
}


@pytest.mark.parametrize("family", NOTHING_THERE)
def test_discrete_skewed_and_copied_rows_are_one_cluster(family):
    X = NOTHING_THERE[family](np.random.default_rng(1)).astype(float)
    assert lambda_path(X).suggest().k == 1


def apart(rng, sizes, d, gap):
    """Gaussians whose centres all have the same distance to each other."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    centres = np.linalg.qr(rng.normal(size=(d, len(sizes))))[0].T * gap / np.sqrt(2)
    return centres[y] + rng.normal(size=(len(y), d)), y


@pytest.mark.parametrize(("sizes", "d", "gap"), [([100] * 5, 128, 6.0), ([200] * 5, 10, 3.5), ([400, 10, 10], 4, 12.0)])
def test_many_columns_close_clusters_and_small_ones(sizes, d, gap):
    X, _ = apart(np.random.default_rng(0), sizes, d, gap)
    assert lambda_path(X).suggest().k == len(sizes)


def test_a_cluster_twice_as_long_as_wide_is_not_cut(rng):
    X = np.repeat([[0.0, 0], [8, 0], [0, 8], [11, 11]], 150, axis=0) + rng.normal(size=(600, 2)) * [1.0, 1.0]
    X[450:, 0] = 11 + 2.0 * rng.normal(size=150)
    assert lambda_path(X).suggest().k == 4


@pytest.mark.parametrize("far", [[[1e4, 1e4]], [[300.0, -200.0], [-500.0, 100.0], [90.0, 400.0]]])
def test_outliers_are_set_aside_counted_and_given_back(far, rng):
    X, y = blobs(rng, n=300, k=3, d=2, spread=12.0)
    model = DPMeans().fit(np.vstack([X, far]))
    clean = DPMeans().fit(X)
    assert model.n_clusters_ == clean.n_clusters_ == len(np.unique(y))
    assert len(far) <= model.path_.n_outliers <= len(far) + 5
    assert model.path_.summary()["n_outliers"] == model.path_.n_outliers
    assert model.labels_.shape == (300 + len(far),)
    np.testing.assert_array_equal(model.predict(np.vstack([X, far])), model.labels_)
    # A far row changes no centre.
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0), np.sort(clean.cluster_centers_, axis=0), atol=0.5
    )


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")  # strips are long
def test_a_fit_says_when_held_out_rows_do_not_agree():
    rng = np.random.default_rng(0)
    strips = rng.normal(size=(800, 2)) * [10.0, 1.0] + 6.0 * np.arange(4).repeat(200)[:, None] * [0.0, 1.0]
    with pytest.warns(UserWarning, match=r"chose \d+ clusters with lam='auto', but held-out rows do not agree"):
        model = DPMeans().fit(strips)
    assert model.path_.is_doubtful
    assert model.n_clusters_ == model.path_.suggest().k


@pytest.mark.parametrize(
    ("weakest", "runner_up", "said"),
    [
        (-3.0, 5, "the weakest dip is -3.0 standard deviations from no dip. The runner-up is k=5. path_ shows all"),
        (-np.inf, None, "some of them have too few rows for the test. path_ shows all"),
    ],
)
def test_doubt_is_put_in_words(weakest, runner_up, said):
    found = {"k": 4, "share": 0.5, "weakest": weakest, "runner_up": runner_up}
    with pytest.warns(UserWarning, match=re.escape(said)):
        PenalisedSearch("DPMeans", DPMeansObjective, "auto")._warn_of_doubt(SimpleNamespace(summary=lambda: found))


def staircase(k, merit, sure=False, doubtful=False):
    return SimpleNamespace(
        suggest=lambda: SimpleNamespace(k=k, score=2 * merit, share=0.5), is_sure=sure, is_doubtful=doubtful
    )


@pytest.mark.parametrize(
    ("rest", "path", "replaces"),
    [
        (staircase(1, 0.0), staircase(10, 1.0, doubtful=True), True),
        (staircase(3, 1.0, sure=True), staircase(9, 2.0), True),
        (staircase(5, 1.0, sure=True), staircase(3, 2.0, sure=True), True),
        (staircase(3, 2.0, sure=True), staircase(3, 1.0, sure=True), False),
        (staircase(11, 1.1), staircase(3, 0.6, sure=True), True),  # standardised digits: 13 rows hid nine clusters
        (staircase(11, 0.5), staircase(3, 0.6, sure=True), False),
        (staircase(11, 1.1, doubtful=True), staircase(3, 0.6, sure=True), False),
        (staircase(4, 1.1), staircase(1, 0.0), False),
    ],
)
def test_when_the_path_without_far_rows_is_used(rest, path, replaces):
    assert _replaces(rest, path) == replaces


def test_points_of_no_length_have_a_column():
    # Compiled code divides by the number of columns.
    coordinates, basis = _in_basis(np.array([[1.0, 0.0]]), DUAL)
    assert coordinates.tolist() == [[0.0]]
    assert basis.shape == (1, 2)


def sq_errors(X, labels, k):
    return sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in range(k) if (labels == j).any())


@pytest.mark.parametrize("name", ["native", "reference"])
def test_no_row_of_few_can_move_with_a_gain(rng, name):
    X = rng.normal(size=(25, 2))
    best = BestByK(open_local(name, X, weight=np.ones(len(X))), DPMeansObjective(0.0), by_rows=True)
    best.climb(6)
    for k in range(2, 7):
        labels = ((X[:, None] - best.centres(k)) ** 2).sum(axis=2).argmin(axis=1)
        cost = sq_errors(X, labels, k)
        assert len(set(labels)) == k
        for row, there in np.ndindex(len(X), k):
            moved = np.where(np.arange(len(X)) == row, there, labels)
            assert sq_errors(X, moved, k) >= (1 - 1e-9) * cost


@pytest.mark.parametrize("seed", [7])
def test_penalties_of_few_rows_give_their_numbers(seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    path = lambda_path(X)
    steps = [path.at(k=k) for k in range(1, 11)]
    wide = [step for step in steps if step.has_penalty]
    assert [DPMeans(lam=step.lam).fit(X).n_clusters_ for step in wide] == [step.k for step in wide]
    assert len(wide) > 5
