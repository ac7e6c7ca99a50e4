"""Clusters of any shape, known by some of their rows: a row belongs where most of its nearest known rows do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.spatial.distance import cdist

from kfree.core.blocks import blocks
from kfree.core.fields import NumberOfClusters
from kfree.core.marks import FINITE, Below, Shape
from kfree.core.stats import Floats, Labels
from kfree.explain.spread import FALSE_ALARMS, NeighbourSpreads, outlier_scores_of
from kfree.explain.view import Blocks, View, view_by_distances
from kfree.models.embedding import spreads_of, to_neighbours

# Known rows that vote for the cluster of a row, each with the inverse of its distance.
_VOTERS = 5


@dataclass(frozen=True)
class NeighbourVote:
    """``rows`` (m, d) with ``labels`` 0 … ``n_clusters`` − 1 stand for their clusters."""

    rows: Annotated[Floats, Shape("known", "ready"), FINITE]
    labels: Annotated[Labels, Shape("known"), Below("k")]
    n_clusters: NumberOfClusters
    spreads: NeighbourSpreads

    @classmethod
    def of(cls, rows: Floats, labels: Labels) -> NeighbourVote:
        n_clusters = int(labels.max()) + 1
        return cls(rows, labels, n_clusters, spreads_of(rows, labels, n_clusters))

    @property
    def n_features_in_(self) -> int:
        return int(self.rows.shape[1])

    def predict(self, rows: Floats) -> Labels:
        """The cluster with most votes, the first on ties; a row at known rows belongs to theirs."""
        labels = np.empty(len(rows), dtype=np.int32)
        voters = min(_VOTERS, len(self.rows))
        for places in blocks(len(rows), len(self.rows)):
            distances = cdist(rows[places], self.rows)
            near = np.argsort(distances, axis=1, kind="stable")[:, :voters]
            dist = np.take_along_axis(distances, near, axis=1)
            is_here = dist == 0
            weight = np.where(is_here.any(axis=1, keepdims=True), is_here, 1 / np.where(is_here, 1.0, dist))
            votes = np.zeros((len(dist), self.n_clusters))
            np.add.at(votes, (np.arange(len(dist))[:, None], self.labels[near]), weight)
            labels[places] = votes.argmax(axis=1)
        return labels

    def outlier_score(self, rows: Floats, false_alarms: float = FALSE_ALARMS) -> Floats:
        """The distance to the fifth neighbour in a cluster over the usual one there, the least over the clusters."""
        scores: Floats = outlier_scores_of(self._distances(rows), self.spreads.limits(false_alarms))
        return scores

    def _distances(self, rows: Floats) -> Blocks:
        return to_neighbours(rows, self.rows, self.labels, self.n_clusters)

    def _view(self, rows: Floats) -> View:
        means = np.array([self.rows[self.labels == c].mean(axis=0) for c in range(self.n_clusters)])
        told = "Euclidean distance to the fifth neighbour in the cluster"
        return view_by_distances(self._distances(rows), self.predict(rows), means, distance=told)
