"""Random shapes, dtypes, strides and weights against the serial loop and against each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracles import centres as oracles

from kfree import DPMeans, KMeans, farthest_first_lambda

LAYOUTS = {
    "C": lambda X: X,
    "F": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every third column": lambda X: np.repeat(X, 3, axis=1)[:, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
}
# Whole numbers make ties; the others make rounding.
VALUES = st.one_of(st.integers(-4, 4).map(float), st.floats(-1e3, 1e3, width=32))


@st.composite
def problems(draw):
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 5)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = draw(hnp.arrays(dtype, shape, elements=VALUES.map(dtype)))
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    weight = draw(
        st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=shape[0], max_size=shape[0]).filter(any)
    )
    return LAYOUTS[layout](X), weight


@settings(max_examples=300, deadline=None)
@given(problems(), st.sampled_from([1e-3, 0.5, 1.0, 4.0, 100.0, 1e6]), st.booleans(), st.sampled_from([1, 2]))
def test_the_sweep_is_the_serial_loop(problem, lam, shuffled, n_threads):
    X, weight = problem
    model = DPMeans(
        search="sweep",
        lam=lam,
        order="random" if shuffled else "given",
        random_state=0,
        n_threads=n_threads,
        label_order="found",
    )
    model.fit(X, sample_weight=weight)
    order = np.random.RandomState(0).permutation(len(X)) if shuffled else None
    Z = oracles.canonical(X, weight)
    labels, centres, costs = oracles.serial_dp_means(Z, lam, weight, order)
    assert model.labels_.tolist() == labels
    np.testing.assert_array_equal(model._model_.centres, np.array(centres))
    np.testing.assert_allclose(model.cost_, costs[-1], rtol=1e-12)
    assert (np.diff(model.cost_history_) <= 0).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore:KMeans found")  # fewer distinct rows than clusters
@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(1, 5), st.sampled_from(["euclidean", "cosine"]))
def test_engines_agree(problem, k, metric):
    X, weight = problem
    if metric == "cosine":
        X = np.where(X.any(axis=1, keepdims=True), X, 1).astype(X.dtype)  # a zero row has no direction
    fits = []
    for engine in ("native", "reference"):
        model = KMeans(min(k, len(X)), init=np.asarray(X[: min(k, len(X))], float), tol=0, engine=engine, metric=metric)
        fits.append(model.fit(X, sample_weight=weight))
    native, reference = fits
    np.testing.assert_array_equal(native.labels_, reference.labels_)
    np.testing.assert_array_equal(native.cluster_centers_, reference.cluster_centers_)
    assert native.cost_ == reference.cost_
    assert (np.diff(native.cost_history_) <= 0).all()


@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(1, 4))
def test_sparse_is_dense_within_rounding(problem, k):
    X, weight = problem
    try:
        lam = farthest_first_lambda(X, k, sample_weight=weight) * 0.99
    except ValueError:
        assume(False)  # too few distinct rows
    dense = DPMeans(search="sweep", lam=lam).fit(X, sample_weight=weight)
    sparse = DPMeans(search="sweep", lam=lam, init=dense.cluster_centers_).fit(sp.csr_array(X), sample_weight=weight)
    w = np.ones(len(X)) if weight is None else np.asarray(weight)
    sq_dist = sparse.transform(sp.csr_array(X)) ** 2
    expected = ((X[:, None, :].astype(float) - sparse.cluster_centers_[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(sq_dist, expected, rtol=1e-9, atol=1e-9 * (np.abs(X).max() ** 2 + 1e-300))
    np.testing.assert_allclose(
        sparse.inertia_, (w * expected[np.arange(len(X)), sparse.labels_]).sum(), rtol=1e-9, atol=1e-9
    )
