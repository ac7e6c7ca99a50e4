"""Plots of clusterings in one style, readable in grey, on light and on dark backgrounds. Needs matplotlib."""

from kfree.plot.bars import profiles, sizes
from kfree.plot.graphs import graph
from kfree.plot.look import axes, colours
from kfree.plot.paths import choice_of_k, staircase
from kfree.plot.rows import clusters, voronoi
from kfree.plot.trees import dendrogram

__all__ = [
    "axes",
    "choice_of_k",
    "clusters",
    "colours",
    "dendrogram",
    "graph",
    "profiles",
    "sizes",
    "staircase",
    "voronoi",
]
