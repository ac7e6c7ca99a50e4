"""summarize: one line per cluster, with its size, spread, neighbour, exemplars and the features that set it apart."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.explain import render
from kfree.explain.features import effect_sizes, effects_among_siblings
from kfree.explain.view import Floats, View

N_EXEMPLARS = 3
N_FEATURES = 10
# Rows per block, which bounds the memory.
_ROWS_AT_ONCE = 65536
# Name, effect size and mean.
Features = tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class ClusterSummary:
    """One cluster.

    Attributes
    ----------
    label, size : int
    share : float
        Of all rows, those left out as noise included.
    spread : float
        Root mean square of the distances of its rows to the cluster; for graphs, the share of links that leave it.
    nearest : int
        The nearest other cluster; −1 if there is none.
    nearest_distance : float
        How far that is; infinite if there is none.
    exemplars : tuple of int
        Row numbers, the nearest to the centre first.
    features : tuple of (name, effect size, mean)
        The columns that set the cluster apart most, at most ten, by Cohen's d between rows inside and outside.
    """

    label: int
    size: int
    share: float
    spread: float
    nearest: int
    nearest_distance: float
    exemplars: tuple[int, ...]
    features: Features


@dataclass(frozen=True)
class Summary:
    """What :func:`summarize` returns: a text when printed, a table in a notebook, a frame by :meth:`to_frame`.

    Attributes
    ----------
    clusters : tuple of ClusterSummary
    n_rows, n_noise : int
        All rows, and those of them that belong to no cluster (label −1).
    distance, spread : str
        What a distance and a spread are for this estimator, in words.
    row_names : array or None
        Names of the rows that ``exemplars`` count, where rows have names.
    word : str
        What a row is called.
    """

    clusters: tuple[ClusterSummary, ...]
    n_rows: int
    n_noise: int
    distance: str
    spread: str
    row_names: Any = None
    word: str = "row"

    def row_name(self, row: int) -> str:
        """The name of a row, which is its number unless rows have names."""
        return str(row) if self.row_names is None else str(self.row_names[row])

    def __str__(self) -> str:
        return render.as_text(self)

    def _repr_html_(self) -> str:
        return render.as_html(self)

    def to_frame(self) -> Any:
        """One row per cluster, as a pandas data frame."""
        return render.as_frame(self)


def summarize(model: Any, X: Any = None, feature_names: Any = None) -> Summary:
    """Explain the clusters of a fitted estimator.

    Parameters
    ----------
    model : a fitted estimator of kfree
    X : the rows of ``fit``, or others, which are given to clusters by ``predict``
        May be left out for :class:`kfree.GraphDPMeans`, which keeps its graph.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of X, else x0, x1, ….

    Returns
    -------
    summary : Summary

    Examples
    --------
    >>> from kfree import DPMeans
    >>> from kfree.explain import summarize
    >>> X = [[0.0, 5.0], [0.2, 4.0], [0.1, 6.0], [9.0, 5.5], [9.2, 4.5]]
    >>> summary = summarize(DPMeans(lam=10.0).fit(X), X, ["height", "weight"])
    >>> [cluster.size for cluster in summary.clusters]
    [3, 2]
    >>> summary.clusters[0].features[0][0]
    'height'
    """
    return summary_of(model._view(X), feature_names)


def summary_of(view: View, feature_names: Any = None, parent: NDArray[Any] | None = None) -> Summary:
    """The summary of a view; ``feature_names`` replace those of the view.

    With a ``parent`` (k,) of each cluster, features set it apart from the others with the same parent.
    """
    features = _features_of(view, _names(view, feature_names), parent)
    exemplars = exemplars_of(view)
    spreads = spreads_of(view)
    clusters = tuple(
        ClusterSummary(
            label=c,
            size=int(size),
            share=float(size / len(view.labels)),
            spread=float(spreads[c]),
            nearest=int(view.nearest[c]),
            nearest_distance=float(view.gaps[c]),
            exemplars=tuple(exemplars[c]),
            features=features[c],
        )
        for c, size in enumerate(view.sizes)
    )
    n_noise = int((view.labels < 0).sum())
    return Summary(clusters, len(view.labels), n_noise, view.distance, view.spread, view.row_names, view.word)


def spreads_of(view: View) -> Floats:
    """How wide each cluster is, (k,); 0 for a cluster without rows."""
    if view.spreads is not None:
        return view.spreads
    kept = view.labels >= 0
    total = np.bincount(view.labels[kept], weights=view.dist[kept] ** 2, minlength=view.n_clusters)
    return np.sqrt(total / np.maximum(view.sizes, 1))


def exemplars_of(view: View, n_exemplars: int = N_EXEMPLARS) -> list[list[int]]:
    """For each cluster the rows nearest to it, the nearest first, and the earlier row on ties."""
    nearest = np.empty(0, dtype=np.int64)
    for begin in range(0, len(view.labels), _ROWS_AT_ONCE):
        block = np.arange(begin, min(begin + _ROWS_AT_ONCE, len(view.labels)))
        nearest = _nearest(view, np.concatenate([nearest, block]), n_exemplars)
    ends = np.searchsorted(view.labels[nearest], np.arange(view.n_clusters + 1))
    return [nearest[begin:end].tolist() for begin, end in pairwise(ends)]


def _nearest(view: View, rows: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Of these rows, up to ``n_rows`` of each cluster, the nearest to it first; rows in no cluster are left out."""
    order = rows[np.lexsort((view.dist[rows], view.labels[rows]))]
    own = view.labels[order]
    first = np.searchsorted(own, own, side="left")
    return order[(own >= 0) & (np.arange(len(order)) - first < n_rows)]


def _features_of(view: View, names: list[str], parent: NDArray[Any] | None) -> list[Features]:
    """For each cluster the columns that set it apart most, the largest effect first."""
    if view.columns is None:
        return [()] * view.n_clusters
    if parent is None:
        effects, means = effect_sizes(view.columns, view.labels, view.n_clusters)
    else:
        effects, means = effects_among_siblings(view.columns, view.labels, view.n_clusters, parent)
    orders = np.argsort(-np.abs(effects), axis=1, kind="stable")[:, :N_FEATURES]
    return [
        tuple((names[j], float(effects[c, j]), float(means[c, j])) for j in order) for c, order in enumerate(orders)
    ]


def _names(view: View, feature_names: Any) -> list[str]:
    if view.columns is None:
        if feature_names is not None:
            raise ValueError("feature_names were given, but precomputed values have no columns; leave them out.")
        return []
    n_columns = view.columns.shape[1]
    given = view.names if feature_names is None else feature_names
    names = [f"x{j}" for j in range(n_columns)] if given is None else [str(name) for name in given]
    if len(names) != n_columns:
        raise ValueError(f"feature_names has {len(names)} names for {n_columns} columns; give one name per column.")
    return names
