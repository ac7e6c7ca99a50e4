"""What the papers compare with: samplers, and searches by other criteria, all with scikit-learn's contract."""

from kfree.baselines.collapsed_gibbs import CollapsedGibbsDPMixture
from kfree.baselines.g_means import GMeans
from kfree.baselines.gibbs import GibbsDPMixture
from kfree.baselines.information import GaussianMixtureBIC, KMeansBIC
from kfree.baselines.validation import select_by_validation
from kfree.baselines.variational import VariationalMixture

__all__ = [
    "CollapsedGibbsDPMixture",
    "GMeans",
    "GaussianMixtureBIC",
    "GibbsDPMixture",
    "KMeansBIC",
    "VariationalMixture",
    "select_by_validation",
]
