"""Pictures of clusterings, in one look: readable in grey, on light and on dark. Needs matplotlib."""

from kfree.plot.bars import profiles, sizes
from kfree.plot.graphs import graph
from kfree.plot.look import axes, colours
from kfree.plot.paths import staircase
from kfree.plot.rows import clusters, voronoi
from kfree.plot.trees import dendrogram

__all__ = ["axes", "clusters", "colours", "dendrogram", "graph", "profiles", "sizes", "staircase", "voronoi"]
