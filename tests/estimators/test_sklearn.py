"""scikit-learn's own checks over all public estimators (run with SCIPY_ARRAY_API=1, see conftest.py)."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

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
)

# The checks give y to every estimator; HardHDP says that it ignores one that looks like groups.
pytestmark = pytest.mark.filterwarnings("ignore:y holds whole numbers that repeat")

# Every public estimator, and each way that its fit takes: another search, another kind of affinity.
ESTIMATORS = [
    AgglomerativeBayes(),
    AutoCluster(),
    BayesianKMeans(),
    DPMeans(),
    DPMeans(lam="farthest-first", target_k=4, search="sweep", order="random"),
    HardHDP(),
    HardHDP(lam_local=1.0, lam_global=2.0, search="sweep"),
    KMeans(),
    KernelDPMeans(lam=0.5),
    NestedDPMeans(),
    NestedDPMeans(lam=3.0, lam_group=1.0, tau=1.0, search="sweep"),
    NestedDPMeans((2, 4), group_weight="rows"),
    SpectralDPMeans(),
    SpectralDPMeans(affinity="nearest_neighbors"),
    OnlineDPMeans(lam=10.0),
    OnlineDPMeans(lam=1.5, search="published", order="random", max_clusters=5, half_life=100),
    GraphDPMeans(),
]


WEIGHT_CHECKS = [
    "check_all_zero_sample_weights_error",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
]


def expected_failures(estimator):
    """What cannot hold, and why."""
    if isinstance(estimator, AutoCluster):
        return {}  # few rows are one cluster, whatever they weigh
    if isinstance(estimator, GraphDPMeans):
        return {"check_clustering": "it clusters the rows of a table, which are no graph"}
    if isinstance(estimator, SpectralDPMeans) and estimator.affinity == "nearest_neighbors":
        return dict.fromkeys(WEIGHT_CHECKS, "equal rows would be neighbours of each other only, so weights are refused")
    if isinstance(estimator, NestedDPMeans) and estimator.levels is None and estimator.lam == "auto":
        return {}  # as for DPMeans
    if isinstance(estimator, DPMeans) and estimator.lam == "auto":
        return {}  # few rows are one cluster, whatever they weigh
    if isinstance(estimator, BayesianKMeans | SpectralDPMeans):
        return {}  # weights are repeats
    return weights_are_not_repeats(estimator)


def weights_are_not_repeats(estimator):
    """The two checks that no seeded search and no sweep can pass; test_weights.py has what holds instead."""
    seeded = isinstance(estimator, KMeans) or getattr(estimator, "search", "sweep") != "sweep"
    reason = (
        "k-means++ draws other seeds from repeated rows"
        if seeded
        else "one heavy row may open a cluster where as many light ones do not"
    )
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::kfree.exceptions.DataAdvice",  # the checks have few rows
    "ignore:(Nested)?DPMeans (chose|found)",
    "ignore:the covariance of X is singular",
    "ignore:max_clusters=.* was reached",
)
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
