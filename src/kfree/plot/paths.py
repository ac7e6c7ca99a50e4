"""The staircase k(lam)."""

import numpy as np

from kfree.plot.look import colours, given_or_new, ink, matplotlib


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
    ax = given_or_new(ax)
    # Where all rows are equal, one cluster is best at any penalty, and there is nothing to draw.
    anywhere = (path.lam_low == 0) & np.isinf(path.lam_high)
    best, steps = path.suggest(), np.flatnonzero((path.width > 0) & ~anywhere)
    # The first step has no upper end and a last one no lower end: draw as much of them as of a step of width log 4.
    low = np.where(path.lam_low == 0, path.lam_high / 4, path.lam_low)[steps]
    high = np.where(np.isfinite(path.lam_high), path.lam_high, path.lam_low * 4)[steps]
    ax.plot(np.column_stack([high, low]).ravel(), np.repeat(path.k[steps], 2), color=ink(), linewidth=1.2)
    chosen = np.flatnonzero(path.k[steps] == best.k)
    if len(chosen):
        colour = colours(1)[0]
        span = high[chosen[0]], low[chosen[0]]
        ax.plot(span, [best.k] * 2, color=colour, linewidth=5, solid_capstyle="butt")
        ground = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1, "alpha": 0.8}
        told = {"textcoords": "offset points", "ha": "center", "color": colour, "bbox": ground}
        ax.annotate(f"k = {best.k}", (best.lam, best.k), (0, 9), **told)
    if len(steps):
        ax.set(xscale=path.scale, yscale="log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="lam, the penalty of a cluster", ylabel="k, the best number of clusters")
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
    n_rows = len(choice.criteria) // 4 + 1
    figure = figure or matplotlib("pyplot").figure(figsize=(12, 3 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, 4).ravel()
    colour = colours(1)[0]
    for ax, (name, values) in zip(panels, choice.criteria.items(), strict=False):
        ax.plot(choice.k, values, color=ink(), linewidth=1.2, marker=".")
        ax.set(title=name, xlabel="k")
        if name in choice.chosen:
            ax.axvline(choice.chosen[name], color=colour, linewidth=3, alpha=0.5)
            ax.set(title=f"{name}: k = {choice.chosen[name]}")
        ax.spines[["top", "right"]].set_visible(False)
    staircase(choice.path, panels[-1]).set(title=f"lam path: k = {choice.chosen['lam path']}")
    return figure
