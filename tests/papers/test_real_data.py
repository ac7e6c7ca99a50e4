"""Public data sets, where the environment variable KFREE_DATA names a folder that holds them."""

import numpy as np
import pytest
from common import real_data
from sklearn.cluster import KMeans as SklearnKMeans

from kfree import DPMeans, KMeans, OnlineDPMeans, farthest_first_lambda
from kfree.datasets import load

pytestmark = real_data

SHAPES = ["s1", "s3", "a1", "d31", "r15", "unbalance", "dim032", "aggregation", "spiral"]


@pytest.mark.parametrize("name", SHAPES)
def test_native_and_reference_agree_on_plane_shapes(name):
    X = load(name).X.astype(np.float64)
    lam = farthest_first_lambda(X, 20)
    native, reference = (DPMeans(lam=lam, engine=engine).fit(X) for engine in ("native", "reference"))
    np.testing.assert_array_equal(native.labels_, reference.labels_)
    np.testing.assert_array_equal(native.cluster_centers_, reference.cluster_centers_)
    np.testing.assert_array_equal(native.cost_history_, reference.cost_history_)
    assert (np.diff(native.cost_history_) <= 0).all()
    np.testing.assert_array_equal(native.predict(X), native.labels_)


@pytest.mark.parametrize(("name", "k"), [("pendigits", 40), ("sift", 64), ("usgs", 50)])
def test_k_means_is_at_least_as_good_as_scikit_learn_from_the_same_centres(name, k):
    X = load(name).X.astype(np.float64)[:10_000]
    init = X[np.random.default_rng(0).choice(len(X), k, replace=False)]
    ours = KMeans(k, init=init, tol=0, max_iter=1000).fit(X)
    theirs = SklearnKMeans(k, init=init, n_init=1, tol=0, max_iter=1000).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-6)


def test_earthquakes_as_published():
    """Odashima et al. (2016), Table 5: 8 (batch) and 6 (online) clusters. Their 529 and 312 with splits and after
    merging cannot be had from the text; 354 and 250 is what it gives, at lower cost than printed."""
    X = load("usgs").X
    assert DPMeans(lam=1.0, search="sweep").fit(X).n_clusters_ == 8
    assert OnlineDPMeans(lam=1.0, search="published", split=False).fit(X).n_clusters_ == 6
    split = OnlineDPMeans(lam=1.0, search="published").partial_fit(X)
    assert split.n_clusters_ == pytest.approx(354, rel=0.03)
    assert split.score(X) == pytest.approx(-475, rel=0.03)
    merged = OnlineDPMeans(lam=1.0, search="published").fit(X)
    assert merged.n_clusters_ == pytest.approx(250, rel=0.03)
    assert merged.cost_ == pytest.approx(418, rel=0.03)


def test_proteins_as_published():
    """Odashima et al. (2016), Table 5: 3 clusters by Algorithm 2; 200 and 106 is what the text gives with splits."""
    X = load("kdd2004bio").X
    assert OnlineDPMeans(lam=1e9, search="published", split=False).fit(X).n_clusters_ == 3
    merged = OnlineDPMeans(lam=1e9, search="published").fit(X)
    assert merged.n_clusters_ == pytest.approx(106, rel=0.03)
    assert merged.cost_ == pytest.approx(3.32e11, rel=0.03)
