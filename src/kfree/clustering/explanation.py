"""Why a row is in its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from kfree.core.printing import isolated


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
    """

    label: int
    name: str
    confidence: float
    next: str | None
    outlier_score: float
    features: tuple[tuple[str, str, str, str], ...]

    def __str__(self) -> str:
        head = f"{isolated(self.name)}, confidence {self.confidence:.2f}"
        head += "" if self.next is None else f"; next is {isolated(self.next)}"
        head += f"; far from all clusters (outlier score {self.outlier_score:.1f})" if self.outlier_score > 1 else ""
        told = [
            f"  {isolated(name)}: {value} (cluster {mean}, others {others})"
            for name, value, mean, others in self.features
        ]
        return "\n".join([head, *told])
