"""Graphs: nodes, links and the names of nodes."""

import numpy as np

from kfree.plot.look import MARKERS, colours, given_or_new, ink, literal, matplotlib

# Up to so many nodes have their names written beside them, unless ``names`` says otherwise.
_MOST_NAMES = 80


def graph(model, ax=None, positions=None, *, names=None):
    """Draw the nodes of a graph, coloured by cluster; links between clusters are pale.

    Parameters
    ----------
    model : a fitted GraphDPMeans
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.
    positions : array of shape (n_nodes, 2), default=None
        Where the nodes lie. If None, linked nodes attract and all repel each other, which takes a matrix of all pairs:
        for graphs of up to a few thousand nodes.
    names : bool or None, default=None
        Whether to write the names of the nodes; None writes those of up to 80 nodes.

    Returns
    -------
    ax : matplotlib axes
    """
    ax = given_or_new(ax)
    A, labels, colour = model._links(), model.labels_, colours(model.n_clusters_)
    places = spread_out(A) if positions is None else np.asarray(positions, dtype=np.float64)
    a, b = A.nonzero()
    a, b = a[a < b], b[a < b]
    inside = labels[a] == labels[b]
    lines = matplotlib("collections").LineCollection
    ends = np.stack([places[a], places[b]], axis=1)
    ax.add_collection(lines(ends[~inside], colors="0.6", linewidths=0.5, alpha=0.6))
    ax.add_collection(lines(ends[inside], colors=colour[labels[a[inside]]], linewidths=0.7, alpha=0.6))
    for c in range(model.n_clusters_):
        own, marker = labels == c, MARKERS[c % len(MARKERS)]
        ax.scatter(*places[own].T, color=colour[c], marker=marker, s=34, linewidths=0.4, edgecolors=ink(), zorder=3)
    if names or (names is None and len(labels) <= _MOST_NAMES):
        for place, name in zip(places, model.node_names_, strict=True):
            ax.annotate(literal(name), place, (4, 4), textcoords="offset points", fontsize=7, color=ink(), zorder=4)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def spread_out(A, n_steps=300):
    """Places for the nodes of a graph (Fruchterman & Reingold 1991): springs along links, repulsion between all."""
    n = A.shape[0]
    weight = (A / A.max()).toarray() if A.nnz else np.zeros((n, n))
    places = np.random.default_rng(0).normal(size=(n, 2))
    unit = 1 / np.sqrt(n)
    for step in range(n_steps):
        gaps = places[:, None] - places
        dist = np.maximum(np.sqrt((gaps**2).sum(axis=2)), 0.01 * unit)
        force = unit**2 / dist**2 - weight * dist / unit
        push = (gaps * force[:, :, None]).sum(axis=1) - 0.05 * places  # a pull to the centre, for nodes without links
        length = np.maximum(np.linalg.norm(push, axis=1), 1e-12)
        places += push * (np.minimum(length, 0.1 * (1 - step / n_steps)) / length)[:, None]
    return places
