"""The contract of engines that assign rows by one cost function per cluster, instead of one centre.

As in ``engines/contract.py``, labels stay with the rows: a search knows them by an :class:`Assignment`, and sees
statistics and costs of clusters.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from kfree.core.assignment import Assignment
from kfree.core.rules import Rule
from kfree.core.stats import Floats, Labels

S_co = TypeVar("S_co", covariant=True)


class Members(Protocol[S_co]):
    """The rows of each cluster of an assignment."""

    def alone(self, cluster: int) -> CostRuleEngine[S_co]:
        """An engine of the rows of one cluster."""

    def divided(self, assignment: Assignment, cluster: int, side: Assignment) -> Assignment:
        """``assignment`` after rows of ``cluster`` have gone to a new cluster, the last one.

        ``side`` is an assignment of the engine of that cluster's rows to 0 and 1; rows of 1 go.
        """


class CostRuleEngine(Protocol[S_co]):
    """Rows, and passes that ask a rule what each row costs in each cluster.

    Rows may have weights > 0: statistics count a row of weight 2 as two rows.
    """

    n_rows: int
    n_features: int
    n_evaluations: int

    def assign(self, rule: Any) -> tuple[Assignment, S_co]:
        """Every row to the cluster where it costs least, the first of equals; and the statistics of the answer."""

    def stats_of(self, assignment: Assignment) -> S_co:
        """The statistics of clusters with given rows."""

    def together(self) -> Assignment:
        """All rows in one cluster."""

    def renumbered(self, assignment: Assignment, numbers: Labels, n_clusters: int) -> Assignment:
        """Cluster c becomes number ``numbers[c]`` of ``n_clusters``; several may become one."""

    def members(self, assignment: Assignment) -> Members[S_co]:
        """The rows of each cluster, for passes over single clusters."""

    def sample(self, size: int) -> CostRuleEngine[S_co]:
        """An engine of some rows, always the same ones, drawn without replacement."""

    def halved(self) -> Assignment:
        """All rows in two halves: one step of k-means from mean ± √λ·s, with s, λ the principal axis and variance."""

    def outer_half(self, rule: Rule) -> Assignment:
        """1 for the rows that cost more under a rule of one cluster than the median row does, by weight; else 0."""

    def responsibility_sums(self, rule: Rule, log_weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """See ``responsibilities.sums_over``; ``rule`` is −log p(x | c)."""

    def assignment(self, labels: Labels, n_clusters: int) -> Assignment:
        """The assignment with given labels, one per row in the order in which the rows were given."""

    def labels(self, assignment: Assignment) -> Labels:
        """The labels, one per row in the order in which the rows were given, for publishing."""
