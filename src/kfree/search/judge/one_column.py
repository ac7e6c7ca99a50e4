"""The judge for one column, where clusters are intervals and rows between two of them are few.

Each row of one column has about as many neighbours on either side, so that any cut cuts about as many links. Instead of
links, rows are counted half-way between two adjacent centres, in three windows of equal width: a density of one mode
has at least as many there as around one of the centres, however skewed it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kfree.core.stats import Floats, Index
from kfree.search.judge.choose import BY_CENTRES, ROUND, Candidate, Judgement
from kfree.search.judge.k_means import Clustering, KMeansByMerging
from kfree.search.judge.links import impurity
from kfree.search.judge.numbers import numbers_of
from kfree.search.judge.rows import dithered
from kfree.search.judge.scores import Scores
from kfree.search.judge.silhouette import silhouette
from kfree.search.judge.surrogates import GaussianCopula

# Standard deviations by which rows must be too few: in all valleys together, and in each of them.
_EVIDENCE, _WEAKEST = 2.15, 0.75
# Surrogates, and the most clusters that are looked for.
_N_SURROGATES, _MOST = 3, 57
# Rows that a cluster has at least.
_FEWEST_PER_CLUSTER = 3


class ColumnJudge:
    """The rows of one column, and what is found in its surrogates."""

    def __init__(self, rows: Floats, rng: np.random.Generator):
        self.rows, self.rng = dithered(rows, rng), rng
        self.numbers = numbers_of(len(rows), _MOST)
        source = GaussianCopula.of(self.rows)
        drawn = [Intervals.of(source.draw(rng), self.numbers) for _ in range(_N_SURROGATES)]
        self.silhouette = np.mean([one.silhouette for one in drawn], axis=0)
        # Centres avoid rows, the more the fewer rows they have, so that there are valleys in any rows.
        self.evidence = np.maximum(np.mean([one.evidence for one in drawn], axis=0), 0.0)

    def judge(self) -> Judgement:
        """The number of clusters with the highest score; None if none has valleys."""
        found, scores = self._scored(self.rows)
        at = int(scores.score.argmax())
        values = (scores.avoided, scores.links, scores.clarity, scores.score)
        avoided, links, clarity, score = (float(some[at]) for some in values)
        best = Candidate(ROUND, len(found[at].centres), avoided, links, clarity, score, found[at].labels)
        curves = {BY_CENTRES: (np.array(self.numbers), scores)}
        if not best.score:
            why = "between two clusters there are not fewer rows than one cluster may have"
            return Judgement(None, (replace(best, why_not=why),), 0.0, 0.0, curves)
        return Judgement(best, (best,), best.score, 0.0, curves)

    def labels_of(self, some: Index) -> Index:
        """Labels that ``judge`` finds on some of the rows; zeros without valleys."""
        found, scores = self._scored(self.rows[some])
        best = int(scores.score.argmax())
        return found[best].labels if scores.score[best] else np.zeros(len(some), dtype=np.int64)

    def _scored(self, rows: Floats) -> tuple[tuple[Clustering, ...], Scores]:
        """K-means for each number that the rows allow. Valleys take the place of links."""
        found = Intervals.of(rows, [k for k in self.numbers if k in numbers_of(len(rows), _MOST)])
        tested = slice(len(found.clusters))
        seen = (found.evidence - self.evidence[tested] >= _EVIDENCE) & (found.weakest >= _WEAKEST)
        impurities = np.array([impurity(one.labels) for one in found.clusters])
        expected = self.silhouette[tested]
        clarity = (found.silhouette - expected) / np.maximum(1 - expected, 1e-9)
        links = np.where(seen, found.avoided * impurities, 0.0)
        return found.clusters, Scores(found.avoided, links, np.maximum(clarity, 0))


@dataclass(frozen=True)
class Intervals:
    """K-means of a column for some numbers of clusters, its silhouettes, and the valleys between adjacent centres.

    ``avoided`` is the share of the rows that a density of one mode has between centres, and these rows have not;
    ``evidence`` says how many standard deviations that is, ``weakest`` the same of the shallowest valley.
    """

    clusters: tuple[Clustering, ...]
    silhouette: Floats
    avoided: Floats
    evidence: Floats
    weakest: Floats

    @classmethod
    def of(cls, rows: Floats, numbers: Sequence[int]) -> Intervals:
        found = tuple(KMeansByMerging(rows, unit=False).at(numbers))
        clear = np.array([silhouette(rows.astype(np.float32), one.centres) for one in found])
        values = np.sort(rows[:, 0])
        return cls(found, clear, *np.array([_valleys(values, one) for one in found]).T)


def _valleys(values: Floats, found: Clustering) -> tuple[float, float, float]:
    """Avoided share, evidence and weakest evidence; nothing is seen between clusters of very few rows."""
    if len(found.centres) < 2 or np.bincount(found.labels).min() < _FEWEST_PER_CLUSTER:
        return 0.0, 0.0, 0.0
    centres = np.sort(found.centres[:, 0].astype(np.float64))
    reach = np.diff(centres) / 6

    def around(place: Floats) -> Index:
        return np.searchsorted(values, place + reach, side="right") - np.searchsorted(values, place - reach)

    peak, middle = np.minimum(around(centres[:-1]), around(centres[1:])), around((centres[:-1] + centres[1:]) / 2)
    missing, variance = peak - middle, np.maximum(peak + middle, 1)
    avoided = missing.sum() / max(peak.sum(), 1)
    return float(avoided), float(missing.sum() / np.sqrt(variance.sum())), float((missing / np.sqrt(variance)).min())
