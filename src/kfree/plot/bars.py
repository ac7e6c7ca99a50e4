"""Clusters in numbers: how large they are, and what sets them apart."""

import numpy as np

from kfree.explain.certainty import counted
from kfree.explain.features import profile
from kfree.explain.units import percent
from kfree.plot.look import colours, given_or_new, ink, literal

# Columns that are drawn: those with the largest effects.
_MOST_COLUMNS = 12
# Effects beyond this have the darkest colour.
_STRONG = 3.0


def sizes(model, X=None, ax=None):
    """Draw how many rows each cluster has.

    Parameters
    ----------
    model : a fitted estimator of kfree
    X : the rows of ``fit``, or others
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib axes
    """
    ax = given_or_new(ax)
    view = model._view(X)
    bars = ax.barh(
        np.arange(view.n_clusters), view.sizes, color=colours(view.n_clusters), edgecolor=ink(), linewidth=0.6
    )
    shares = [percent(n / len(view.labels), decimals=1) for n in view.sizes]
    told = [f"{n}  ({share})" for n, share in zip(view.sizes, shares, strict=True)]
    ax.bar_label(bars, told, padding=4, color=ink(), fontsize=9)
    n_noise = int((view.labels < 0).sum())
    noise = f" ({counted(n_noise, view.word)} in no cluster)" if n_noise else ""
    ax.set(xlabel=f"{view.word}s{noise}", ylabel="cluster", yticks=np.arange(view.n_clusters))
    ax.margins(x=0.16)
    ax.invert_yaxis()
    return ax


def profiles(model, X=None, ax=None, *, feature_names=None):
    """Draw which columns set each cluster apart: by how many standard deviations within clusters means differ.

    Parameters
    ----------
    model : a fitted estimator of kfree
    X : the rows of ``fit``, or others
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of X.

    Returns
    -------
    ax : matplotlib axes
        If there are many columns, it shows the twelve with the largest effects, and the title says so.
    """
    view = model._view(X)
    if view.columns is None:
        raise ValueError("profiles need columns, and precomputed values have none; use kind='sizes'.")
    ax = given_or_new(ax)
    effects = profile(view.columns, view.labels, view.n_clusters).effects
    given = view.names if feature_names is None else feature_names
    names = [f"x{j}" for j in range(effects.shape[1])] if given is None else [literal(name) for name in given]
    shown = np.sort(np.argsort(-np.abs(effects).max(axis=0), kind="stable")[:_MOST_COLUMNS])
    cells = effects[:, shown]
    ax.imshow(np.clip(cells, -_STRONG, _STRONG), cmap="PuOr_r", vmin=-_STRONG, vmax=_STRONG, aspect="auto")
    for (c, j), value in np.ndenumerate(cells):
        colour = "white" if abs(value) > 0.7 * _STRONG else "black"
        ax.text(j, c, f"{value:+.1f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(np.arange(len(shown)), [names[j] for j in shown], rotation=40, ha="right", rotation_mode="anchor")
    ax.set(
        yticks=np.arange(view.n_clusters),
        ylabel="cluster",
    )
    some = f"\n{len(shown)} of {len(names)} columns, with the largest differences" if len(shown) < len(names) else ""
    told = f"difference from other {view.word}s, in standard deviations within clusters{some}"
    ax.set_title(told, fontsize=10)
    return ax
