"""K-means for many numbers of clusters at once: cuts of Ward's tree, then some iterations of Lloyd's algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kfree.core.stats import Index
from kfree.search.agglomerate import Merges
from kfree.search.judge.surrogates import Reals, unit_rows

_LLOYD_PASSES = 4


class Clustering(NamedTuple):
    """Labels 0 … k − 1 of the rows, and the centres."""

    labels: Index
    centres: Reals


class KMeansByMerging:
    """K-means of rows for any number of clusters; centres are unit vectors if ``unit``."""

    def __init__(self, rows: Reals, unit: bool):
        centred = np.asarray(rows - rows.mean(axis=0), dtype=np.float64)
        self.tree = Merges.by_gram(np.ones(len(rows)), centred @ centred.T, False, "native")
        self.unit = unit
        self.rows = np.ascontiguousarray(rows, dtype=np.float32)

    def at(self, numbers: Sequence[int]) -> Iterator[Clustering]:
        """One clustering for each of ``numbers``, which rise."""
        for labels in self.tree.cuts(numbers):
            yield lloyd(self.rows, means(self.rows, labels), self.unit)


def lloyd(rows: Reals, centres: Reals, unit: bool, n_passes: int = _LLOYD_PASSES) -> Clustering:
    """Some iterations from given centres; a cluster that loses its rows is dropped."""
    labels = None
    for _ in range(n_passes):
        centres = unit_rows(centres) if unit else centres
        found = nearest(rows, centres)
        if not np.bincount(found, minlength=len(centres)).all():
            found = np.unique(found, return_inverse=True)[1]
        if labels is not None and np.array_equal(found, labels):
            break
        labels = found
        centres = means(rows, labels)
    assert labels is not None
    return Clustering(labels, unit_rows(centres) if unit else centres)


def nearest(rows: Reals, centres: Reals) -> Index:
    """The nearest centre of each row, the first on ties."""
    found: Index = (rows @ centres.T - np.einsum("ij,ij->i", centres, centres) / 2).argmax(axis=1)
    return found


def means(rows: Any, labels: Index) -> Reals:
    """The mean of each cluster of dense or sparse rows."""
    n, size = rows.shape[0], np.bincount(labels)
    member = sp.csc_array((np.ones(n, rows.dtype), labels, np.arange(n + 1)), (len(size), n))
    total = member @ rows
    mean: Reals = (total.toarray() if sp.issparse(total) else total) / size[:, None].astype(rows.dtype)
    return mean
