"""A pytest plugin that runs scikit-learn's own tests of KMeans on kfree's, under scikit-learn's constructor.

Tests of other classes and of private functions are left out. Texts of warnings and errors are not compared, their
categories are. ``EXPECTED`` lists the tests that fail, each with its reason; one that passes all the same is an error.
"""

from types import SimpleNamespace

import pytest
import sklearn.cluster

import kfree

_PRIVATE = "looks at a private attribute or method"
EXPECTED = {
    "test_kmeans_init_auto_with_initial_centroids": _PRIVATE,
    "test_n_init_auto": _PRIVATE,
    "test_sample_weight_init": _PRIVATE,
    "test_sample_weight_zero": _PRIVATE,
    "test_kmeans_verbose": "compares the text that verbose prints; kfree shows a progress bar",
    "test_float_precision": "expects centres in float32 for rows in float32; kfree's are float64",
    "test_warning_elkan_1_cluster": "is about algorithm='elkan', and kfree has no such parameter",
}
# What these call is scikit-learn's own: private functions, k_means and kmeans_plusplus.
OTHERS = {
    "test_relocate_empty_clusters",
    "test_euclidean_distance",
    "test_inertia",
    "test_k_means_function",
    "test_kmeans_plusplus_wrong_params",
    "test_kmeans_plusplus_output",
    "test_kmeans_plusplus_norms",
    "test_kmeans_plusplus_dataorder",
    "test_is_same_clustering",
}


class KMeans(kfree.KMeans):
    """kfree's KMeans with the parameters of scikit-learn's; ``copy_x`` and ``algorithm`` change nothing."""

    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-means++",
        n_init="auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm="lloyd",
    ):
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
        )
        self.copy_x = copy_x
        self.algorithm = algorithm


# pytest, but for the texts of warnings and errors.
_WITHOUT_TEXTS = SimpleNamespace(
    **vars(pytest)
    | {
        "warns": lambda category, match: pytest.warns(category),
        "raises": lambda category, match=None: pytest.raises(category),
    }
)


# Before the tests are imported.
sklearn.cluster.KMeans = KMeans


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "minibatch" not in item.name.lower() and item.originalname not in OTHERS]
    for item in items:
        item.module.pytest = _WITHOUT_TEXTS
        if item.originalname in EXPECTED:
            item.add_marker(pytest.mark.xfail(reason=EXPECTED[item.originalname], strict=True))
