"""Rows that are nearly equal, found with clusters as an index, so that not all pairs of rows are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from kfree.core.blocks import blocks
from kfree.core.equal_rows import numbers_of_equal
from kfree.core.optional import optional
from kfree.core.sparse import ArrayOrCSR, dense
from kfree.core.stats import Floats, Index, Labels, Mask, members_of
from kfree.explain.view import Blocks

# The default threshold, as a share of the usual distance of a row to the nearest other one.
NEAR = 0.1
# Rows from which that distance is known; and rows of a cluster from which its widest directions are.
_SAMPLE, _ROWS_OF_AXES = 1000, 256
# Columns of the trees that find candidates.
_AXES = 8
# Pairs of rows that may be nearer than the threshold.
_MOST_PAIRS = 50_000_000
# Rounding of distances, and of products with axes relative to the largest of them.
_ROUNDING, _ROUNDING_OF_PRODUCTS = 1e-9, 1e-11

# Rows, some of them by number, in coordinates whose Euclidean distances are those of the metric.
Coordinates = Callable[[Index], ArrayOrCSR]


@dataclass(frozen=True)
class Duplicates:
    """Rows that lie nearer to another one than ``threshold``.

    Attributes
    ----------
    threshold : float
    pairs : ndarray of shape (m, 2), int64
        Row numbers of pairs at most ``threshold`` apart, the smaller first, in order. Equal rows are one: each of them
        is paired with the first, and only that one with others.
    distances : ndarray of shape (m,)
    group : ndarray of shape (n_samples,), int64
        The number of the group that a row is in: rows that a chain of pairs connects. Groups are numbered in the order
        of their first rows; −1 for a row that has no near duplicate.
    """

    threshold: float
    pairs: Index
    distances: Floats
    group: Index

    @property
    def groups(self) -> list[Index]:
        """The rows of each group."""
        return members_of(self.group, int(self.group.max(initial=-1)) + 1)

    @property
    def keep(self) -> Mask:
        """All rows but those of a group after its first: ``X[keep]`` has no near duplicates of these."""
        keep = self.group < 0
        keep[[rows[0] for rows in self.groups]] = True
        return keep

    def __repr__(self) -> str:
        n_groups, n_rows = len(self.groups), int((self.group >= 0).sum())
        return f"Duplicates(threshold={self.threshold:.3g}: {n_groups} groups of {n_rows} rows among {len(self.group)})"

    def to_frame(self) -> Any:
        """One line per pair, as a pandas data frame: both rows, their distance and their group."""
        pandas = optional("pandas", "to_frame needs pandas: pip install pandas")
        first, second = self.pairs.T
        return pandas.DataFrame(
            {"first": first, "second": second, "distance": self.distances, "group": self.group[first]}
        )


def near_duplicates(
    coordinates: Coordinates,
    labels: Labels,
    distances: Callable[[], Blocks],
    threshold: float | None,
    stretch: float = 1.0,
) -> Duplicates:
    """Pairs of rows at most ``threshold`` apart in their coordinates, by clusters of which ``labels`` name the nearest.

    ``distances()`` are those of all rows to all clusters, at most ``stretch`` times as long as in coordinates. None as
    a threshold is a tenth of the usual distance to the nearest row.

    For a row x of cluster a and a row y of cluster b, nearer than t, the triangle inequality gives
    ‖x − b‖ ≤ ‖y − b‖ + t and ‖y − b‖ ≤ ‖y − a‖ ≤ ‖x − a‖ + t. So a cluster is compared with its own rows, and with
    those rows of later clusters that are not more than 2t nearer to their own centre.
    """
    members = members_of(labels, int(labels.max()) + 1)
    firsts, copies = _first_of_equal(coordinates, members)
    near = _usual_gap(coordinates, firsts) * NEAR if threshold is None else threshold
    found = [(copies, np.zeros(len(copies)))]
    n_pairs = len(copies)
    is_first = np.ones(len(labels), dtype=bool)
    is_first[copies[:, 1]] = False
    borders = _borders(distances(), labels, is_first, stretch * near, len(members))
    for own, beside in zip(firsts, borders, strict=True):
        pairs, gaps = _near_pairs(coordinates, own, beside, near, _MOST_PAIRS - n_pairs)
        n_pairs += len(pairs)
        found.append((pairs, gaps))
    return _duplicates(near, found, len(labels))


def _duplicates(threshold: float, found: list[tuple[Index, Floats]], n_rows: int) -> Duplicates:
    pairs, gaps = np.concatenate([pairs for pairs, _ in found]), np.concatenate([gaps for _, gaps in found])
    order = np.lexsort(pairs.T[::-1])
    pairs, gaps = pairs[order], gaps[order]
    links = sp.coo_array((np.ones(len(pairs)), pairs.T), shape=(n_rows, n_rows))
    component = connected_components(links, directed=False)[1]
    linked = np.zeros(n_rows, dtype=bool)
    linked[pairs] = True
    _, first, numbers = np.unique(component[linked], return_index=True, return_inverse=True)
    group = np.full(n_rows, -1, dtype=np.int64)
    group[linked] = np.argsort(np.argsort(first))[numbers]
    return Duplicates(float(threshold), pairs, gaps, group)


def _first_of_equal(coordinates: Coordinates, members: list[Index]) -> tuple[list[Index], Index]:
    """The rows of each cluster without copies, and pairs of a row and a copy of it."""
    firsts, copies = [], [np.empty((0, 2), dtype=np.int64)]
    for rows in members:
        _, first, numbers = np.unique(numbers_of_equal(coordinates(rows)), return_index=True, return_inverse=True)
        pairs = np.column_stack([rows[first][numbers], rows])
        firsts.append(rows[first])
        copies.append(pairs[pairs[:, 0] != pairs[:, 1]])
    return firsts, np.concatenate(copies)


def _usual_gap(coordinates: Coordinates, members: list[Index]) -> float:
    """The median distance of a row to the nearest other one in its cluster, over some of the distinct rows."""
    step = -(-sum(len(rows) for rows in members) // _SAMPLE)
    gaps = [_nearest_gaps(coordinates, rows, rows[:: max(step, 1)]) for rows in members if len(rows) > 1]
    return float(np.median(np.concatenate(gaps))) if gaps else 0.0


def _nearest_gaps(coordinates: Coordinates, rows: Index, some: Index) -> Floats:
    nearest = np.full(len(some), np.inf)
    points = dense(coordinates(some))
    for places in blocks(len(rows), len(some) + points.shape[1]):
        gaps = cdist(points, dense(coordinates(rows[places])))
        gaps[some[:, None] == rows[places]] = np.inf
        nearest = np.minimum(nearest, gaps.min(axis=1))
    return nearest


def _borders(distances: Blocks, labels: Labels, is_first: Mask, near: float, n_clusters: int) -> list[Index]:
    """For each cluster the rows of later clusters that may be near to one of its rows."""
    found: list[tuple[Index, Index]] = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for places, away in distances:
        own = labels[places]
        reach = away[np.arange(len(own)), own] * (1 + _ROUNDING) + 2 * near
        may_be = (away[:, :n_clusters] <= reach[:, None]) & (own[:, None] > np.arange(n_clusters))
        rows, clusters = np.nonzero(may_be & is_first[places][:, None])
        found.append((rows + (places.start or 0), clusters))
    rows, clusters = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return [rows[some] for some in members_of(clusters, n_clusters)]


def _near_pairs(coordinates: Coordinates, own: Index, beside: Index, near: float, most: int) -> tuple[Index, Floats]:
    """Pairs of rows of a cluster, and of such a row and one ``beside``, and their distances."""
    rows = np.concatenate([own, beside])
    if len(own) == 0 or len(rows) < 2:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    points = coordinates(rows)
    candidates = _candidates(_on_axes(points, len(own)), len(own), near, most)
    gaps = np.empty(len(candidates))
    for places in blocks(len(candidates), points.shape[1]):
        first, second = candidates[places].T
        apart = points[first] - points[second]
        gaps[places] = np.sqrt(apart.multiply(apart).sum(axis=1) if sp.issparse(apart) else (apart**2).sum(axis=1))
    kept = gaps <= near
    return np.sort(rows[candidates[kept]], axis=1), gaps[kept]


def _candidates(places: Floats, n_own: int, near: float, most: int) -> Index:
    """Pairs of places at most ``near`` apart, of which the first is one of ``n_own``."""
    tree = cKDTree(places)
    reach = near * (1 + _ROUNDING) + _ROUNDING_OF_PRODUCTS * float(np.abs(places).max(initial=0.0))
    n_pairs = (int(tree.count_neighbors(tree, reach)) - len(places)) // 2
    if n_pairs > most:
        raise ValueError(
            f"threshold={near:g} makes pairs of too many rows: about {n_pairs} in one cluster, and at most "
            f"{_MOST_PAIRS} are kept. Give a smaller threshold."
        )
    pairs: Index = tree.query_pairs(reach, output_type="ndarray")
    own: Index = pairs[pairs.min(axis=1) < n_own]
    return own


def _on_axes(points: ArrayOrCSR, n_own: int) -> Floats:
    """Rows in the widest directions of a cluster, which are orthonormal: no two rows are farther apart there."""
    if points.shape[1] <= _AXES:
        return np.asarray(dense(points), dtype=np.float64)
    some = dense(points[: n_own : -(-n_own // _ROWS_OF_AXES)]).astype(np.float64)
    axes = np.linalg.svd(some - some.mean(axis=0), full_matrices=False)[2][:_AXES]
    return np.asarray(points @ axes.T)
