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
    colour = colours(len(centres))[model.predict(X)]
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
    low = np.where(path.lam_low > 0, path.lam_low, path.lam_high / 4)[steps]
    high = np.where(np.isfinite(path.lam_high), path.lam_high, path.lam_low * 4)[steps]
    ax.plot(np.column_stack([high, low]).ravel(), np.repeat(path.k[steps], 2), color="black", linewidth=1.2)
    chosen = np.flatnonzero(path.k[steps] == best.k)
    if len(chosen):
        colour = colours(1)[0]
        span = high[chosen[0]], low[chosen[0]]
        ax.plot(span, [best.k] * 2, color=colour, linewidth=5, solid_capstyle="butt")
        ax.annotate(f"k = {best.k}", (best.lam, best.k), (0, 9), textcoords="offset points", ha="center", color=colour)
    ax.set(xscale="log", yscale="log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="lam, the price of a cluster", ylabel="k, the best number of clusters")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def axes(new_figure=None):
    """Axes in kfree's style, on a figure that no window shows unless ``new_figure`` opens one."""
    new_figure = new_figure or _matplotlib("figure").Figure
    return new_figure(figsize=(8, 5), layout="constrained").add_subplot()


def colours(n):
    """One colour per cluster, (n, 3), the same for the same number in every picture."""
    hue = (np.arange(n) * _GOLDEN_ANGLE) % 1
    return _matplotlib("colors").hsv_to_rgb(np.column_stack([hue, np.full(n, 0.7), np.full(n, 0.8)]))


def _matplotlib(module):
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "kfree[plot]"') from error
