"""Pictures of clusterings, in one style. Needs matplotlib."""

from importlib import import_module

import numpy as np

# Neighbouring numbers are far apart in hue, so that clusters born one after the other can be told apart.
_GOLDEN_ANGLE = 0.381966
# Of a larger tree only the top is drawn, down to so many branches.
_LEAVES_DRAWN = 60


def clusters(X, model, ax=None):
    """Draw the first two columns of X, coloured by cluster, centres on top, and ellipses if clusters have them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    model : a fitted estimator with ``cluster_centers_`` and ``predict``
        Of ``covariances_``, if it has any, ellipses of two standard deviations are drawn.
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
    colour = colours(len(centres))[model.predict(X)]
    x, y = np.asarray(X)[:, :2].T
    ax.scatter(x, y, c=colour, s=9, linewidths=0)
    ax.scatter(centres[:, 0], centres[:, 1], c="black", marker="+", s=70, linewidths=1.4)
    for centre, covariance in zip(centres, getattr(model, "covariances_", []), strict=False):
        ax.plot(*_ellipse(centre[:2], covariance[:2, :2]), color="black", linewidth=1.0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def staircase(path, ax=None):
    """Draw a staircase: the best number of clusters over the penalty of a cluster, the suggested step marked.

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
    # Where all rows are equal, one cluster is best at any penalty, and there is nothing to draw.
    anywhere = (path.lam_low == 0) & np.isinf(path.lam_high)
    best, steps = path.suggest(), np.flatnonzero((path.width > 0) & ~anywhere)
    # The first step has no upper end and a last one no lower end: draw as much of them as of a step of width log 4.
    low = np.where(path.lam_low == 0, path.lam_high / 4, path.lam_low)[steps]
    high = np.where(np.isfinite(path.lam_high), path.lam_high, path.lam_low * 4)[steps]
    ax.plot(np.column_stack([high, low]).ravel(), np.repeat(path.k[steps], 2), color="black", linewidth=1.2)
    chosen = np.flatnonzero(path.k[steps] == best.k)
    if len(chosen):
        colour = colours(1)[0]
        span = high[chosen[0]], low[chosen[0]]
        ax.plot(span, [best.k] * 2, color=colour, linewidth=5, solid_capstyle="butt")
        ax.annotate(f"k = {best.k}", (best.lam, best.k), (0, 9), textcoords="offset points", ha="center", color=colour)
    if len(steps):
        ax.set(xscale=path.scale, yscale="log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="lam, the penalty of a cluster", ylabel="k, the best number of clusters")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def choice_of_k(choice, figure=None):
    """Draw every criterion over k with its choice marked, and the staircase of the lam path.

    Parameters
    ----------
    choice : KChoice
        What :func:`kfree.choose_k` returns.
    figure : matplotlib figure, default=None
        Where to draw; a new one if None.

    Returns
    -------
    figure : matplotlib figure
    """
    figure = figure or _matplotlib("pyplot").figure(figsize=(12, 6), layout="constrained")
    panels = figure.subplots(2, 4).ravel()
    colour = colours(1)[0]
    for ax, (name, values) in zip(panels, choice.criteria.items(), strict=False):
        ax.plot(choice.k, values, color="black", linewidth=1.2, marker=".")
        ax.set(title=name, xlabel="k")
        if name in choice.chosen:
            ax.axvline(choice.chosen[name], color=colour, linewidth=3, alpha=0.5)
            ax.set(title=f"{name}: k = {choice.chosen[name]}")
        ax.spines[["top", "right"]].set_visible(False)
    staircase(choice.path, panels[-1]).set(title=f"lam path: k = {choice.chosen['lam path']}")
    return figure


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
    A, labels, colour = model.adjacency_, model.labels_, colours(model.n_clusters_)
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


def dendrogram(linkage, n_clusters, *, names=None, ax=None):
    """Draw a tree, with the clusters of a cut in colour and what joins them in grey.

    Parameters
    ----------
    linkage : ndarray of shape (n_leaves - 1, 4)
        As in SciPy. Of a large tree only the top is drawn, with the number of leaves below in brackets.
    n_clusters : int
        Where to cut: clusters left when all but ``n_clusters - 1`` merges are done.
    names : sequence of str or None, default=None
        A name for each leaf.
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib axes
    """
    from scipy.cluster import hierarchy

    ax = axes(_matplotlib("pyplot").figure) if ax is None else ax
    n_leaves = len(linkage) + 1
    if n_leaves < 2:
        raise ValueError("a tree of one row has nothing to draw; fit at least two.")
    colour = dict(zip(_cluster_nodes(linkage, n_clusters), colours(n_clusters), strict=True))
    for node in range(2 * n_leaves - 2, n_leaves - 1, -1):
        if node in colour:
            colour.update(dict.fromkeys(linkage[node - n_leaves, :2].astype(int), colour[node]))
    hexes = {node: _matplotlib("colors").to_hex(rgb) for node, rgb in colour.items()}
    hierarchy.dendrogram(
        linkage,
        p=max(_LEAVES_DRAWN, n_clusters),
        truncate_mode="lastp" if n_leaves > _LEAVES_DRAWN else None,
        labels=names,
        no_labels=names is None and n_leaves <= _LEAVES_DRAWN,
        link_color_func=lambda node: hexes.get(node, "#999999"),
        ax=ax,
    )
    ax.set(ylabel="rise of the free energy by a merge, above the smallest")
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    return ax


def _cluster_nodes(linkage, n_clusters):
    """The nodes that are clusters with all but ``n_clusters`` − 1 merges done, in the order of their first leaves."""
    n_leaves = len(linkage) + 1
    first = list(range(n_leaves))
    for left, right, *_ in linkage[: n_leaves - n_clusters]:
        first.append(min(first[int(left)], first[int(right)]))
    inner = set(linkage[: n_leaves - n_clusters, :2].astype(int).ravel().tolist())
    return sorted(set(range(len(first))) - inner, key=first.__getitem__)


def _ellipse(centre, covariance):
    """The points two standard deviations away from the centre, (2, n)."""
    angle = np.linspace(0, 2 * np.pi, 100)
    return centre[:, None] + 2 * np.linalg.cholesky(covariance) @ [np.cos(angle), np.sin(angle)]


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


def colours(n):
    """One colour per cluster, (n, 3), the same for the same number in every picture."""
    hue = (np.arange(n) * _GOLDEN_ANGLE) % 1
    return _matplotlib("colors").hsv_to_rgb(np.column_stack([hue, np.full(n, 0.7), np.full(n, 0.8)]))


def _matplotlib(module):
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "kfree[plot]"') from error
