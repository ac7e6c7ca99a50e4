"""Weights and offsets of any size, kernels that return nonsense: an answer that can be checked, or an error."""

import numpy as np
import pytest
import scipy.sparse as sp
from common import blobs
from sklearn.base import clone

from kfree import (
    AgglomerativeBayes,
    AutoCluster,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    NestedDPMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    lambda_path,
)
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.state import occupied, state_of

WEIGHTED = {
    "DPMeans": lambda lam: DPMeans(lam=lam),
    "DPMeans, sweep": lambda lam: DPMeans(lam=lam, search="sweep"),
    "KMeans": lambda lam: KMeans(3, random_state=0),
    "OnlineDPMeans": lambda lam: OnlineDPMeans(lam=lam, search="published", split=True),
    "HardHDP": lambda lam: HardHDP(lam_local=lam, lam_global=lam),
}


@pytest.mark.parametrize("make", WEIGHTED.values(), ids=WEIGHTED)
@pytest.mark.parametrize("seed", [3, 66, 101])
def test_weights_of_any_size(make, seed):
    """The second of these made a cluster vanish in a pass whose state the next move numbered otherwise."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(5, 60), rng.integers(1, 4)
    X = rng.normal(size=(n_rows, n_columns))
    weight, lam = 10.0 ** rng.uniform(-50, 50, size=n_rows), 10.0 ** rng.uniform(-4, 3)
    model = make(lam).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    gap = model.transform(X)[np.arange(n_rows), model.labels_]
    np.testing.assert_allclose(model.inertia_, weight @ gap**2, rtol=1e-9, atol=1e-12 * weight.max())
    assert set(model.labels_) == set(range(len(model.cluster_centers_))) or isinstance(model, KMeans | OnlineDPMeans)


def test_clusters_without_rows_are_dropped_before_moves(rng):
    X, _ = blobs(rng, n=60, d=2, k=2)
    engine, objective = open_engine("native", X), DPMeansObjective(1e-9)
    sites = Sites.of(np.vstack([engine.rows(np.arange(3)), np.full((1, 2), 1e3)]))
    state = state_of(sites, engine.nearest(sites), objective)
    assert state.stats.n[3] == 0
    left = occupied(state, engine, objective)
    np.testing.assert_array_equal(left.sites.uids, [0, 1, 2])
    assert left.cost < state.cost
    model = DPMeans(lam=1e-9, init=engine.frame.outward(sites.centres)).fit(X)
    assert model.n_clusters_ == 60


@pytest.mark.parametrize("kind", ["uniform", "wild", "with zeros"])
@pytest.mark.parametrize("seed", range(12))
def test_groups_and_weights_predict_their_labels(kind, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(10, 80))
    X, groups = 3 * rng.normal(size=(n_rows, 2)), rng.integers(4, size=n_rows)
    weight = 10.0 ** rng.uniform(-50, 50, size=n_rows) if kind == "wild" else rng.uniform(size=n_rows)
    if kind == "with zeros":
        weight[(rng.uniform(size=n_rows) < 0.3) | (groups == 3)] = 0.0
    lam_local, lam_global = 10.0 ** rng.uniform(-2, 2, size=2)
    model = HardHDP(lam_local=lam_local, lam_global=lam_global).fit(X, groups=groups, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X, groups=groups), model.labels_)
    assert model.score(X, groups=groups, sample_weight=weight) == pytest.approx(-model.cost_)


def test_a_known_group_keeps_to_its_clusters():
    X = np.array([[0.0], [0.1], [10.0], [10.1]])
    model = HardHDP(lam_local=1.0, lam_global=1.0).fit(X, groups=[0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict([[9.0]], groups=[0]), model.labels_[:1])
    np.testing.assert_array_equal(model.predict([[9.0]], groups=[7]), model.labels_[3:])


GRID = np.random.default_rng(0).normal(size=(40, 2)) * 10
FITTING = {"linear": 300.0, "rbf": 0.5, "laplacian": 0.5}


@pytest.mark.parametrize("kernel", FITTING)
@pytest.mark.parametrize("offset", [1e3, 1e9, 1e12])
def test_kernels_that_only_know_differences_do_not_see_an_offset(kernel, offset):
    rows = np.rint(GRID * 8) / 8  # which an offset of 1e12 does not round
    here, there = (KernelDPMeans(lam=FITTING[kernel], kernel=kernel).fit(X) for X in (rows, rows + offset))
    assert there.cost_ == pytest.approx(here.cost_, rel=1e-6)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_array_equal(there.predict(rows + offset), there.labels_)


@pytest.mark.parametrize(
    "make", [KernelDPMeans, lambda lam, kernel: HardHDP(lam_local=lam, lam_global=lam, kernel=kernel)]
)
def test_kernels_without_digits_left_are_refused(make):
    with pytest.raises(ValueError, match=r"'poly'\) has values of up to .* too few digits"):
        make(lam=1.0, kernel="poly").fit(GRID + 1e9)


def test_a_penalty_below_the_rounding_of_kernel_values_is_refused():
    """Rows 1 apart beside others 1e9 away: their squared distance is lost in kernel values of 1e17."""
    X = np.concatenate([np.zeros(20), 1e9 + np.arange(20)])[:, None]
    with pytest.raises(ValueError, match=r"lam=0.1 asks for clusters .* a larger lam"):
        KernelDPMeans(lam=0.1, kernel="linear").fit(X)
    assert KernelDPMeans(lam=1e6, kernel="linear").fit(X).n_clusters_ == 2
    X[20:] -= 1e9  # kernel values of these rows are small, so a far row takes no digits from them
    assert KernelDPMeans(lam=0.1, kernel=lambda a, b: float(a @ b)).fit(np.vstack([X, [[1e9]]])).n_clusters_ == 21


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_affinities_do_not_see_an_offset(affinity, rng):
    X = np.rint(64 * blobs(rng, n=90, d=2, k=3)[0]) / 64
    here, there = (SpectralDPMeans(affinity=affinity).fit(rows) for rows in (X, X + 1e9))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_array_equal(there.predict(X + 1e9), there.labels_)


@pytest.mark.parametrize("n_light", [1, 20])
def test_light_rows_in_feature_space(n_light, rng):
    """Sums that heavy rows leave are made anew: what stays would be nothing but rounding."""
    X = rng.normal(size=(40, 2))
    weight = np.full(40, 1e9)
    weight[:n_light] = 1.0
    kernel = KernelDPMeans(lam=0.5, kernel="linear").fit(X, sample_weight=weight)
    plain = DPMeans(lam=0.5).fit(X, sample_weight=weight)
    assert kernel.cost_ == pytest.approx(plain.cost_, rel=1e-6)
    weight[0] = 1e-2
    with pytest.raises(ValueError, match=r"sample_weight goes from 0.01 to 1e\+09"):
        KernelDPMeans(lam=0.5).fit(X, sample_weight=weight)


def returns(value):
    return lambda x, y: value


@pytest.mark.parametrize("value", [np.nan, np.inf, None, "text", np.ones(2)], ids=str)
@pytest.mark.parametrize(
    "make", [KernelDPMeans, lambda lam, kernel: HardHDP(lam_local=lam, lam_global=lam, kernel=kernel)]
)
def test_functions_that_are_no_kernels(make, value):
    with pytest.raises(ValueError, match="kernel=.* (gave|returned) .*finite number"):
        make(lam=0.5, kernel=returns(value)).fit(GRID)


def test_no_kernel_at_all():
    with pytest.raises(ValueError, match="kernel=None is not allowed; give the name of a kernel"):
        KernelDPMeans(lam=0.5, kernel=None).fit(GRID)


@pytest.mark.parametrize("edges", [[[0, -1], [1, 2]], [[0, -1, 1], [1, 2, 1], [2, 0, 1]]])
def test_negative_names_are_not_called_weights(edges):
    with pytest.raises(ValueError, match="was read as an adjacency matrix.*If its rows are edges"):
        GraphDPMeans().fit(np.array(edges))


def test_names_below_zero_are_names():
    model = GraphDPMeans().fit(np.array([[-1, 2], [2, 3], [3, -1]]))
    np.testing.assert_array_equal(model.node_names_, [-1, 2, 3])


COUNTED = {
    "n_threads": [
        DPMeans(lam=1.0),
        KMeans(2),
        OnlineDPMeans(lam=1.0),
        HardHDP(lam_local=1.0, lam_global=1.0),
        AgglomerativeBayes(),
        BayesianKMeans(),
    ],
    "max_iter": [
        DPMeans(lam=1.0),
        KMeans(2),
        HardHDP(lam_local=1.0, lam_global=1.0),
        BayesianKMeans(),
        KernelDPMeans(lam=0.5),
        GraphDPMeans(),
    ],
    "max_clusters": [DPMeans(lam=1.0), OnlineDPMeans(lam=1.0), KernelDPMeans(lam=0.5)],
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("value", [2**31, 2**63, 10**30])
def test_numbers_beyond_those_of_compiled_code(name, value):
    """They are refused by name, or, as limits that are never reached, taken."""
    for model in COUNTED[name]:
        if name == "n_threads" or value > 2**31:
            with pytest.raises(ValueError, match=f"{name}={value} is not allowed"):
                model.set_params(**{name: value}).fit(GRID)
        elif not isinstance(model, GraphDPMeans):
            model.set_params(**{name: value}).fit(GRID)


@pytest.mark.parametrize("scale", [1e-165, 1e-300])
@pytest.mark.parametrize(
    "fit",
    [
        DPMeans().fit,
        DPMeans(lam=1.0).fit,
        KMeans(2).fit,
        KernelDPMeans().fit,
        SpectralDPMeans().fit,
        NestedDPMeans().fit,
        OnlineDPMeans().fit,
        lambda_path,
    ],
)
def test_differences_whose_squares_vanish_are_refused(fit, scale, rng):
    """All rows would be equal to each other, in one cluster."""
    X = scale * blobs(rng, n=120, k=2)[0]
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"squared distances underflow float64. Multiply X by a constant"):
            fit(rows)
        assert DPMeans(metric="cosine").fit(rows).n_clusters_ >= 1  # which divides rows by their lengths
    equal = np.full((30, 2), scale)
    for rows in (equal, sp.csr_array(equal)):
        assert DPMeans().fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("scale", [2.0**-380, 2.0**-500, 2.0**480])
def test_rows_whose_third_powers_are_no_numbers_have_their_clusters(scale, rng):
    """The axis that clusters are split along is found by such powers; where they vanished, nothing was split."""
    X = blobs(rng, n=150, k=3)[0]
    for usual in (DPMeans(), OnlineDPMeans(), DPMeans(target_k=3)):
        labels = usual.fit(X).labels_
        assert len(set(labels)) == 3
        np.testing.assert_array_equal(clone(usual).fit(scale * X).labels_, labels)


@pytest.mark.parametrize("scale", [1e-100, 1e-150])
def test_groups_whose_products_of_squares_vanish_are_refused(scale, rng):
    """Every row would be a cluster at penalties of zero."""
    X = scale * blobs(rng, n=60, k=2)[0]
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"squared distances underflow float64. Multiply X by a constant"):
            HardHDP().fit(rows)


def test_distances_beyond_float64_have_no_confidence(rng):
    X = blobs(rng, n=60, k=2)[0]
    model = DPMeans().fit(X)
    far = np.vstack([X, np.full((2, X.shape[1]), 1e160)])
    with pytest.raises(ValueError, match=r"distances of 2 row\(s\) to the clusters overflow float64"):
        model.confidence(far)


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e180])
def test_directions_of_rows_of_any_length(scale, rng):
    """Their lengths, or the squares of these, need not be numbers of float64."""
    X = rng.normal(size=(60, 3)) + 15 * np.eye(3)[np.arange(60) % 3]
    for model in (AutoCluster(metric="cosine"), KernelDPMeans(lam=0.5, kernel="cosine")):
        usual = model.fit(X).labels_
        assert len(set(usual)) > 1
        np.testing.assert_array_equal(model.fit(X * scale).labels_, usual)
        np.testing.assert_array_equal(model.predict(X), usual)


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_products_of_rows_of_any_size(scale, rng):
    """The penalty lies between two eigenvalues, whose product would not be a number of float64."""
    X = rng.normal(size=(60, 3)) + 15 * np.eye(3)[np.arange(60) % 3]
    usual, found = (SpectralDPMeans(affinity="linear").fit(rows) for rows in (X, X * scale))
    assert found.lam_ / scale / scale == pytest.approx(usual.lam_)
    np.testing.assert_array_equal(found.labels_, usual.labels_)


@pytest.mark.parametrize("scale", [0.0, 1e-170, 1e160])
def test_products_of_rows_that_are_no_numbers_are_refused(scale, rng):
    with pytest.raises(ValueError, match=r"products of rows of X add up to (0|inf), which leaves float64 too few"):
        SpectralDPMeans(affinity="linear").fit(scale * rng.normal(size=(60, 3)))


def test_affinities_that_are_no_numbers_are_refused(rng):
    X = rng.normal(size=(60, 3)) + 15 * np.eye(3)[np.arange(60) % 3]
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="affinities between rows of X overflow float64"):
        SpectralDPMeans().fit(1e153 * X)


def test_a_column_whose_squares_vanish_is_not_left_out_in_silence(rng):
    X = rng.normal(size=(60, 2)) * [1.0, 1e-200]
    with pytest.raises(ValueError, match="values of X in column 1 differ by .*Multiply this column by a constant"):
        AutoCluster().fit(X)
