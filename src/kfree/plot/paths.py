"""The staircase k(lam)."""

import numpy as np

from kfree.plot.look import colours, given_or_new, ink


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
        ax.annotate(f"k = {best.k}", (best.lam, best.k), (0, 9), textcoords="offset points", ha="center", color=colour)
    if len(steps):
        ax.set(xscale=path.scale, yscale="log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="lam, the penalty of a cluster", ylabel="k, the best number of clusters")
    return ax
