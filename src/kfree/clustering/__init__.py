"""cluster: from a table to clusters that are explained in its own names and units, in one call."""

from kfree.clustering.from_table import cluster
from kfree.clustering.result import Clustering, Explanation

__all__ = ["Clustering", "Explanation", "cluster"]
