"""Sums over clusters in a kernel's feature space, updated for rows that have changed clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kfree.core.stats import Floats, Index, Labels
from kfree.engines.kernel.gram import Gram

NOWHERE = -1
# Sums are updated by subtraction only if at least this share of the weight stays; otherwise rounding errors dominate.
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class CachedSums:
    """``sums`` (k, n) of weighted kernel rows over clusters ``labels``; ``n_corrected`` rows were added or taken away.

    ``largest_weight`` (k,) is the most that each sum has held, which says how large its rounding errors may be.
    """

    labels: Labels
    sums: Floats
    largest_weight: Floats
    n_corrected: int = 0


@dataclass(frozen=True)
class SumUpdate:
    """How to get sums from ``cached`` ones: each old cluster goes to ``successor`` (k,), and ``rows`` are corrected."""

    cached: CachedSums
    successor: Index
    rows: Index
    largest_weight: Floats

    @property
    def n_corrected(self) -> int:
        """Number of rows corrected since the sums were last computed in full."""
        return self.cached.n_corrected + len(self.rows)


class KernelSums:
    """Σ_{i∈c} w_i·κ(x_i, ·) for clusters c of the rows in ``index``, (k, n).

    Two results are cached: of passes over all rows, and of lists of rows. A split then costs the kernel rows of the
    smaller half, a merge none.
    """

    def __init__(self, gram: Gram, index: Index, weight: Floats):
        self._gram, self._index, self._weight = gram, index, weight
        self._cached: dict[str, CachedSums] = {}

    def of(self, labels: Labels, n_clusters: int, cache_name: str) -> Floats:
        """Sums for ``labels`` (m,), where some rows may be ``NOWHERE``; ``cache_name`` is where they are kept."""
        listed = np.flatnonzero(labels != NOWHERE)
        total = np.bincount(labels[listed], self._weight[listed], n_clusters).astype(np.float64)
        updates = [update_from(cached, labels, total) for cached in self._cached.values()]
        # Rounding errors accumulate, so the sums are recomputed after as many updates as that takes.
        updates = [update for update in updates if update.n_corrected < len(listed)]
        if updates:
            update = min(updates, key=lambda update: len(update.rows))
            sums = self._updated(update, labels, n_clusters)
            cached = CachedSums(labels.copy(), sums, update.largest_weight, update.n_corrected)
        else:
            sums = self.weighted(listed, labels[listed], self._weight[listed], n_clusters)
            cached = CachedSums(labels.copy(), sums, total)
        self._cached[cache_name] = cached
        return sums

    def weighted(self, rows: Index, labels: Labels, weight: Floats, n_clusters: int) -> Floats:
        """Sums for listed rows with weights of their own, which are not cached."""
        factors = sp.csr_array((weight, (labels, np.arange(len(rows)))), shape=(n_clusters, len(rows)))
        return self._gram.combined(factors, self._index[rows])

    def _updated(self, update: SumUpdate, labels: Labels, n_clusters: int) -> Floats:
        old, successor, rows = update.cached, update.successor, update.rows
        kept = np.flatnonzero(successor != NOWHERE)
        taken_over = sp.csr_array((np.ones(len(kept)), (successor[kept], kept)), shape=(n_clusters, len(successor)))
        came = labels[rows] != NOWHERE
        left = successor_of(successor, old.labels[rows]) != NOWHERE
        places = np.concatenate([labels[rows][came], successor_of(successor, old.labels[rows])[left]])
        columns = np.concatenate([np.flatnonzero(came), np.flatnonzero(left)])
        signed = np.concatenate([self._weight[rows][came], -self._weight[rows][left]])
        factors = sp.csr_array((signed, (places, columns)), shape=(n_clusters, len(rows)))
        sums: Floats = taken_over @ old.sums
        return sums + self._gram.combined(factors, self._index[rows]) if len(rows) else sums


def update_from(cached: CachedSums, labels: Labels, total: Floats) -> SumUpdate:
    """Each old cluster goes over to the new one that holds most of its rows, or nowhere if none holds any.

    ``total`` (k,) is the weight of the new clusters; those that keep too little of what they take over begin anew.
    """
    both = (cached.labels != NOWHERE) & (labels != NOWHERE)
    ones, shape = np.ones(int(both.sum())), (len(cached.sums), len(total))
    overlap = sp.csr_array((ones, (cached.labels[both], labels[both])), shape=shape)
    most = np.asarray(overlap.argmax(axis=1)).ravel()  # SciPy before 1.14 returns a column
    successor = np.where(overlap.sum(axis=1) > 0, most, NOWHERE)
    kept = successor != NOWHERE
    taken_over = np.bincount(successor[kept], cached.largest_weight[kept], len(total)).astype(np.float64)
    keeps_enough = total >= LEAST_SHARE * taken_over
    successor = np.where(kept & keeps_enough[successor], successor, NOWHERE)
    rows = np.flatnonzero(successor_of(successor, cached.labels) != labels)
    return SumUpdate(cached, successor, rows, np.maximum(total, np.where(keeps_enough, taken_over, 0.0)))


def successor_of(successor: Index, labels: Labels) -> Index:
    return np.where(labels == NOWHERE, NOWHERE, successor[labels])
