"""The score of a partition: what the same procedure does not reach on surrogate rows.

A partition with shares p_c was found at k. ``cut`` is the share of neighbour links that it cuts, h the silhouette of
the rows in the coordinates that were clustered; with a zero, they are means over surrogates at the same k:

    links = (1 − cut / cut₀) · (1 − Σ p_c²)        clarity = 1 − (1 − h) / (1 − h₀)        score = links · clarity

Each factor is 0 for what surrogates reach and 1 for the best there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kfree.core.stats import Floats, Index
from kfree.search.judge.links import cut_share, impurity

# Added to both shares of links that are compared: differences below are chance. Columns of few values, such as yes and
# no, break the graphs of rows and of surrogates into as many parts; which of them cuts no link is chance, too.
_LEAST_CUT, _LEAST_OF_PARTS = 1e-3, 0.03


@dataclass(frozen=True)
class Measured:
    """Partitions into ``numbers`` clusters, the share of links that each cuts in each graph (m, g), and silhouettes."""

    numbers: Index
    labels: tuple[Index, ...]
    cut: Floats
    silhouette: Floats

    @classmethod
    def of(
        cls, numbers: Sequence[int], labels: Sequence[Index], silhouettes: Sequence[float], graphs: Sequence[Index]
    ) -> Measured:
        cut = np.array([[_cut(near, some) for near in graphs] for some in labels])
        return cls(np.array(numbers), tuple(labels), cut, np.array(silhouettes))

    def beside(self, other: Measured) -> Measured:
        """Partitions of both, by rising numbers."""
        order = np.argsort(np.append(self.numbers, other.numbers), kind="stable")
        labels = (*self.labels, *other.labels)
        return Measured(
            np.append(self.numbers, other.numbers)[order],
            tuple(labels[j] for j in order),
            np.vstack([self.cut, other.cut])[order],
            np.append(self.silhouette, other.silhouette)[order],
        )


def _cut(near: Index, labels: Index) -> float:
    return cut_share(near, labels) if labels.max() else 1.0


@dataclass(frozen=True)
class Null:
    """Means of cut shares and silhouettes over surrogates, for any k: linear in log k between ``numbers``.

    ``least`` is added to both cut shares that are compared.
    """

    numbers: Index
    cut: Floats
    silhouette: Floats
    least: float

    @classmethod
    def of(cls, surrogates: Sequence[Measured], in_parts: bool = False) -> Null:
        """``in_parts``: columns of few values break the graphs of surrogates into parts."""
        cut = np.mean([one.cut for one in surrogates], axis=0)
        silhouette = np.mean([one.silhouette for one in surrogates], axis=0)
        return cls(surrogates[0].numbers, cut, silhouette, _LEAST_OF_PARTS if in_parts else _LEAST_CUT)

    def with_silhouette_of(self, other: Measured) -> Null:
        """The higher silhouette of this and of partitions into the same numbers."""
        return replace(self, silhouette=np.maximum(self.silhouette, other.silhouette))

    def cut_at(self, k: Index | int) -> Floats:
        columns = [self._at(k, self.cut[:, g]) for g in range(self.cut.shape[1])]
        return np.stack(columns, axis=-1)

    def silhouette_at(self, k: Index | int) -> Floats:
        return self._at(k, self.silhouette)

    def _at(self, k: Index | int, values: Floats) -> Floats:
        return np.asarray(np.interp(np.log(k), np.log(self.numbers), values))


def share_avoided(cut: Floats, expected: Floats, least: float) -> Floats:
    """The share of the links cut in surrogates that is not cut (…), in the graph (…, g) where it is largest."""
    share: Floats = (1 - (cut + least) / (expected + least)).max(axis=-1)
    return share


@dataclass(frozen=True)
class Scores:
    """Links that are avoided, links, clarity and score of measured partitions."""

    avoided: Floats
    links: Floats
    clarity: Floats

    @classmethod
    def of(cls, measured: Measured, null: Null, fewest_rows: int) -> Scores:
        """Partitions with a cluster of fewer than ``fewest_rows``, or with one cluster, have no links."""
        avoided = share_avoided(measured.cut, null.cut_at(measured.numbers), null.least)
        impurities = np.array([impurity(labels) for labels in measured.labels])
        fit = np.array([np.bincount(labels).min() >= fewest_rows and labels.max() > 0 for labels in measured.labels])
        expected = null.silhouette_at(measured.numbers)
        clarity = (measured.silhouette - expected) / np.maximum(1 - expected, 1e-9)
        return cls(avoided, np.where(fit, avoided * impurities, 0.0), np.maximum(clarity, 0.0))

    @property
    def score(self) -> Floats:
        return np.maximum(self.links, 0.0) * self.clarity
