"""scikit-learn's own checks over the baselines."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from kfree.baselines import (
    CollapsedGibbsDPMixture,
    GaussianMixtureBIC,
    GibbsDPMixture,
    GMeans,
    KMeansBIC,
    VariationalMixture,
)

SHORT = {"n_burn_in": 200, "n_samples": 20, "thin": 2}
ESTIMATORS = [
    GibbsDPMixture(sigma=0.1, **SHORT),  # with σ sampled it stays in one cluster on the rows of check_clustering
    CollapsedGibbsDPMixture(**SHORT),
    GMeans(),
    KMeansBIC(max_clusters=8),
    GaussianMixtureBIC(max_clusters=4),
    VariationalMixture(max_clusters=4),
]


@pytest.mark.filterwarnings("ignore:max_clusters=.* was reached")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:the covariance of X is singular")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_rows_are_refused_in_the_name_of_the_estimator(estimator):
    with pytest.raises(TypeError, match=f"X is sparse, and {type(estimator).__name__} takes dense rows only. Use X"):
        estimator.fit(sp.csr_array(np.eye(5)))
