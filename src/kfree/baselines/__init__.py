"""Baselines of the papers: samplers and searches by other criteria, as scikit-learn estimators."""

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
