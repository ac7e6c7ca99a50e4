"""A full tree of merges by free energy, and where to cut it (Kurihara & Welling 2009, §7)."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import numpy as np

from kfree.core.cached import cached
from kfree.core.fields import Count
from kfree.core.marks import Shape
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.cost_rules.labelled import LabelledRows
from kfree.native.implementations import implementation
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.merging import merging_of
from kfree.search.agglomerate import Merges
from kfree.search.evidence.hard_labels import Update, clustering_by, one_cluster


@dataclass(frozen=True)
class Tree:
    """All merges from single rows to one cluster, and the free energy (n,) after 0, 1, … of them.

    ``n_pairs`` is the number of pairs evaluated.
    """

    merges: Merges
    free_energies: Annotated[Floats, Shape("n")]
    n_pairs: Count

    @property
    def deltas(self) -> Floats:
        """What each merge added to the free energy; may be negative and need not rise."""
        return np.diff(self.free_energies)

    @property
    def best_k(self) -> int:
        """The number of clusters with the lowest free energy, the smallest on ties."""
        return self.fewest_clusters(float(self.free_energies.min()))

    def fewest_clusters(self, free_energy: float) -> int:
        """The smallest number of clusters whose free energy is no more than this."""
        return self.merges.n_start - int(np.flatnonzero(self.free_energies <= free_energy)[-1])

    @cached
    def linkage(self) -> Floats:
        """The tree as SciPy has it: in row t the two nodes that became node n + t, a height, and the number of rows.

        SciPy requires non-negative heights that never fall. They are the running maximum of delta − smallest delta.
        """
        n_rows = self.merges.n_start
        linkage = np.empty((n_rows - 1, 4))
        node, size = np.arange(n_rows), np.ones(n_rows)
        for t, (a, b) in enumerate(self.merges.pairs):
            size[a] += size[b]
            linkage[t] = min(node[a], node[b]), max(node[a], node[b]), 0, size[a]
            node[a] = n_rows + t
        if n_rows > 1:
            linkage[:, 2] = np.maximum.accumulate(self.deltas - self.deltas.min())
        return linkage


def merging_passes(engine: str) -> ModuleType:
    """The implementation of merging: compiled code, or the reference implementation."""
    return implementation(engine, "trees")


def grow(
    X: ArrayOrCSR,
    rows: LabelledRows[Any],
    objective: FreeEnergy[Any],
    passes: ModuleType,
    conga: bool,
    n_threads: int,
) -> Tree:
    """Merge the cheapest pair, the smallest one on ties, until all rows are together.

    ``X`` are the ``rows``, in their given order. ``conga`` finds pairs by Eppstein's conga lines, which gives
    the same tree.
    """
    n_rows = X.shape[0]
    name, arguments = merging_of(X, objective)
    pairs: Index = np.empty((n_rows - 1, 2), dtype=np.int64)
    costs = np.empty(n_rows - 1)
    n_pairs = getattr(passes, name)(**arguments, pairs=pairs, cost=costs, conga=conga, n_threads=n_threads)
    merges = Merges(n_rows, pairs, costs)
    together = one_cluster(rows, objective).cost
    shared = np.array([objective.shared_term(n_rows, n_rows - t) for t in range(n_rows)])
    # From the end back, where the free energy of a single cluster is cheap to compute.
    clusters = merges.costs_by_k(together - shared[-1] - costs.sum())[::-1]
    return Tree(merges, clusters + shared, n_pairs)


class Refinement(NamedTuple):
    """A cut after updates: labels, their number, the free energy, and how much of it was gained over the cut."""

    labels: Labels
    n_clusters: int
    free_energy: float
    gained: float


def refined(labels: Labels, rows: LabelledRows[Any], objective: FreeEnergy[Any]) -> Refinement:
    """Update labels and posteriors in turn, as Bayesian k-means does, as long as the free energy falls."""
    before = clustering_by(rows.assignment(labels, int(labels.max()) + 1), rows, objective)
    after = Update()(before, rows, objective)
    return Refinement(rows.labels(after.assignment), after.n_clusters, after.cost, before.cost - after.cost)
