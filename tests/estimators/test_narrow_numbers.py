"""Whole numbers of NumPy's narrow types as parameters: products such as np.uint8(10) * 64 would overflow."""

import numpy as np
import pytest

from kfree import BayesianKMeans, DPMeans, KernelDPMeans, KMeans, NestedDPMeans, OnlineDPMeans, SpectralDPMeans
from kfree.baselines import GibbsDPMixture

NARROW = {  # by name: those to narrow, and others
    "KMeans": (KMeans, {"n_clusters": 10, "max_iter": 200, "n_init": 3}, {}),
    "DPMeans": (DPMeans, {"target_k": 10, "max_iter": 200, "max_clusters": 200, "patience": 1}, {}),
    "KernelDPMeans": (KernelDPMeans, {"target_k": 5, "max_iter": 200, "max_clusters": 200}, {}),
    "BayesianKMeans": (BayesianKMeans, {"max_iter": 200, "max_clusters": 200}, {}),
    "NestedDPMeans": (NestedDPMeans, {"max_iter": 200, "max_levels": 3}, {}),
    "OnlineDPMeans": (OnlineDPMeans, {"max_clusters": 200, "n_micro": 200}, {"lam": 300.0}),
    "SpectralDPMeans": (SpectralDPMeans, {"target_k": 5, "n_neighbors": 9}, {"affinity": "nearest_neighbors"}),
    "GibbsDPMixture": (GibbsDPMixture, {"n_burn_in": 200, "n_samples": 40, "thin": 2}, {"alpha": 1.0, "sigma": 1.0}),
}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.filterwarnings("error")
def test_narrow_numbers_of_numpy_are_whole_numbers_as_any_other(name):
    kind, counts, others = NARROW[name]
    X = np.random.default_rng(0).normal(size=(60, 6)) + 9 * (np.arange(60)[:, None] % 5)
    plain = kind(**counts, **others, random_state=0).fit(X)
    narrow = kind(**{name: np.uint8(value) for name, value in counts.items()}, **others, random_state=0).fit(X)
    assert np.array_equal(plain.labels_, narrow.labels_)
    assert getattr(plain, "n_iter_", None) == getattr(narrow, "n_iter_", None)
