"""Evidence for clusters of a graph: against the formula written out, and against what a coder would need."""

import math

import numpy as np
import pytest
from oracles.graph import random_graph

from kfree.objectives.planted import PlantedClusters


def evidence_by_hand(A, labels, component, n_links):
    """Loops over pairs of nodes, for a matrix without loops."""
    n, d, total = len(A), A.sum(axis=1), A.sum()
    saved = rates = partition = 0.0
    seen = {"inside": 0.0, "expected": 0.0}
    for c in np.unique(labels):
        members = np.flatnonzero(labels == c)
        t = component[members[0]]
        home = np.flatnonzero(component == t)
        pairs = sum(d[i] * d[j] for i in members for j in members if i != j)
        all_pairs = sum(d[i] * d[j] for i in home for j in home if i != j)
        inside = sum(A[i, j] for i in members for j in members) / total
        expected = pairs / all_pairs * d[home].sum() / total
        saved += n_links * inside * math.log(inside / expected) if inside else 0.0
        rates += 0.5 * math.log(1 + n_links * inside)
        partition -= math.lgamma(len(members))
        seen["inside"] += inside
        seen["expected"] += expected
    between = 1 - seen["inside"]
    if between > 1e-12:
        saved += n_links * between * math.log(between / (1 - seen["expected"]))
    for t in np.unique(component):
        home = component == t
        rates -= 0.5 * math.log(1 + n_links * d[home].sum() / total)
        partition += math.lgamma(home.sum())
    assert n == len(labels)
    return saved - rates - partition


def leaving(A, labels):
    return np.array([A[labels == c][:, labels != c].sum() for c in range(labels.max() + 1)])


def test_evidence_by_hand(rng):
    A = np.zeros((20, 20))
    A[:12, :12], A[12:, 12:] = random_graph(rng, 12, weights="real"), random_graph(rng, 8, weights="real")
    component = np.repeat([0, 1], [12, 8]).astype(np.int32)
    judge = PlantedClusters(A.sum(axis=1), component, 30.0)
    for _ in range(10):
        labels = np.unique(component * 5 + rng.integers(3, size=20), return_inverse=True)[1].astype(np.int32)
        ours = judge.evidence(labels, leaving(A, labels))
        assert ours == pytest.approx(evidence_by_hand(A, labels, component, 30.0))
    assert judge.evidence(component, np.zeros(2)) == pytest.approx(0.0, abs=1e-9)


def test_true_clusters_have_more_evidence_than_halves_or_pairs_of_them(rng):
    y = np.repeat(np.arange(4), 20)
    A = np.triu(rng.random((80, 80)) < np.where(y[:, None] == y, 0.5, 0.05), 1).astype(float)
    A += A.T
    judge = PlantedClusters(A.sum(axis=1), np.zeros(80, dtype=np.int32), A.sum() / 2)
    true, halves, pairs = (labels.astype(np.int32) for labels in (y, 2 * y + np.arange(80) % 2, y // 2))
    scores = [judge.evidence(labels, leaving(A, labels)) for labels in (true, halves, pairs)]
    assert scores[0] > 100 > 0
    assert scores[0] > max(scores[1:])
