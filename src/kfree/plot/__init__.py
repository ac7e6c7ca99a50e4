"""Plots of clusterings in one style, readable in grey, on light and on dark backgrounds. Needs matplotlib."""

from kfree.plot.bars import profiles, sizes
from kfree.plot.graphs import graph
from kfree.plot.kinds import KINDS, draw
from kfree.plot.levels import levels
from kfree.plot.look import axes, colours
from kfree.plot.paths import choice_of_k, staircase
from kfree.plot.rows import clusters, voronoi
from kfree.plot.trees import dendrogram

__all__ = [
    "KINDS",
    "axes",
    "choice_of_k",
    "clusters",
    "colours",
    "dendrogram",
    "draw",
    "graph",
    "levels",
    "profiles",
    "sizes",
    "staircase",
    "voronoi",
]
