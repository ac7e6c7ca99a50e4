"""Why a row is in its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from kfree.core.printing import isolated
from kfree.explain.units import short


@dataclass(frozen=True)
class Explanation:
    """Why a row is in its cluster: a text when printed.

    Attributes
    ----------
    label : int
    name : str
        What the cluster is called.
    confidence : float
        0 half-way between two clusters, 1 at the centre.
    next : str or None
        The nearest other cluster.
    outlier_score : float
        Above 1, the row belongs to no cluster.
    features : tuple of (column, value of the row, mean of the cluster, mean of other rows), as text
        A value that is missing is "missing, filled in as" the one by which the row was compared.
    km : tuple of two floats or None
        The arcs from a place to the centres of its cluster and of the next, infinite if there is no next one.
    """

    label: int
    name: str
    confidence: float
    next: str | None
    outlier_score: float
    features: tuple[tuple[str, str, str, str], ...]
    km: tuple[float, float] | None = None

    def __str__(self) -> str:
        own, second = ("", "") if self.km is None else (f", {short(arc)} km away" for arc in self.km)
        head = f"{isolated(self.name)}{own}, confidence {self.confidence:.2f}"
        head += "" if self.next is None else f"; next is {isolated(self.next)}{second}"
        head += f"; far from all clusters (outlier score {self.outlier_score:.1f})" if self.outlier_score > 1 else ""
        told = [
            f"  {isolated(name)}: {value} (cluster {mean}, others {others})"
            for name, value, mean, others in self.features
        ]
        return "\n".join([head, *told])
