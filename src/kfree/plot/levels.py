"""Clusters of clusters: rows in the hue of their group and the shade of their cluster."""

import numpy as np

from kfree.plot.look import colours, given_or_new, matplotlib, number_at
from kfree.plot.rows import places_of, thinned

# Saturation and brightness of the clusters of a group run between these.
_SATURATION, _VALUE = (0.95, 0.45), (0.55, 0.95)


def levels(model, X, ax=None, *, feature_names=None):
    """Draw the rows of a NestedDPMeans, a hue for each group and a shade for each cluster in it.

    Parameters
    ----------
    model : a fitted NestedDPMeans
    X : array-like of shape (n_samples, n_features)
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.
    feature_names : sequence of str or None, default=None

    Returns
    -------
    ax : matplotlib axes
        Numbers are those of the groups of the coarsest level.
    """
    ax = given_or_new(ax)
    view = model._view(X)
    places, names = places_of(view, feature_names)
    drawn, size = thinned(len(places))
    shade, groups = shades(model), model.tree_.at_level(view.labels, 0)
    ax.scatter(*places[drawn].T, c=shade[view.labels[drawn]], s=size, linewidths=0, alpha=0.8)
    for group, colour in enumerate(colours(model.levels_[0])):
        if (groups == group).any():
            number_at(ax, places[groups == group].mean(axis=0), group, colour)
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def shades(model):
    """A colour for each cluster of the finest level, (k, 3), of the hue of its group."""
    rgb, k = colours(model.levels_[0]), model.levels_[-1]
    group = model.tree_.at_level(np.arange(k), 0)
    hsv = matplotlib("colors").rgb_to_hsv(rgb)[group]
    for own in range(model.levels_[0]):
        inside = np.flatnonzero(group == own)
        step = np.linspace(0, 1, len(inside)) if len(inside) > 1 else np.array([0.5])
        hsv[inside, 1] = np.interp(step, (0, 1), _SATURATION)
        hsv[inside, 2] = np.interp(step, (0, 1), _VALUE)
    return matplotlib("colors").hsv_to_rgb(hsv)
