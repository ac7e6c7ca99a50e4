"""Many sites of few columns are indexed: every pass must find what comparing all of them finds, to the last bit."""

import numpy as np
import pytest

from kfree import OnlineDPMeans
from kfree.native import _core
from kfree.native.reference import passes as reference

# Of one and of two columns, more than the fewest sites that are indexed.
SHAPES = {"line": (1300, 1), "plane": (2300, 2)}
FEWEST = 1024
DATA = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    # Most distances are ties, and many sites lie in one place.
    "grid": lambda rng, shape: rng.integers(0, 2 * shape[0] ** (1 / shape[1]), size=shape).astype(float),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(size=shape) ** 3,
    "one place": lambda rng, shape: np.ones(shape),
    "infinitely far": lambda rng, shape: rng.normal(size=shape) * 1e160,
}


@pytest.fixture(params=SHAPES)
def shape(request):
    return SHAPES[request.param]


@pytest.fixture(params=DATA)
def X(request, rng, shape):
    return DATA[request.param](rng, shape)


def held(X, weight=None):
    frame = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    return [module.dense_rows(X, *frame, False, weight, "baseline") for module in (_core, reference)]


def same(*answers):
    for a, b in zip(*answers, strict=True):
        np.testing.assert_array_equal(a, b)


def of_both(X, call, weight=None):
    """What ``call(passes, rows)`` gives, of the compiled passes and of the reference."""
    with np.errstate(over="ignore", invalid="ignore"):
        return [call(module, rows) for module, rows in zip((_core, reference), held(X, weight), strict=True)]


def arrays_of(X, k):
    return np.empty(len(X), np.int32), np.empty(len(X)), np.empty(k), np.empty((k, X.shape[1])), np.empty(k), None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_nearest(X, n_threads, rng):
    k = len(X) - 100
    centres = X[rng.permutation(len(X))[:k]]

    def call(passes, rows):
        label, sq_dist, *rest = arrays_of(X, k)
        bounds = _core.Bounds(len(X))
        # The second pass relies on the bounds of the first, the sites having moved a little.
        for sites in (centres, centres + np.linspace(0, 1e-3, k)[:, None]):
            passes.nearest(rows, sites, np.arange(k), np.inf, n_threads, bounds, label, sq_dist, *rest)
        return label, sq_dist

    same(*of_both(X, call))


def test_nearest_labels(X, rng):
    k = len(X) - 100
    centres = X[rng.permutation(len(X))[:k]]

    def call(passes, rows):
        label = np.empty(len(X), np.int32)
        passes.nearest_labels(rows, centres, np.arange(k, dtype=np.int32), 2, label)
        return [label]

    same(*of_both(X, call))


def test_distances_are_few(rng):
    X = rng.normal(size=SHAPES["plane"])
    k = len(X) - 100
    n = _core.nearest(held(X)[0], X[:k], np.arange(k), np.inf, 1, _core.Bounds(len(X)), *arrays_of(X, k))
    assert n < 0.05 * len(X) * k


def test_second_nearest(X, rng):
    k = len(X) - 100
    centres, own = X[:k], rng.integers(k, size=len(X)).astype(np.int32)

    def call(passes, rows):
        second, sq_dist = np.empty(len(X), np.int32), np.empty(len(X))
        passes.second_nearest(rows, np.arange(len(X)), own, centres, 2, second, sq_dist)
        return second, sq_dist

    same(*of_both(X, call))


@pytest.mark.parametrize("share", [1.0, 0.95], ids=["room for all", "little room"])
@pytest.mark.parametrize("lam", [0.0, 1e-6])
@pytest.mark.parametrize("shape", [SHAPES["line"]], ids=["line"])
def test_births(X, share, lam, rng):
    order, weight = rng.permutation(len(X)), rng.integers(0, 9, size=len(X)).astype(float)

    def call(passes, rows):
        label, sq_dist = np.zeros(len(X), np.int32), ((X - X[0]) ** 2).sum(axis=1)
        founders, n_refused = passes.open_clusters(rows, order, 1, lam, int(share * len(X)), 1, label, sq_dist)
        opened = label.copy(), sq_dist.copy()
        if len(founders):
            newborn = X[order[founders]]
            passes.join_newborn(rows, order, newborn, np.asarray(founders), 1, 2, label, sq_dist)
        return founders, [n_refused], *opened, label, sq_dist

    same(*of_both(X, call, weight))


def test_rows_join_the_newborn_that_came_before_them(rng):
    """Every tenth row founds a cluster, and others join the nearest of those founded before."""
    X = rng.normal(size=(12_000, 1))
    founders = np.arange(0, len(X), 10)

    def call(passes, rows):
        label, sq_dist = np.zeros(len(X), np.int32), np.full(len(X), 1e-4)
        passes.join_newborn(rows, None, X[founders], founders, 1, 2, label, sq_dist)
        return label, sq_dist

    same(*of_both(X, call))


STREAMS = {
    "centres that move": {"lam": 1e-7},
    "splits": {"lam": 1e-7, "split": True},
    "clusters that die": {"lam": 1e-9, "half_life": 120.0},
    "a limit": {"lam": 1e-9, "max_clusters": 1230},
}


@pytest.mark.filterwarnings("ignore:max_clusters=1230 was reached")
@pytest.mark.parametrize("settings", STREAMS)
def test_streams(settings, rng):
    n_rows = 1500 if "half_life" in STREAMS[settings] else 1250
    X = np.vstack([rng.normal(size=(n_rows, 1)), np.zeros((n_rows // 10, 1))])
    X[n_rows:] = X[: n_rows // 10] + 1e-5  # rows that join clusters, and move them
    weight = rng.integers(1, 3, size=len(X)).astype(float)
    models, most = [], 0
    for engine in ("native", "reference"):
        model = OnlineDPMeans(search="published", engine=engine, **STREAMS[settings])
        for part in np.array_split(np.arange(len(X)), 3):
            model.partial_fit(X[part], sample_weight=weight[part])
            most = max(most, len(model.cluster_centers_))
        models.append(model)
    native, twin = models
    assert most > FEWEST
    assert native.lam_ == twin.lam_
    np.testing.assert_array_equal(native.cluster_centers_, twin.cluster_centers_)
    np.testing.assert_array_equal(native.weights_, twin.weights_)
    np.testing.assert_array_equal(native.events_, twin.events_)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_rows_are_compared_with_where_centres_are_now(engine):
    """Every second centre is drawn to the right, and is then the nearest of rows that were nearer to the next one."""
    places = np.arange(1200.0)
    drawn = places[1::2]  # the last site of every leaf is among them
    rows = np.concatenate([places, drawn + 0.44, drawn + 0.56])[:, None]
    model = OnlineDPMeans(lam=0.45**2, search="published", engine=engine).partial_fit(rows)
    np.testing.assert_array_equal(model.labels_[1200:], np.tile(drawn, 2))


def test_merging(rng):
    X = rng.normal(size=(1150, 1))
    native, twin = (OnlineDPMeans(lam=2e-8, search="published", engine=engine) for engine in ("native", "reference"))
    for model in (native, twin):
        model.partial_fit(X).merge()
    assert len(X) > len(native.cluster_centers_) > FEWEST
    np.testing.assert_array_equal(native.cluster_centers_, twin.cluster_centers_)
    np.testing.assert_array_equal(native.events_, twin.events_)
