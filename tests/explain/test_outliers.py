"""outlier_score, predict(allow_new=True) and noise=: what they promise."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
)
from kfree.explain import spread
from kfree.explain.spread import Shapes, fitted_spreads, neighbour_spreads, outlier_scores
from kfree.search import penalised
from kfree.search.noise import without_noise
from kfree.search.stream_sample import StreamSample

CENTRES = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
BY_SPREAD = {
    "DPMeans": DPMeans(),
    "target_k": DPMeans(target_k=3),
    "KMeans": KMeans(3, random_state=0),
    "KernelDPMeans": KernelDPMeans(),
    "HardHDP": HardHDP(),
    "BayesianKMeans": BayesianKMeans(),
    "AgglomerativeBayes": AgglomerativeBayes(),
    "SpectralDPMeans": SpectralDPMeans(target_k=3),
}


def blobs(rng, n=300):
    y = rng.integers(3, size=n)
    return CENTRES[y] + rng.normal(size=(n, 2)), y


@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize("stretch", [1.0, 3.0])
def test_the_share_of_false_alarms_is_the_stated_one(d, stretch, rng):
    dist = np.linalg.norm(rng.normal(size=(20000, d)) * np.linspace(1, stretch, d), axis=1)
    labels = np.repeat(np.arange(2, dtype=np.int32), 10000)
    for share in (0.1, 0.01, 0.001):
        limits = fitted_spreads(labels, dist, 2).limits(share)
        alarms = (dist > limits[labels]).mean()
        # The squared distances of stretched clusters are only nearly gamma.
        times = 2.5 if stretch == 1 else 8.0
        assert share / times < alarms < share * times


@pytest.mark.parametrize("d", [1, 2, 5])
def test_distances_to_neighbours_have_their_own_share_of_false_alarms(d, rng):
    rows, further = rng.normal(size=(2, 2000, d))
    search = NearestNeighbors(n_neighbors=5).fit(rows)
    reach, new = (search.kneighbors(part)[0][:, -1] for part in (rows, further))
    spreads = neighbour_spreads(np.zeros(2000, dtype=np.int32), reach, 1)
    assert (new > spreads.limits()[0]).mean() < 0.005
    assert (new > spreads.limits(0.1)[0]).mean() == pytest.approx(0.1, abs=0.04)
    with_far = neighbour_spreads(np.zeros(2020, dtype=np.int32), np.append(reach, np.full(20, 1e3)), 1)
    assert with_far.limits()[0] < 2 * spreads.limits()[0]


def test_clusters_of_equal_rows_have_neighbours_at_distance_zero():
    spreads = neighbour_spreads(np.repeat(np.arange(2, dtype=np.int32), [6, 3]), np.r_[np.zeros(6), 1.0, 2.0, 3.0], 2)
    assert spreads.limits().tolist()[0] == 0.0
    assert np.isnan(spreads.limits()[1])


def test_outliers_hardly_move_the_limit(rng):
    dist = np.linalg.norm(rng.normal(size=(1000, 3)), axis=1)
    clean = fitted_spreads(np.zeros(1000, dtype=np.int32), dist, 1).limits()[0]
    dirty = fitted_spreads(np.zeros(1100, dtype=np.int32), np.append(dist, np.full(100, 1e3)), 1).limits()[0]
    assert clean < dirty < 1.3 * clean


def test_which_clusters_account_for_rows(rng):
    sizes, widths = [500, 400, 60, 60, 4], [1.0, 4.0, 1.0, 4.0, 0.1]
    labels = np.repeat(np.arange(5, dtype=np.int32), sizes)
    dist = np.abs(rng.normal(size=len(labels))) * np.repeat(widths, sizes)
    limits = fitted_spreads(labels, dist, 5).limits()
    # The fourth is small and wide, the last one too small.
    assert np.isnan(limits).tolist() == [False, False, False, True, True]
    distances = np.array([[100.0, 100.0, 100.0, 0.0, 0.0], [0.0, 100.0, 100.0, 0.0, 0.0]])
    assert (outlier_scores(distances, limits) > 1).tolist() == [True, False]


def test_clusters_of_equal_rows_and_few_rows():
    labels = np.repeat(np.arange(2, dtype=np.int32), 6)
    limits = fitted_spreads(labels, np.zeros(12), 2).limits()
    assert outlier_scores(np.array([[0.0, 9.0], [0.1, 9.0]]), limits).tolist() == [0.0, np.inf]
    few = fitted_spreads(np.arange(4, dtype=np.int32), np.array([1.0, 1.0, 2.0, 1.0]), 4).limits()
    assert np.isfinite(few).all()
    assert len(set(few.tolist())) == 1


@pytest.mark.parametrize("name", BY_SPREAD)
def test_far_rows_are_new_and_others_are_not(name, rng):
    X, _ = blobs(rng)
    model = BY_SPREAD[name].fit(X)
    far = np.array([[14.0, 14.0], [0.0, -14.0], [500.0, 500.0]])
    assert model.predict(far, allow_new=True).tolist() == [-1, -1, -1]
    assert (model.outlier_score(far) > 1).all()
    near = model.predict(X, allow_new=True)
    assert (near == -1).mean() < 0.02
    np.testing.assert_array_equal(near[near >= 0], model.labels_[near >= 0])
    assert (model.outlier_score(X, false_alarms=0.2) > 1).mean() == pytest.approx(0.2, abs=0.1)


@pytest.mark.parametrize("make", [BayesianKMeans, AgglomerativeBayes])
def test_a_wide_gaussian_of_far_rows_is_no_cluster(make, rng):
    X, _ = blobs(rng, 400)
    far = rng.normal(size=(16, 2)) * 80
    far = far[np.linalg.norm(far, axis=1) > 40]
    model = make().fit(np.vstack([X, far]))
    found = model.predict(np.vstack([X, far]), allow_new=True) == -1
    assert found[400:].all()
    assert found[:400].mean() < 0.02


@pytest.mark.parametrize("make", [BayesianKMeans, AgglomerativeBayes])
@pytest.mark.parametrize("share", [0.1, 0.2])
def test_a_gaussian_of_many_far_rows_around_the_others_is_no_cluster(share, make, rng):
    X, _ = blobs(rng, 300)
    far = rng.uniform(-40, 60, size=(1000, 2))
    far = far[np.linalg.norm(far[:, None] - CENTRES, axis=2).min(axis=1) > 8][: int(share * 300 / (1 - share))]
    model = make().fit(np.vstack([X, far]))
    found = model.predict(np.vstack([X, far]), allow_new=True) == -1
    assert found[300:].mean() > 0.95
    assert found[:300].mean() < 0.02


def test_a_wide_gaussian_beside_the_others_is_a_cluster(rng):
    X = np.vstack([blobs(rng, 400)[0], 6 * rng.normal(size=(70, 2)) + 70.0])
    assert (BayesianKMeans().fit(X).predict(X, allow_new=True) == -1).mean() < 0.02


@pytest.mark.parametrize(
    ("sizes", "widths", "between", "expected"),
    [
        ([400, 400, 200], [1.0, 1.0, 4.0], 0.5, [False, False, True]),
        ([400, 400, 200], [1.0, 1.0, 2.9], 0.5, [False, False, False]),  # not wide enough
        ([400, 400, 200], [1.0, 1.0, 4.0], 2.0, [False, False, False]),  # beside the others
        ([350, 350, 300], [1.0, 1.0, 4.0], 0.5, [False, False, False]),  # too many rows
    ],
)
def test_which_gaussian_is_a_background(sizes, widths, between, expected, rng):
    labels = np.repeat(np.arange(3, dtype=np.int32), sizes)
    dist = np.abs(rng.normal(size=len(labels)))  # Mahalanobis distances, with a median of 0.67
    gaps = np.full((3, 3), 9.0)
    gaps[:2, 2] = between
    np.fill_diagonal(gaps, 0.0)
    limits = fitted_spreads(labels, dist, 3, None, Shapes(np.array(widths), gaps)).limits()
    assert np.isnan(limits).tolist() == expected


def blocks_of_links(rng, sizes, inside, between):
    y = np.repeat(np.arange(len(sizes)), sizes)
    linked = np.triu(rng.random((len(y), len(y))) < np.where(y[:, None] == y, inside, between), 1)
    return (linked | linked.T).astype(float), y


def test_the_score_of_a_node_is_a_tail_of_its_links(rng):
    A, _ = blocks_of_links(rng, [60, 40, 3], 0.4, 0.05)
    model = GraphDPMeans(target_k=3).fit(A)
    sizes, rows = np.bincount(model.labels_), (rng.random((50, 103)) < 0.2).astype(float)
    tails = [
        [
            binom.cdf(row[model.labels_ == c].sum(), row.sum(), model.shares_[c]) if sizes[c] >= 5 else 0.0
            for c in range(model.n_clusters_)
        ]
        for row in rows
    ]
    expected = np.log(np.max(tails, axis=1)) / np.log(0.01)
    np.testing.assert_allclose(model.outlier_score(rows, false_alarms=0.01), expected, rtol=1e-9)
    np.testing.assert_allclose(model.outlier_score(7 * rows, false_alarms=0.01), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.outlier_score(), model.outlier_score(A))
    assert model.outlier_score(np.zeros((1, 103))).tolist() == [np.inf]


def test_nodes_with_links_everywhere_are_new_unless_a_penalty_was_given(rng):
    A, y = blocks_of_links(rng, [120] * 4, 0.15, 0.01)
    everywhere, own = (rng.random((40, 480)) < 0.05), rng.random((40, 480)) < np.where(y == 1, 0.15, 0.01)
    rows = np.vstack([everywhere, own]).astype(float)
    found = GraphDPMeans().fit(A).predict_nodes(rows, allow_new=True) == -1
    assert found[:40].mean() > 0.9
    assert found[40:].mean() < 0.05
    given = GraphDPMeans(lam=-0.4).fit(A)
    assert (given.predict_nodes(rows, allow_new=True) >= 0).all()  # a cluster of its own costs 0.6
    with pytest.raises(ValueError, match="false_alarms=2 is not allowed; give a share"):
        given.outlier_score(false_alarms=2)


def test_far_rows_among_those_of_the_fit(rng):
    X, _ = blobs(rng, 500)
    far = rng.uniform(30, 60, size=(25, 2))
    found = DPMeans().fit(np.vstack([X, far])).predict(np.vstack([X, far]), allow_new=True) == -1
    assert found[500:].mean() > 0.9
    assert found[:500].mean() < 0.02


def test_under_cosine_a_row_can_be_new(rng):
    X = np.vstack([rng.normal(size=(200, 3)) * 0.1 + axis for axis in np.eye(3)[:2]])
    model = DPMeans(metric="cosine").fit(X)
    assert model.predict([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], allow_new=True).tolist() == [-1, model.labels_[0]]


PENALISED = {
    "DPMeans": lambda lam: DPMeans(lam=lam),
    "sweep": lambda lam: DPMeans(lam=lam, search="sweep"),
    "KernelDPMeans": lambda lam: KernelDPMeans(lam=lam, kernel="linear"),
    "OnlineDPMeans": lambda lam: OnlineDPMeans(lam=lam),
}


@pytest.mark.parametrize("make", PENALISED.values(), ids=PENALISED)
def test_scores_depend_on_spreads_and_not_on_the_penalty(make, rng):
    """The same three clusters at two penalties; those of a sweep are nearer, as it compares rows with them."""
    X, _ = blobs(rng)
    rows = rng.uniform(-5, 25, size=(200, 2))
    low, high = (make(lam).fit(X) for lam in ((60.0, 150.0) if "sweep" in repr(make(1.0)) else (150.0, 15_000.0)))
    assert low.n_clusters_ == high.n_clusters_ == 3
    np.testing.assert_allclose(low.outlier_score(rows), high.outlier_score(rows), rtol=1e-6)
    assert (low.predict(X, allow_new=True) == -1).mean() < 0.02


@pytest.mark.parametrize("n", [300, 10_000])
@pytest.mark.parametrize("make", [OnlineDPMeans, lambda: OnlineDPMeans(half_life=200)], ids=["all", "forgetting"])
def test_a_far_row_is_new_to_a_stream_of_any_length(make, n, rng):
    """The penalty of a stream grows with its weight, and a row 100 deviations away scored below 1 by it."""
    X, _ = blobs(rng, n)
    stream = make()
    for chunk in np.array_split(X, 3):
        stream.partial_fit(chunk)
    far = np.array([[100.0, 100.0], [10.0, 10.0]])
    assert (stream.outlier_score(far) > 1).all()
    assert stream.predict(far, allow_new=True).tolist() == [-1, -1]
    assert (stream.predict(X, allow_new=True) == -1).mean() < 0.02
    alarms = (stream.outlier_score(X, false_alarms=0.1) > 1).mean()
    assert alarms == pytest.approx(0.1, abs=0.05)


def test_a_rare_cluster_of_a_stream_accounts_for_its_rows(rng):
    X, _ = blobs(rng, 20_000)
    rare = 40.0 + rng.normal(size=(60, 2))
    stream = OnlineDPMeans(lam=500.0).partial_fit(np.vstack([X, rare]))
    assert (stream.predict(rare, allow_new=True) >= 0).mean() > 0.8


def test_the_sample_of_a_stream_does_not_depend_on_chunks(rng):
    X, weight = rng.normal(size=(9000, 3)), rng.integers(0, 4, size=9000).astype(float)
    samples = []
    for cuts in ([], [1, 2, 4500], [8999]):
        sample, begin = StreamSample.empty(3), 0
        for part in np.split(np.arange(9000), cuts):
            sample = sample.extended(X[part], weight[part], None, begin, 3000.0)
            begin += len(part)
        samples.append(sample)
    for other in samples[1:]:
        assert sorted(other.keys) == sorted(samples[0].keys)
        np.testing.assert_array_equal(np.sort(other.rows, axis=0), np.sort(samples[0].rows, axis=0))
    assert len(samples[0].keys) == 4000
    drawn = (X[:, None, 0] == samples[0].rows[None, :, 0]).any(axis=1)
    assert not drawn[weight == 0].any()
    later, heavy = drawn[-3000:][weight[-3000:] > 0].mean(), drawn[weight == 3].mean()
    assert later > drawn[:3000][weight[:3000] > 0].mean()
    assert heavy > drawn[weight == 1].mean()


def test_wrong_shares_are_refused(rng):
    X, _ = blobs(rng)
    with pytest.raises(ValueError, match="false_alarms=0 is not allowed"):
        KMeans(3).fit(X).outlier_score(X, false_alarms=0)
    for noise in (-0.1, 1.0, "some", np.nan, True):
        with pytest.raises(ValueError, match="noise="):
            KMeans(3, noise=noise).fit(X)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", ["DPMeans", "KMeans"])
def test_noise_is_left_out(name, make, rng):
    X, _ = blobs(rng)
    angle = rng.uniform(0, 6.28, size=30)
    far = CENTRES.mean(axis=0) + 60 * np.column_stack([np.cos(angle), np.sin(angle)])
    rows = np.vstack([far, X])
    model = clone(BY_SPREAD[name]).set_params(noise=1 / 11).fit(make(rows))
    assert np.flatnonzero(model.labels_ == -1).tolist() == list(range(30))
    alone = clone(BY_SPREAD[name]).fit(make(X))
    np.testing.assert_array_equal(model.labels_[30:], alone.labels_)
    np.testing.assert_allclose(model.cluster_centers_, alone.cluster_centers_, atol=1e-9)
    assert model.inertia_ == pytest.approx(alone.inertia_)
    assert (model.predict(make(rows))[:30] >= 0).all()
    summary = model.summary(make(rows))
    assert (summary.n_noise, [c.size for c in summary.clusters]) == (30, np.bincount(alone.labels_).tolist())
    assert "30 of them in no cluster" in str(summary)


# Why a search that is not stopped has ended.
CONVERGED = SimpleNamespace(stop_reason="converged")


def test_noise_warns_of_the_last_search_alone(rng):
    calls = []

    rows = np.append(rng.normal(size=50), [90.0, 95.0])[:, None]

    def search(weight):
        calls.append(weight)
        warnings.warn(f"search {len(calls)}", UserWarning, stacklevel=1)
        labels = np.zeros(len(rows), dtype=np.int32)
        distances = [(slice(None), np.abs(rows))]
        return SimpleNamespace(labels=labels, distances=lambda: distances, path=None, descent=CONVERGED)

    with pytest.warns(UserWarning, match="search") as told:
        left_out = without_noise(0.04, len(rows), None, search)[1]
    assert np.flatnonzero(left_out).tolist() == [50, 51]
    assert len(calls) > 1
    assert [str(warning.message) for warning in told] == [f"search {len(calls)}"]


@pytest.mark.parametrize("n_taking_turns", [1, 2])
def test_noise_warns_if_many_rows_to_leave_out_still_change(n_taking_turns):
    """Of ten rows to leave out, one may take turns with another without a warning."""
    searches = []

    def search(weight):
        searches.append(weight)
        labels = np.zeros(100, dtype=np.int32)
        return SimpleNamespace(labels=labels, distances=distances, path=None, descent=CONVERGED)

    def distances():
        first = 90 - n_taking_turns * (len(searches) % 2)
        return [(slice(None), np.where((np.arange(100) >= first) & (np.arange(100) < first + 10), 50.0, 1.0)[:, None])]

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        without_noise(0.1, 100, None, search)
    assert len(searches) == 11
    expected = [] if n_taking_turns == 1 else ["2 of the 10 rows to leave out still changed in the last of 10"]
    assert [str(one.message)[11:72] for one in told] == expected
    assert all(issubclass(one.category, ConvergenceWarning) for one in told)


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_noise_does_not_move_the_penalty(noise, rng, monkeypatch):
    """The penalty is that of all rows; it was that of the remaining rows, chosen anew in every round."""
    X = np.repeat(rng.normal(size=(6, 8)), 60, axis=0) + rng.normal(size=(360, 8))
    paths = []
    lam_path = penalised.lam_path
    monkeypatch.setattr(penalised, "lam_path", lambda *given, **more: paths.append(1) or lam_path(*given, **more))
    plain, model = DPMeans(random_state=0).fit(X), DPMeans(noise=noise, random_state=0).fit(X)
    assert len(paths) == 2
    assert model.lam_ == plain.lam_
    assert model.n_clusters_ == plain.n_clusters_
    assert np.count_nonzero(model.labels_ == -1) == int(noise * 360)


@pytest.mark.parametrize("seconds", [0.1, 1e-6])
@pytest.mark.filterwarnings("ignore:DPMeans did not converge within time_budget")
def test_noise_has_one_budget_of_time_for_all_searches(seconds, rng, monkeypatch):
    """Each had a budget of its own. Where the first uses all of it, rows are left out of what that has found."""
    budgets, make = [], penalised.Budget
    monkeypatch.setattr(penalised, "Budget", lambda *given: budgets.append(make(*given)) or budgets[-1])
    model = DPMeans(lam=5.0, noise=0.1, time_budget=seconds, random_state=0).fit(blobs(rng, 100)[0])
    assert len({budget.deadline for budget in budgets}) == 1
    # Random splits in the time that remains are for searches whose result may be kept.
    assert [budget.patience for budget in budgets[:2]] == [0, np.inf]
    assert seconds > 1e-6 or (len(budgets), model.stop_reason_) == (2, "time_budget")
    assert np.count_nonzero(model.labels_ == -1) == 10


def path_that_is(sure):
    return SimpleNamespace(is_doubtful=not sure, is_sure=sure)


@pytest.mark.parametrize(
    ("first", "anew", "expected"), [(True, True, "again"), (False, False, "again"), (False, True, "anew")]
)
def test_noise_lets_a_sure_path_replace_a_doubtful_one(first, anew, expected):
    rows = np.append(np.zeros(50), [90.0, 95.0])[:, None]

    def found(sure, name):
        labels, path = np.zeros(len(rows), dtype=np.int32), path_that_is(sure)
        distances = [(slice(None), np.abs(rows))]
        more = {"path": path, "name": name, "descent": CONVERGED}
        return SimpleNamespace(labels=labels, distances=lambda: distances, **more)

    def search(weight):
        return found(first, "first") if weight is None else found(anew, "anew")

    def again(result, n_out):
        return lambda weight: found(result.path.is_sure, "again")

    result, left_out = without_noise(0.04, len(rows), None, search, again)
    assert (result.name, np.flatnonzero(left_out).tolist()) == (expected, [50, 51])


def test_noise_counts_rows_of_weight_only(rng):
    X, _ = blobs(rng, 100)
    weight = np.ones(100)
    weight[:50] = 0.0
    model = KMeans(3, noise=0.1, random_state=0).fit(X, sample_weight=weight)
    assert np.count_nonzero(model.labels_ == -1) == 5
    assert (model.labels_[:50] >= 0).all()


def test_confidence_is_the_margin_of_the_fit(rng):
    X, _ = blobs(rng)
    model = DPMeans(lam=30.0).fit(X)
    distances = np.sort(model.transform(X), axis=1)
    np.testing.assert_allclose(model.confidence(X), 1 - distances[:, 0] / distances[:, 1])
    labels, dist = model.nearest_two(X)
    np.testing.assert_allclose(dist, distances[:, :2])
    np.testing.assert_array_equal(labels[:, 0], model.labels_)
    np.testing.assert_array_equal(labels[:, 1], model.transform(X).argsort(axis=1)[:, 1])
    assert KMeans(1).fit(X).confidence(X).tolist() == [1.0] * len(X)


def test_the_median_width_of_rows_takes_no_memory_for_each_row(rng):
    for _ in range(200):
        values, counts = rng.integers(0, 4, 5) / 3, rng.integers(1, 4, 5)
        assert spread._median(values, counts) == np.median(np.repeat(values, counts))
    assert spread._median(np.array([1.0, 5.0, 2.0]), np.array([10**15, 10**15, 10**16])) == 2.0
