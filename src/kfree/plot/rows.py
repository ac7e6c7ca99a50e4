"""Rows as points: two columns as they are, more by their principal components."""

import numpy as np

from kfree.explain.summary import exemplars_of
from kfree.plot.look import MARKERS, NOISE, colours, given_or_new, ink, literal, number_at

# More rows than this are thinned out evenly.
_MOST_POINTS = 20_000
# More clusters than this are not listed in the legend.
_MOST_LISTED = 12
# Sparse rows of fewer values than this are drawn as dense ones.
_SMALL = 1 << 22
# The smallest and the largest area of a point, and its area in the legend, in square points.
_SIZES, _SIZE_IN_LEGEND = (5.0, 26.0), 26.0
# Points along each side of the grid that shows which cluster a place belongs to.
_GRID = 240


def clusters(model, X=None, ax=None, *, feature_names=None):
    """Draw the rows, coloured by cluster, with the numbers of the clusters, an exemplar of each, and a legend.

    Two columns are drawn as they are, more by their first two principal components, one over the number of the
    cluster. Rows without columns (precomputed kernels) are drawn by their distances to the own and the next cluster.

    Parameters
    ----------
    model : a fitted estimator of kfree
    X : array-like of shape (n_samples, n_features)
        Model and X may also come in the other order.
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of X.

    Returns
    -------
    ax : matplotlib axes
        With two columns, it has ellipses of two standard deviations where ``model`` has ``covariances_``.
    """
    model, X = (model, X) if hasattr(model, "get_params") else (X, model)
    ax = given_or_new(ax)
    view = model._view(X)
    places, names = places_of(view, feature_names)
    _draw_rows(ax, places, view)
    if hasattr(model, "covariances_") and view.columns.shape[1] == 2:
        _draw_ellipses(ax, model)
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def voronoi(model, X, ax=None, *, feature_names=None):
    """Draw rows of two columns on the regions in which ``predict`` gives each label.

    Parameters
    ----------
    model : a fitted estimator of kfree with ``predict``
    X : array-like of shape (n_samples, 2)
    ax : matplotlib axes, default=None
        Where to draw; a new figure if None.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of X.

    Returns
    -------
    ax : matplotlib axes
    """
    if not hasattr(model, "predict"):
        raise ValueError(f"{type(model).__name__} has no predict, so that regions cannot be drawn; use kind='scatter'.")
    view = model._view(X)
    n_columns = 0 if view.columns is None else view.columns.shape[1]
    if n_columns != 2:
        raise ValueError(f"regions are drawn of two columns; X has {n_columns}. Use kind='scatter'.")
    ax = given_or_new(ax)
    places, names = places_of(view, feature_names)
    low, high = places.min(axis=0), places.max(axis=0)
    margin = 0.08 * np.maximum(high - low, 1e-12)
    x, y = (np.linspace(low[j] - margin[j], high[j] + margin[j], _GRID) for j in range(2))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    labels = model.predict(_like(X, grid)).reshape(_GRID, _GRID)
    colour = colours(view.n_clusters)
    ax.imshow(
        colour[labels],
        origin="lower",
        extent=(x[0], x[-1], y[0], y[-1]),
        aspect="auto",
        alpha=0.22,
        interpolation="none",
    )
    for label in np.unique(labels)[1:]:  # one by one: between distant numbers, lines of all levels would coincide
        ax.contour(x, y, labels == label, levels=[0.5], colors=[ink()], linewidths=0.6, alpha=0.6)
    _draw_rows(ax, places, view)
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), xlabel=names[0], ylabel=names[1])
    return ax


def _like(X, rows):
    """``rows`` with the column names of X, where it has any."""
    if hasattr(type(X), "from_pydict"):  # pyarrow, whose ``columns`` are the values
        return type(X).from_pydict(dict(zip(X.column_names, rows.T, strict=True)))
    columns = getattr(X, "columns", None)
    return rows if columns is None else type(X)({name: rows[:, j] for j, name in enumerate(columns)})


def _draw_rows(ax, places, view):
    colour = colours(view.n_clusters)
    drawn, size = thinned(len(places))
    noise = drawn & (view.labels < 0)
    if noise.any():
        ax.scatter(
            *places[noise].T, c=NOISE, marker="x", s=size, linewidths=0.8, label=f"none ({(view.labels < 0).sum()})"
        )
    exemplars = exemplars_of(view, 1)
    for c, n_rows in enumerate(view.sizes):
        own, marker = drawn & (view.labels == c), MARKERS[c % len(MARKERS)]
        name = f"{c} ({n_rows})" if c < _MOST_LISTED else None
        ax.scatter(*places[own].T, color=colour[c], marker=marker, s=size, linewidths=0, alpha=0.8, label=name)
        for row in exemplars[c]:
            ax.scatter(
                *places[[row]].T, facecolors="none", edgecolors=ink(), marker="o", s=70, linewidths=1.1, zorder=4
            )
            number_at(ax, places[row], c, colour[c])
    more = view.n_clusters - _MOST_LISTED
    title = "cluster (rows)" + (f", {more} more" if more > 0 else "")
    legend = ax.legend(
        title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, title_fontsize=8
    )
    for handle in legend.legend_handles:
        handle.set_sizes([_SIZE_IN_LEGEND])


def thinned(n_rows):
    """Which of so many rows are drawn, (n,), and how large."""
    drawn = np.zeros(n_rows, dtype=bool)
    drawn[:: max(1, -(-n_rows // _MOST_POINTS))] = True
    return drawn, float(np.clip(9000 / max(drawn.sum(), 1), *_SIZES))


def places_of(view, feature_names):
    """Where the rows are drawn, (n, 2), and what the axes are called."""
    if view.columns is None:
        second = np.where(np.isfinite(view.second_dist), view.second_dist, 0.0)
        return np.column_stack([view.dist, second]), ["distance to the own cluster", "distance to the next cluster"]
    n_columns = view.columns.shape[1]
    given = view.names if feature_names is None else feature_names
    names = [f"x{j}" for j in range(n_columns)] if given is None else [literal(name) for name in given]
    columns = view.columns.toarray() if hasattr(view.columns, "toarray") and n_columns <= 2 else view.columns
    if n_columns == 1:
        return np.column_stack([columns[:, 0], view.labels]), [names[0], "cluster"]
    if n_columns == 2:
        return np.asarray(columns, dtype=np.float64), names
    from sklearn.decomposition import PCA

    sparse = hasattr(columns, "toarray")
    if sparse and columns.shape[0] * n_columns <= _SMALL:  # ARPACK needs some variance, and more than two columns
        columns, sparse = columns.toarray(), False
    if columns.shape[0] == 1:
        return np.zeros((1, 2)), ["component 1", "component 2"]
    components = PCA(2, svd_solver="arpack" if sparse else "auto", random_state=0).fit(columns)
    told = [
        f"component {j + 1} ({share:.0%} of the variance)"
        for j, share in enumerate(components.explained_variance_ratio_)
    ]
    return components.transform(columns), told


def _draw_ellipses(ax, model):
    angle = np.linspace(0, 2 * np.pi, 100)
    for centre, covariance in zip(model.cluster_centers_, model.covariances_, strict=True):
        variances, axes = np.linalg.eigh(covariance)  # exist also where a covariance is singular
        ring = centre[:, None] + 2 * axes * np.sqrt(np.maximum(variances, 0.0)) @ [np.cos(angle), np.sin(angle)]
        ax.plot(*ring, color=ink(), linewidth=1.0)
