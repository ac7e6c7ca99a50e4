"""What the papers compare with: samplers, and searches by other criteria, all with scikit-learn's contract."""

from kfree.baselines.collapsed_gibbs import CollapsedGibbsDPMixture
from kfree.baselines.gibbs import GibbsDPMixture
from kfree.baselines.validation import select_by_validation

__all__ = ["CollapsedGibbsDPMixture", "GibbsDPMixture", "select_by_validation"]
