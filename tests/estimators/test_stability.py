"""How sure a number of clusters is: refits of DPMeans on halves of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from kfree import DPMeans, load
from kfree.estimators._stability import _refitted


def blobs(gap, n=400, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, 3)) + gap * np.eye(k, 3)[y]


def test_clear_clusters_are_found_on_every_half():
    X = blobs(12.0)
    model = DPMeans().fit(X)
    assert model.stability(X) is model
    assert (model.n_clusters_, model.k_interval_, model.is_sure_) == (4, (4, 4), True)
    assert model.stability_.shape == (4,)
    assert model.stability_.min() > 0.95


def test_close_clusters_are_not_sure():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 2.4])
    model = DPMeans(target_k=5).fit(X).stability(X)
    assert not model.is_sure_
    assert model.stability_.min() < 0.75


def test_a_number_as_penalty_is_meant_for_all_rows():
    """A penalty is a sum over rows, so halves of the rows have half of it."""
    X = blobs(6.0)
    model = DPMeans(lam=1300.0).fit(X).stability(X)
    assert model.n_clusters_ == 4
    assert model.k_interval_ == (4, 4)


def test_stability_is_the_same_again_and_is_saved(tmp_path):
    X = blobs(4.0)
    model = DPMeans().fit(X).stability(X)
    again = DPMeans(n_threads=1).fit(X).stability(X)
    assert (again.k_interval_, again.stability_.tolist()) == (model.k_interval_, model.stability_.tolist())
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.k_interval_, loaded.is_sure_) == (model.k_interval_, model.is_sure_)
    assert np.array_equal(loaded.stability_, model.stability_)
    assert not hasattr(model.fit(X), "k_interval_")


def test_weights_noise_and_sparse_rows():
    X = blobs(12.0)
    weight = np.where(np.arange(len(X)) % 5 == 0, 0.0, 2.0)
    assert DPMeans().fit(X, sample_weight=weight).stability(X, sample_weight=weight).k_interval_ == (4, 4)
    assert DPMeans(target_k=4, noise=0.02).fit(X).stability(X).stability_.min() > 0.9
    assert DPMeans().fit(sp.csr_array(X)).stability(sp.csr_array(X)).k_interval_ == (4, 4)


def test_rows_of_noise_are_no_cluster_of_a_refit():
    X = blobs(12.0)
    refit = _refitted(DPMeans(target_k=4, noise=0.1), X, None, np.arange(100))
    assert (len(refit.rows), refit.labels.min(), refit.k) == (90, 0, 4)


def test_too_few_rows():
    X = blobs(12.0, n=40)
    model = DPMeans().fit(X)
    with pytest.raises(ValueError, match="X has 20 rows of positive weight, and stability takes at least 48"):
        model.stability(X[:20])
