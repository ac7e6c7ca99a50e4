"""summarize: one line per cluster, with its size, spread, neighbour, exemplars and the features that set it apart."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.blocks import row_blocks
from kfree.core.names import require_order
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Labels
from kfree.explain.features import Feature, Profile, profile, sources_of
from kfree.explain.places import places_of
from kfree.explain.table import ClusterSummary, Summary
from kfree.explain.units import NUMBER, Unit
from kfree.explain.view import View

N_EXEMPLARS = 3
N_FEATURES = 10
# Rows per block, which bounds the memory.
_ROWS_AT_ONCE = 65536


def summarize(model: Any, X: Any = None, feature_names: Any = None, encoder: Any = None) -> Summary:
    """Explain the clusters of a fitted estimator.

    Parameters
    ----------
    model : a fitted estimator of kfree
    X : the rows of ``fit``, or others, which are given to clusters by ``predict``
        May be left out for :class:`kfree.GraphDPMeans`, which keeps its graph.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of X, else x0, x1, ….
    encoder : a fitted TableEncoder or None, default=None
        The one that made X, so that columns have their names and means are those of the table, in its units.

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
    >>> summary.clusters[0].features[0].name
    'height'
    """
    return summary_of(model._view(X), feature_names, encoder=encoder)


def summary_of(
    view: View, feature_names: Any = None, parent: NDArray[Any] | None = None, encoder: Any = None
) -> Summary:
    """The summary of a view; ``feature_names`` replace those of the view.

    With a ``parent`` (k,) of each cluster, features set it apart from the others with the same parent. An ``encoder``
    has ``in_units``, ``units_out``, ``levels_out`` and ``columns_out``, as a TableEncoder has.
    """
    if feature_names is None and view.columns is not None and encoder is not None:
        feature_names = encoder.get_feature_names_out()
        require_order(view.names, feature_names, "X", "Give the encoder that made X.")
    features = _features_of(view, _names(view, feature_names), parent, encoder)
    exemplars = exemplars_of(view)
    spreads, places = spreads_of(view), places_of(view)
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
            place=places[c],
        )
        for c, size in enumerate(view.sizes)
    )
    n_noise = int((view.labels < 0).sum())
    others = f"other {view.word}s"
    if parent is not None and len(np.unique(parent)) > 1:
        others += " of the same group"
    facts = (view.distance, view.spread, view.row_names, view.word, others)
    return Summary(clusters, len(view.labels), n_noise, *facts)


def with_sizes(summary: Summary, weights: Floats, n_sampled: int) -> Summary:
    """The summary of a sample of ``n_sampled`` rows, with the ``weights`` (k,) of all rows in place of its sizes.

    Rows of a sample have no numbers that a user knows, so that there are no exemplars.
    """
    sizes, shares = np.rint(weights).astype(np.int64).tolist(), (weights / weights.sum()).tolist()
    clusters = tuple(
        replace(cluster, size=size, share=share, exemplars=())
        for cluster, size, share in zip(summary.clusters, sizes, shares, strict=True)
    )
    spread = f"{summary.spread}, as means by a sample of {n_sampled}"
    return replace(summary, clusters=clusters, n_rows=int(np.rint(weights.sum())), spread=spread)


def spreads_of(view: View) -> Floats:
    """How wide each cluster is, (k,); 0 for a cluster without rows."""
    if view.spreads is not None:
        return view.spreads
    kept = view.labels >= 0
    total = np.bincount(view.labels[kept], weights=view.dist[kept] ** 2, minlength=view.n_clusters)
    return np.sqrt(total / np.maximum(view.sizes, 1))


def exemplars_of(view: View, n_exemplars: int = N_EXEMPLARS) -> list[list[int]]:
    """For each cluster the rows nearest to it, the nearest first, and the earlier row on ties."""
    rows, nearest = np.arange(len(view.labels)), np.empty(0, dtype=np.int64)
    for block in row_blocks(len(rows), _ROWS_AT_ONCE):
        nearest = _nearest(view, np.concatenate([nearest, rows[block]]), n_exemplars)
    ends = np.searchsorted(view.labels[nearest], np.arange(view.n_clusters + 1))
    return [nearest[begin:end].tolist() for begin, end in pairwise(ends)]


def _nearest(view: View, rows: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Up to ``n_rows`` of these rows for each cluster, the nearest to it first; rows in no cluster are left out."""
    order = rows[np.lexsort((view.dist[rows], view.labels[rows]))]
    own = view.labels[order]
    first = np.searchsorted(own, own, side="left")
    return order[(own >= 0) & (np.arange(len(order)) - first < n_rows)]


def _features_of(view: View, names: list[str], parent: NDArray[Any] | None, encoder: Any) -> list[tuple[Feature, ...]]:
    """For each cluster the columns that set it apart most, the largest effect first."""
    if view.columns is None:
        return [()] * view.n_clusters
    found, units = profile_in_units(view.columns, view.labels, view.n_clusters, parent, encoder)
    orders = np.argsort(-np.abs(found.effects), axis=1, kind="stable")[:, :N_FEATURES]
    sources = sources_of(names, encoder)
    effects, means = found.effects.tolist(), found.means.tolist()
    # NaN as one object equals itself in a tuple, so that summaries of the same rows are equal.
    others = [[math.nan if math.isnan(mean) else mean for mean in row] for row in found.others.tolist()]
    return [
        tuple(Feature(names[j], effects[c][j], means[c][j], others[c][j], units[j], sources[j]) for j in order)
        for c, order in enumerate(orders.tolist())
    ]


def profile_in_units(
    columns: ArrayOrCSR, labels: Labels, n_clusters: int, parent: NDArray[Any] | None = None, encoder: Any = None
) -> tuple[Profile, list[Unit]]:
    """How clusters differ, with means in the units of the columns, and these units.

    A mean is that of the rows in their units: of a column whose logarithms were clustered, the mean of its numbers.
    """
    found, kinds = profile(columns, labels, n_clusters, parent), [NUMBER] * columns.shape[1]
    levels: list[tuple[str, ...]] = [()] * columns.shape[1]
    if encoder is not None:
        in_units = profile(encoder.in_units(columns), labels, n_clusters, parent)
        found, kinds, levels = replace(in_units, effects=found.effects), encoder.units_out, encoder.levels_out
    largest = np.abs(found.means).max(axis=0, initial=0.0)
    facts = zip(kinds, found.deviation.tolist(), largest.tolist(), levels, strict=True)
    return found, [Unit.of(*one) for one in facts]


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
