"""Pictures of clusterings, in one style. Needs matplotlib."""

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
    pyplot = _pyplot()
    ax = pyplot.subplots(figsize=(8, 5), layout="constrained")[1] if ax is None else ax
    X, centres = np.asarray(X), model.cluster_centers_
    ax.scatter(X[:, 0], X[:, 1], c=_colours(len(centres))[model.predict(X)], s=9, linewidths=0)
    ax.scatter(centres[:, 0], centres[:, 1], c="black", marker="+", s=70, linewidths=1.4)
    ax.set_aspect("equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _colours(n):
    from matplotlib.colors import hsv_to_rgb

    hue = (np.arange(n) * _GOLDEN_ANGLE) % 1
    return hsv_to_rgb(np.column_stack([hue, np.full(n, 0.7), np.full(n, 0.8)]))


def _pyplot():
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "kfree[plot]"') from error
    return pyplot
