"""Which row is in which cluster, as searches know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kfree.core.cached import cached
from kfree.core.hashing import Fingerprints


@dataclass(frozen=True)
class Assignment:
    """Which row is in which of ``n_clusters`` clusters.

    ``labels`` stay with the rows, and only they look inside: an array beside them, or what labels are computed from.
    """

    labels: Any
    n_clusters: int
    compute_fingerprints: Callable[[], Fingerprints]

    @cached
    def fingerprints(self) -> Fingerprints:
        """Per cluster the sum of a hash of its rows' numbers, (k,): equal sums mean the same rows."""
        return self.compute_fingerprints()
