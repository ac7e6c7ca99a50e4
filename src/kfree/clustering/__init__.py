"""cluster: from a table to clusters that are explained in its own names and units, in one call."""

from kfree.clustering.explanation import Explanation
from kfree.clustering.from_table import cluster
from kfree.clustering.result import Clustering

__all__ = ["Clustering", "Explanation", "cluster"]
