"""Pictures of a fitted estimator, by kind."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kfree.plot.bars import profiles, sizes
from kfree.plot.graphs import graph
from kfree.plot.levels import levels
from kfree.plot.paths import staircase
from kfree.plot.rows import clusters, voronoi
from kfree.plot.trees import dendrogram


def draw(model, X, kind, ax, **settings):
    """Draw a picture of one of ``KINDS``, or the usual one of this model if ``kind`` is "auto"."""
    return KINDS[_usual_kind(model, X) if kind == "auto" else kind](model, X, ax, **settings)


def _usual_kind(model, X):
    if hasattr(model, "adjacency_"):
        return "graph"
    if hasattr(model, "tree_"):
        return "dendrogram" if X is None else "levels"
    return "dendrogram" if X is None and hasattr(model, "linkage_") else "scatter"


def _draw_path(model, X, ax, **settings):
    path = getattr(model, "path_", None)
    if path is None:
        raise ValueError(f"this {type(model).__name__} has no path_. Fit with lam='auto' and target_k=None.")
    return staircase(path, ax, **settings)


def _draw_tree(model, X, ax, **settings):
    if hasattr(model, "tree_"):
        return _draw_levels_as_tree(model, ax, **settings)
    if not hasattr(model, "linkage_"):
        raise ValueError(f"{type(model).__name__} has no tree; use kind='scatter', or AgglomerativeBayes.")
    return dendrogram(model.linkage_, model.n_clusters_, labels=model.labels_, ax=ax, **settings)


def _draw_levels(model, X, ax, **settings):
    if not hasattr(model, "tree_"):
        raise ValueError(f"{type(model).__name__} has no levels; use kind='scatter', or NestedDPMeans.")
    return levels(model, X, ax, **settings)


def _draw_levels_as_tree(model, ax, **settings):
    linkage, n_groups = model.tree_.linkage_, model.levels_[0]
    if linkage is None:
        raise ValueError("there is one cluster, and so no tree to draw; use kind='scatter'.")
    groups = model.tree_.at_level(np.arange(model.n_clusters_), 0)
    names = {"names": [str(label) for label in range(model.n_clusters_)]} | settings
    ax = dendrogram(linkage, n_groups, labels=groups, ax=ax, **names)
    ax.set(xlabel="cluster", ylabel="increase of the sum of squares by a merge")
    return ax


def _draw_graph(model, X, ax, **settings):
    if not hasattr(model, "adjacency_"):
        raise ValueError(f"{type(model).__name__} has no graph; use kind='scatter', or GraphDPMeans.")
    return graph(model, ax, **settings)


# Kind of picture → how it is drawn.
KINDS: dict[str, Callable[..., Any]] = {
    "scatter": clusters,
    "voronoi": voronoi,
    "sizes": sizes,
    "profiles": profiles,
    "staircase": _draw_path,
    "dendrogram": _draw_tree,
    "graph": _draw_graph,
    "levels": _draw_levels,
}
