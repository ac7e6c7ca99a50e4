"""Pictures of clusterings, in one style. Needs matplotlib."""

from importlib import import_module

import numpy as np

# Neighbouring numbers are far apart in hue, so that clusters born one after the other can be told apart.
_GOLDEN_ANGLE = 0.381966


def clusters(X, model, ax=None):
    """Draw the first two columns of X, coloured by cluster, with the centres on top.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    model : a fitted estimator with ``cluster_centers_`` and ``predict``
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib axes
    """
    ax = axes(_matplotlib("pyplot").figure) if ax is None else ax
    centres = model.cluster_centers_
    if centres.shape[1] < 2:
        raise ValueError(f"a map needs two columns; X has {centres.shape[1]}.")
    colour = _colours(len(centres))[model.predict(X)]
    x, y = np.asarray(X)[:, :2].T
    ax.scatter(x, y, c=colour, s=9, linewidths=0)
    ax.scatter(centres[:, 0], centres[:, 1], c="black", marker="+", s=70, linewidths=1.4)
    ax.set_aspect("equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def staircase(path, ax=None):
    """Draw a staircase: the best number of clusters over the price of a cluster, the suggested step marked.

    Parameters
    ----------
    path : Staircase
        What :func:`kfree.lambda_path` returns.
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib axes
    """
    ax = axes(_matplotlib("pyplot").figure) if ax is None else ax
    best, steps = path.suggest(), np.flatnonzero(path.width > 0)
    # The first step has no upper end and a last one no lower end: draw as much of them as of a step of width log 4.
    low = np.where(path.lam_low == 0, path.lam_high / 4, path.lam_low)[steps]
    high = np.where(np.isfinite(path.lam_high), path.lam_high, path.lam_low * 4)[steps]
    ax.plot(np.column_stack([high, low]).ravel(), np.repeat(path.k[steps], 2), color="black", linewidth=1.2)
    chosen = np.flatnonzero(path.k[steps] == best.k)
    if len(chosen):
        colour = _colours(1)[0]
        span = high[chosen[0]], low[chosen[0]]
        ax.plot(span, [best.k] * 2, color=colour, linewidth=5, solid_capstyle="butt")
        ax.annotate(f"k = {best.k}", (best.lam, best.k), (0, 9), textcoords="offset points", ha="center", color=colour)
    ax.set(xscale=path.scale, yscale="log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="lam, the price of a cluster", ylabel="k, the best number of clusters")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def graph(model, ax=None, positions=None):
    """Draw the nodes of a graph, coloured by cluster; links between clusters are pale.

    Parameters
    ----------
    model : a fitted GraphDPMeans
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.
    positions : array of shape (n_nodes, 2), default=None
        Where the nodes lie. If None, linked nodes attract and all repel each other, which takes a matrix of all pairs:
        for graphs of up to a few thousand nodes.

    Returns
    -------
    ax : matplotlib axes
    """
    ax = axes(_matplotlib("pyplot").figure) if ax is None else ax
    A, labels, colour = model.adjacency_, model.labels_, _colours(model.n_clusters_)
    places = _spread(A) if positions is None else np.asarray(positions, dtype=np.float64)
    a, b = A.nonzero()
    a, b = a[a < b], b[a < b]
    inside = labels[a] == labels[b]
    lines = _matplotlib("collections").LineCollection
    ends = np.stack([places[a], places[b]], axis=1)
    ax.add_collection(lines(ends[~inside], colors="0.85", linewidths=0.5))
    ax.add_collection(lines(ends[inside], colors=colour[labels[a[inside]]], linewidths=0.7, alpha=0.6))
    ax.scatter(*places.T, c=colour[labels], s=28, linewidths=0.4, edgecolors="white", zorder=3)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def axes(new_figure=None):
    """Axes in kfree's style, on a figure that no window shows unless ``new_figure`` opens one."""
    new_figure = new_figure or _matplotlib("figure").Figure
    return new_figure(figsize=(8, 5), layout="constrained").add_subplot()


def _spread(A, n_steps=300):
    """Places for the nodes of a graph (Fruchterman & Reingold 1991): springs along links, repulsion between all."""
    n = A.shape[0]
    weight = (A / A.max()).toarray() if A.nnz else np.zeros((n, n))
    places = np.random.default_rng(0).normal(size=(n, 2))
    unit = 1 / np.sqrt(n)
    for step in range(n_steps):
        gaps = places[:, None] - places
        dist = np.maximum(np.sqrt((gaps**2).sum(axis=2)), 0.01 * unit)
        force = unit**2 / dist**2 - weight * dist / unit
        push = (gaps * force[:, :, None]).sum(axis=1) - 0.05 * places  # the centre holds what has no links
        length = np.maximum(np.linalg.norm(push, axis=1), 1e-12)
        places += push * (np.minimum(length, 0.1 * (1 - step / n_steps)) / length)[:, None]
    return places


def _colours(n):
    hue = (np.arange(n) * _GOLDEN_ANGLE) % 1
    return _matplotlib("colors").hsv_to_rgb(np.column_stack([hue, np.full(n, 0.7), np.full(n, 0.8)]))


def _matplotlib(module):
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "kfree[plot]"') from error
