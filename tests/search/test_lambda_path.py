"""The lam path: its parts against slow versions, exact k on data with clusters, one cluster on data without."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from oracles.centres import all_partitions, partition_cost
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from kfree import DPMeans, farthest_first_lambda, lambda_path
from kfree.core.sites import Sites
from kfree.core.spaces import EUCLIDEAN
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.state import one_cluster
from kfree.search.path.best_by_k import BestByK
from kfree.search.path.density_dips import NARROW, WIDE, Trial, density_dips, unimodality
from kfree.search.path.lam_path import staircase_to
from kfree.search.path.micro_clusters import make_micro_clusters, sample_of


def seeded():
    return np.random.RandomState(0)


@pytest.mark.parametrize("metric", OBJECTIVES)
@pytest.mark.parametrize("n_rows", [300, 900])
def test_micro_clusters_cost_what_their_rows_cost(rng, monkeypatch, metric, n_rows):
    monkeypatch.setattr("kfree.search.path.micro_clusters.SAMPLE", 500)
    X, _ = blobs(rng, n=n_rows, d=4)
    weight = rng.uniform(0.5, 2, size=n_rows)
    objective = OBJECTIVES[metric](0.0)
    engine = open_engine("auto", X, weight=weight, unit=metric == "cosine")
    micro = make_micro_clusters(engine, sample_of(engine, objective, seeded()), objective, 40, seeded())
    assert not micro.complete
    one = objective.cost(engine.nearest(one_cluster(engine, objective)).stats)
    np.testing.assert_allclose(
        micro.offset + objective.cost(micro.engine.nearest(one_cluster(micro.engine, objective)).stats), one
    )
    assert 0 < micro.offset < 0.3 * one


@pytest.mark.parametrize("metric", OBJECTIVES)
def test_more_columns_than_micro_clusters(rng, metric):
    X, _ = blobs(rng, n=90, d=60, k=3)
    objective = OBJECTIVES[metric](0.0)
    engine = open_engine("auto", X, unit=metric == "cosine")
    micro = make_micro_clusters(engine, sample_of(engine, objective, seeded()), objective, 20, seeded())
    assert micro.engine.n_features <= micro.engine.n_rows == 20
    rows = micro.outward(micro.engine.frame.outward(micro.engine.rows(np.arange(20))))
    # No row pays more for its nearest centre than for the one of its micro-cluster.
    assert objective.cost(engine.nearest(Sites.of(rows)).stats) <= micro.offset * (1 + 1e-6)
    assert lambda_path(X, metric=metric).suggest().k == 3


def test_the_order_of_the_rows_does_not_matter(rng):
    X, _ = blobs(rng, n=150, k=6)
    again = rng.permutation(150)
    np.testing.assert_allclose(lambda_path(X[again]).cost, lambda_path(X).cost, rtol=1e-9)


def test_the_ladder_finds_the_best_clusterings_of_few_rows(rng):
    hits = []
    for _ in range(4):
        X = rng.normal(size=(7, 2))
        best = np.full(7, np.inf)
        for labels in all_partitions(7):
            best[max(labels)] = min(best[max(labels)], partition_cost(X, labels, 0.0))
        best_by_k = BestByK(open_engine("auto", X, weight=np.ones(7)), OBJECTIVES["euclidean"](0.0))
        costs = best_by_k.costs(7)
        assert (costs >= best - 1e-9).all()
        hits.append(np.isclose(costs, best, atol=1e-9).mean())
    assert np.mean(hits) > 0.8


def test_the_ladder_is_no_worse_than_greedy_merging_and_never_rises(rng):
    X, _ = blobs(rng, n=200, k=9, spread=3.0)
    best_by_k = BestByK(open_engine("auto", X, weight=np.ones(200)), OBJECTIVES["euclidean"](0.0))
    assert (best_by_k.costs(40) <= best_by_k.merges.costs_by_k()).all()
    assert (np.diff(best_by_k.costs(40)) <= 1e-9).all()


@pytest.mark.parametrize("metric", OBJECTIVES)
@pytest.mark.parametrize("lattice", [False, True], ids=["anywhere", "ties"])
def test_only_near_clusters_are_compared_where_there_are_many(rng, monkeypatch, metric, lattice):
    X = rng.integers(1, 30, size=(600, 2)).astype(float) if lattice else rng.standard_cauchy(size=(600, 2))
    weight = rng.integers(1, 9, size=600).astype(float)
    found = []
    for many in (64, 10**9):
        monkeypatch.setattr("kfree.search.path.best_by_k._MANY", many)
        engine = open_engine("auto", X, weight=weight, unit=metric == "cosine")
        found.append(BestByK(engine, OBJECTIVES[metric](0.0)).costs(150))
    np.testing.assert_array_equal(*found)


def slow_pairs(X, centres, n_nearest):
    """Each centre with its nearest ones; rows and centres without what lies off the flat that the centres span."""
    nearest = [int(np.argmin([((x - c) ** 2).sum() for c in centres])) for x in X]
    pairs = set()
    for a, centre in enumerate(centres):
        gaps = [np.inf if b == a else np.linalg.norm(centre - other) for b, other in enumerate(centres)]
        pairs |= {tuple(sorted((a, int(b)))) for b in np.argsort(gaps)[:n_nearest]}
    basis = np.linalg.svd(centres - centres.mean(axis=0))[2][: min(len(centres) - 1, X.shape[1])]
    return sorted(pairs), nearest, (X - centres.mean(axis=0)) @ basis.T, (centres - centres.mean(axis=0)) @ basis.T


def slow_places(X, nearest, centres, a, b, tube):
    """The places of the rows near the way from a to b, by row number, with coordinates and one row at a time."""
    axis = (centres[b] - centres[a]) / np.linalg.norm(centres[b] - centres[a])
    t = (X - (centres[a] + centres[b]) / 2) @ axis
    off = np.linalg.norm(X - (centres[a] + centres[b]) / 2 - np.outer(t, axis), axis=1) ** 2
    wide = np.quantile([off[i] for i in range(len(X)) if nearest[i] in (a, b)], tube)
    places = {}
    for i in range(len(X)):
        at = [np.mean([t[j] for j in range(len(X)) if nearest[j] == c and j != i]) for c in (a, b)]
        if off[i] <= wide + 1e-12 and in_cell(X[i], centres, a, b):
            places[i] = (t[i] - (at[0] + at[1]) / 2) / (at[1] - at[0])
    return places


def inside(places, centre, half):
    return [i for i, place in places.items() if abs(place - centre) < half and abs(place) < 0.75]


def slow_dips(X, centres, tube, n_nearest):
    """Between each centre and its nearest ones: what the middle falls short of, and the variance of the sum."""
    pairs, nearest, X, centres = slow_pairs(X, centres, n_nearest)
    excess, influence = [], np.zeros(len(X))
    for a, b in pairs:
        places = slow_places(X, nearest, centres, a, b, tube)
        left, middle, right = (inside(places, centre, 0.25) for centre in (-0.5, 0.0, 0.5))
        excess.append(np.sqrt(len(left) * len(right)) - len(middle))
        if left and right:
            influence[left] += np.sqrt(len(right) / len(left)) / 2
            influence[right] += np.sqrt(len(left) / len(right)) / 2
        influence[middle] -= 1
    return np.array(excess), (influence**2).sum()


def slow_unimodality(X, training, centres, tube, n_nearest):
    """The same for the window that is emptiest among the training rows, and the emptier of the ends."""
    pairs, nearest, X, flat = slow_pairs(X, centres, n_nearest)
    _, nearest_of_training, training, _ = slow_pairs(training, centres, n_nearest)
    excess, influence = [], np.zeros(len(X))
    for a, b in pairs:
        placed = slow_places(training, nearest_of_training, flat, a, b, tube)
        counts = {place: len(inside(placed, place, 0.125)) for place in np.linspace(-0.3, 0.3, 13)}
        lowest = [place for place, count in counts.items() if count == min(counts.values())]
        places = slow_places(X, nearest, flat, a, b, tube)
        left, middle, right = (inside(places, centre, 0.125) for centre in (-0.5, lowest[len(lowest) // 2], 0.5))
        emptier = left if len(left) <= len(right) else right
        excess.append(len(emptier) - len(middle))
        influence[emptier] += 1
        influence[middle] -= 1
    return np.array(excess), (influence**2).sum()


def in_cell(x, centres, a, b):
    """Whether x is nearer to the way from a to b, at its point next to c, than to c, for every other centre c."""
    way = centres[b] - centres[a]
    for c in set(range(len(centres))) - {a, b}:
        foot = centres[a] + np.clip((centres[c] - centres[a]) @ way / (way @ way), 0, 1) * way
        if np.linalg.norm(x - foot) > np.linalg.norm(x - centres[c]):
            return False
    return True


@pytest.mark.parametrize("d", [3, 8])
@pytest.mark.parametrize("look", [WIDE, NARROW])
def test_dips_are_those_of_the_definition(rng, d, look, monkeypatch):
    monkeypatch.setattr("kfree.search.path.density_dips.WIDE", look)
    X, y = blobs(rng, n=160, d=d, k=5, spread=2.0)
    trials, found, variance, unimodal, other_variance = [], [], 1.0, [], 1.0
    for rows, others in [(X[:80], slice(80, 160)), (X[80:], slice(80))]:
        centres = np.array([X[others][y[others] == j].mean(axis=0) for j in range(5)])
        engine = open_engine("auto", rows)
        training = open_engine("auto", X[others], frame=engine.frame)
        trials.append(Trial(engine, engine.frame.inward(centres), training))
        excess, own = slow_dips(rows, centres, *look)
        found, variance = np.append(found, excess), variance + own
        excess, own = slow_unimodality(rows, X[others], centres, *look)
        unimodal, other_variance = np.append(unimodal, excess), other_variance + own
    judged = density_dips(trials)
    np.testing.assert_allclose(judged.z, found.sum() / np.sqrt(variance))
    assert judged.share == np.mean(found > 0)
    assert judged.n_pairs == len(found)
    np.testing.assert_allclose(unimodality(trials, EUCLIDEAN, look), unimodal.sum() / np.sqrt(other_variance))


def test_a_small_table_has_the_same_number_however_its_rows_are_halved():
    """With 178 rows, the evidence of a single pair of halves for three wines is 2.6 to 4.0."""
    X = StandardScaler().fit_transform(load_wine().data)
    assert [lambda_path(X, random_state=seed).suggest().k for seed in range(8)] == [3] * 8


def test_weights_count_as_rows_in_dips(rng):
    X, y = blobs(rng, n=80, d=2, k=2)
    centres = np.array([X[y == j].mean(axis=0) for j in range(2)])
    plain, heavy = (open_engine("auto", X, weight=weight) for weight in (None, np.full(80, 7.0)))
    one, other = ([Trial(engine, engine.frame.inward(centres), engine)] for engine in (plain, heavy))
    assert density_dips(one) == density_dips(other)
    assert unimodality(one, EUCLIDEAN, WIDE) == unimodality(other, EUCLIDEAN, WIDE) > 0


@pytest.mark.parametrize(
    ("k", "d", "n", "spread"),
    [
        (2, 1, 200, 6),
        (3, 2, 150, 9),
        (5, 16, 400, 3),
        (8, 2, 600, 12),
        (12, 3, 900, 9),
        (20, 8, 1000, 4),
        (4, 64, 200, 2),
    ],
)
def test_exact_k_on_separated_clusters(k, d, n, spread):
    rng = np.random.default_rng([k, d, n])
    centres = rng.normal(size=(1, d)) * spread
    while len(centres) < k:  # at least six sigma apart
        new = rng.normal(size=d) * spread
        if np.linalg.norm(centres - new, axis=1).min() > 6:
            centres = np.vstack([centres, new])
    X = centres[np.arange(n) % k] + rng.normal(size=(n, d))
    assert lambda_path(X).suggest().k == k


def test_clusters_of_unlike_size_and_spread(rng):
    sizes, sigmas = [300, 100, 40, 150], [1.0, 0.5, 1.5, 0.8]
    centres = np.array([[0.0, 0], [7, 0], [0, 9], [8, 8]])
    rows = [c + s * rng.normal(size=(n, 2)) for c, s, n in zip(centres, sigmas, sizes, strict=True)]
    assert lambda_path(np.vstack(rows)).suggest().k == 4


NO_CLUSTERS = {
    "round": lambda rng, n, d: rng.normal(size=(n, d)),
    "long": lambda rng, n, d: rng.normal(size=(n, d)) * np.append(10.0, np.ones(d - 1)),
    "decaying": lambda rng, n, d: rng.normal(size=(n, d)) / np.arange(1.0, d + 1),
    "cube": lambda rng, n, d: rng.uniform(size=(n, d)),
}


@pytest.mark.parametrize("family", NO_CLUSTERS)
@pytest.mark.parametrize(("n", "d"), [(100, 1), (100, 64), (200, 2)])
def test_data_without_clusters_are_one_cluster(family, n, d):
    found = [lambda_path(NO_CLUSTERS[family](np.random.default_rng([n, d, s]), n, d)).suggest().k for s in range(2)]
    assert found == [1, 1]


def test_the_suggested_penalty_is_inside_its_step(rng):
    X, _ = blobs(rng, n=300, k=4, spread=9.0)
    step = lambda_path(X).suggest()
    assert step.lam_low < step.lam < step.lam_high
    assert lambda_path(X).at(lam=step.lam) == step


@pytest.mark.parametrize("change", ["shifted", "scaled", "threads", "reference", "float32", "columns"])
def test_the_answer_does_not_depend_on_what_it_should_not(rng, change):
    X, _ = blobs(rng, n=200, k=4)
    X = X.astype(np.float32).astype(np.float64)
    path = lambda_path(X)
    other = {
        "shifted": lambda: lambda_path(X + 1024.0),
        "scaled": lambda: lambda_path(X * 4.0),
        "threads": lambda: lambda_path(X, n_threads=3),
        "reference": lambda: lambda_path(X, engine="reference"),
        "float32": lambda: lambda_path(X.astype(np.float32)),
        "columns": lambda: lambda_path(X[:, ::-1]),
    }[change]()
    scale = 16.0 if change == "scaled" else 1.0
    np.testing.assert_allclose(other.cost, scale * path.cost, rtol=1e-9, atol=1e-9)
    assert other.suggest().k == path.suggest().k


def test_rows_of_weight_zero_change_nothing(rng):
    X, _ = blobs(rng, n=200, k=4)
    weight = (rng.uniform(size=200) < 0.8).astype(float)
    np.testing.assert_allclose(lambda_path(X, weight).cost, lambda_path(X[weight > 0]).cost, rtol=1e-9)


def test_weights_are_repeats_where_every_row_is_a_micro_cluster(rng):
    X, _ = blobs(rng, n=60, k=4)
    times = rng.integers(1, 4, size=60)
    weighted, repeated = lambda_path(X, times), lambda_path(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.cost[:6], repeated.cost[:6], rtol=1e-9)
    assert weighted.complete
    assert len(weighted) == len(repeated) == 60


def test_sparse_rows_and_directions(rng):
    X = np.abs(blobs(rng, n=150, d=6, k=3, spread=9.0)[0])
    X[X < 2] = 0.0
    X[:, 0] += 1.0
    for metric in OBJECTIVES:
        dense, sparse = lambda_path(X, metric=metric), lambda_path(sp.csr_array(X), metric=metric)
        np.testing.assert_allclose(sparse.cost[:5], dense.cost[:5], rtol=1e-6)
    directions = np.repeat(np.eye(3), 50, axis=0) * rng.uniform(1, 9, size=(150, 1)) + 0.1 * rng.uniform(size=(150, 3))
    assert lambda_path(directions, metric="cosine").suggest().k == 3


@pytest.mark.parametrize(
    ("X", "k", "n_distinct"),
    [
        (np.ones((50, 2)), 1, 1),
        (np.ones((1, 2)), 1, 1),
        (np.array([[0.0], [1.0]]), 1, 2),
        (np.repeat([[-1.0, 0.0], [1.0, 0.0]], 100, axis=0), 2, 2),
        (np.arange(12.0)[:, None], 1, 12),
    ],
)
def test_few_distinct_rows(X, k, n_distinct):
    path = lambda_path(X)
    assert (path.suggest().k, len(path)) == (k, n_distinct)
    assert path.suggest().lam > 0
    with pytest.raises(ValueError, match=f"k={n_distinct + 1} is more than the {n_distinct} distinct rows"):
        path.at(k=n_distinct + 1)


def test_a_longer_path_for_more_clusters():
    rng = np.random.default_rng(5)
    X = 10.0 * np.stack(np.meshgrid(range(12), range(12)), axis=-1).reshape(-1, 2)
    X = np.repeat(X, 12, axis=0) + rng.normal(size=(12 * 144, 2))
    path = lambda_path(X)
    assert path.suggest().k == 144
    assert len(path) > 144


def test_penalty_for_a_wished_number(rng):
    X, _ = blobs(rng, n=400, k=5, spread=9.0)
    engine, objective = open_engine("auto", X), OBJECTIVES["euclidean"](0.0)
    step = lambda_path(X).at(k=5)
    assert step.lam_low < staircase_to(engine, objective, seeded(), 5).at(k=5).lam < step.lam_high
    with pytest.raises(ValueError, match="k=401 is more than the 400 distinct rows"):
        staircase_to(engine, objective, seeded(), 401).at(k=401)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_few_clusters_of_very_unlike_sizes(seed):
    """Noise cuts the largest in ways that make wider steps than the true one."""
    rng = np.random.default_rng(seed)
    sizes = [5000, 500, 50]
    X = np.repeat([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], sizes, axis=0) + rng.normal(size=(sum(sizes), 2))
    assert lambda_path(X).suggest().k == 3


@pytest.mark.parametrize("exponent", [-90, -60, 60, 90])
def test_units_do_not_matter(exponent, rng):
    X, _ = blobs(rng, n=120, d=3, k=3, spread=9.0)
    plain, scaled = DPMeans().fit(X), DPMeans().fit(X * 10.0**exponent)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)


@pytest.mark.parametrize("k", [2, 7, 20])
def test_a_wished_number_is_reached_or_missed_with_a_warning(k, rng):
    X = rng.normal(size=(600, 3)) + rng.choice([-8.0, 0.0, 8.0], size=(600, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DPMeans(target_k=k).fit(X)
    assert (model.n_clusters_ == k) is not any("found no penalty" in str(one.message) for one in caught)
    assert abs(model.n_clusters_ - k) <= 1
    assert DPMeans(lam=model.lam_, init=model.cluster_centers_).fit(X).cost_ <= model.cost_ * (1 + 1e-9)


def test_a_wished_number_that_no_penalty_has():
    X = np.repeat([[0.0], [1.0], [100.0], [101.0]], 5, axis=0)  # the third and the fourth cluster are worth the same
    with pytest.warns(
        UserWarning, match=r"found no penalty at which target_k=3 clusters are best; lam_=.* gives (2|4)"
    ):
        DPMeans(target_k=3).fit(X)


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")  # nine rows
def test_penalties_of_a_sweep_are_penalties_of_rows(rng):
    centres = [[0, 0], [9, 0], [0, 9], [9, 9], [20, 20]]
    X = np.repeat(centres, 100, axis=0) + rng.normal(size=(500, 2))
    for options in ({}, {"target_k": 5}):
        model = DPMeans(search="sweep", **options).fit(X)
        assert model.lam_ == farthest_first_lambda(X, 5)
    assert DPMeans(search="sweep").fit(np.ones((9, 2))).n_clusters_ == 1


@pytest.mark.parametrize("n_rare", [0, 3])
def test_few_distinct_rows_of_many(n_rare, rng):
    """More rows than the path looks at, and values so rare that its sample has none of them."""
    X = np.concatenate([np.repeat(np.arange(12.0), 2000), 100.0 + np.arange(n_rare)])[:, None]
    path = lambda_path(rng.permutation(X))
    assert path.complete
    assert len(path) == 12 + n_rare
    assert path.cost[-1] == 0.0
    assert DPMeans(target_k=12 + n_rare).fit(X).n_clusters_ == 12 + n_rare
    with pytest.raises(
        ValueError, match=f"target_k=99 is more than the {12 + n_rare} distinct rows of X; give at most"
    ):
        DPMeans(target_k=99).fit(X)


def test_rare_values_that_are_too_many_to_list(rng):
    X = np.concatenate([np.repeat(np.arange(12.0), 4000), 100.0 + rng.uniform(size=3000)])[:, None]
    path = lambda_path(X, max_k=30)
    assert not path.complete
    assert len(path) == 30


def test_an_overflow_is_not_blamed_on_the_wished_number(rng):
    with pytest.raises(ValueError, match="^the cost overflows float64"):
        DPMeans(target_k=2).fit(1e200 * rng.normal(size=(30, 2)))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"max_k": 0}, "max_k=0 is not allowed"),
        ({"metric": "cosin"}, "did you mean 'cosine'"),
        ({"engine": "cuda"}, "engine='cuda' is not allowed"),
        ({"n_threads": 0}, "n_threads=0 is not allowed"),
        ({"sample_weight": [1.0, -1.0]}, "negative"),
    ],
)
def test_bad_parameters(bad, message):
    with pytest.raises(ValueError, match=message):
        lambda_path([[0.0], [1.0]], **bad)


def test_an_engine_of_some_rows(rng):
    X, _ = blobs(rng, n=50)
    weight = rng.uniform(size=50)
    for rows in (X, sp.csr_array(X)):
        engine = open_engine("auto", rows, weight=weight)
        some = engine.among(np.array([7, 3, 44]))
        np.testing.assert_array_equal(some.rows(np.arange(3)), engine.rows(np.array([7, 3, 44])))
        np.testing.assert_array_equal(some.weight, weight[[7, 3, 44]])
        one = engine.rows(np.array([7]))
        assert some.sq_dists(some.nearest(Sites.of(one)).assignment, one)[0] == 0
