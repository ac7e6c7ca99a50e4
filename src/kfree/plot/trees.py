"""Trees of clusters."""

import numpy as np

from kfree.plot.look import colours, given_or_new, literal, matplotlib

# Only the top of a larger tree is drawn, down to so many branches.
_LEAVES_DRAWN = 60


def dendrogram(linkage, n_clusters, *, names=None, labels=None, ax=None):
    """Draw a tree, with the clusters of a cut in colour and what joins them in grey.

    Parameters
    ----------
    linkage : ndarray of shape (n_leaves - 1, 4)
        As in SciPy. Only the top of a large tree is drawn, with the number of leaves below in brackets.
    n_clusters : int
        Where to cut: clusters left when all but ``n_clusters - 1`` merges are done.
    names : sequence of str or None, default=None
        A name for each leaf.
    labels : array-like of shape (n_leaves,) or None, default=None
        The cluster of each leaf, whose colour it gets; None numbers clusters by their first leaves.
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib axes
    """
    from scipy.cluster import hierarchy

    ax = given_or_new(ax)
    n_leaves = len(linkage) + 1
    if n_leaves < 2:
        raise ValueError("linkage has no merges to draw: it is that of a single row. Fit at least two rows.")
    first = _cluster_nodes(linkage, n_clusters)
    number = range(n_clusters) if labels is None else [labels[leaf] for leaf in first.values()]
    colour = dict(zip(first, colours(n_clusters)[list(number)], strict=True))
    for node in range(2 * n_leaves - 2, n_leaves - 1, -1):
        if node in colour:
            colour.update(dict.fromkeys(linkage[node - n_leaves, :2].astype(int), colour[node]))
    hexes = {node: matplotlib("colors").to_hex(rgb) for node, rgb in colour.items()}
    hierarchy.dendrogram(
        linkage,
        p=max(_LEAVES_DRAWN, n_clusters),
        truncate_mode="lastp" if n_leaves > _LEAVES_DRAWN else None,
        labels=None if names is None else [literal(name) for name in names],
        no_labels=names is None and n_leaves <= _LEAVES_DRAWN,
        link_color_func=lambda node: hexes.get(node, "#999999"),
        ax=ax,
    )
    _scale_heights(ax, linkage[-max(_LEAVES_DRAWN, n_clusters) :, 2], n_clusters)
    ax.set(ylabel="rise of the free energy by a merge, above the smallest")
    ax.spines["bottom"].set_visible(False)
    return ax


def _cluster_nodes(linkage, n_clusters):
    """The nodes that are clusters with all but ``n_clusters`` − 1 merges done → their first leaves, in this order."""
    n_leaves = len(linkage) + 1
    first = list(range(n_leaves))
    for left, right, *_ in linkage[: n_leaves - n_clusters]:
        first.append(min(first[int(left)], first[int(right)]))
    inner = set(linkage[: n_leaves - n_clusters, :2].astype(int).ravel().tolist())
    return {node: first[node] for node in sorted(set(range(len(first))) - inner, key=first.__getitem__)}


def _scale_heights(ax, heights, n_clusters):
    """Half of the axis for merges inside clusters, half for those between them, in proportion to log(height).

    ``heights`` are those that are drawn, ascending. The last merges cost a hundred times as much as those inside
    clusters, which differ little: neither a linear nor a logarithmic axis shows both.
    """
    top = max(float(heights[-1]), 1e-300)
    inside = heights[: max(len(heights) - (n_clusters - 1), 0)]
    inside = inside[inside > 0]
    if n_clusters == 1 or not len(inside) or inside[-1] >= top:
        return
    # Places on the axis: the foot of the tree, the lowest merge, the last one inside a cluster; beyond it, logarithms.
    high = float(inside[-1])
    known = np.array([0.0, min(float(inside[0]), 0.999 * high), high])
    places, growth = np.array([-0.1, 0.0, 1.0]), 1 / np.log(top / high)

    def forward(h):
        h = np.asarray(h, dtype=np.float64)
        return np.where(h <= high, np.interp(h, known, places), 1 + growth * np.log(np.maximum(h, high) / high))

    def inverse(place):
        place = np.asarray(place, dtype=np.float64)
        return np.where(place <= 1, np.interp(place, places, known), high * np.exp((np.maximum(place, 1) - 1) / growth))

    ax.set_yscale("function", functions=(forward, inverse))
    ticks = np.unique([f"{inverse(place):.3g}" for place in (0.0, 0.5, 1.0, 1.5, 2.0)])
    ax.set_yticks([float(tick) for tick in ticks], ticks)
    ax.set_ylim(0.0, float(inverse(2.03)))
