"""Leading eigenvectors of a neighbour graph, and the clusters that they show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from kfree.core.stats import Floats, Index
from kfree.search.judge.k_means import Clustering, lloyd

# Rounds of filtered subspace iteration, the degree of the filter, and spare vectors of the block.
_ROUNDS, _DEGREE, _SPARE = 6, 10, 8
# Where the filter starts to pass at first, and at most: eigenvalues of a graph with clusters are near one.
_FIRST_LOW, _HIGHEST_LOW = 0.3, 0.9
_LLOYD_PASSES = 10


def leading_vectors(near: Index, count: int, rng: np.random.Generator) -> Floats:
    """The ``count`` leading eigenvectors (n, count) of D^(−½)(A + Aᵀ)D^(−½), A the links of each row.

    Subspace iteration with Chebyshev filters (Zhou, Saad, Tiago & Chelikowsky 2006) on a whole block: a graph in c
    parts has c equal eigenvalues, and a Lanczos iteration from one vector misses some of them.
    """
    graph = _normalised(near)
    width = min(count + _SPARE, len(near))
    block, low = np.linalg.qr(rng.standard_normal((len(near), width)))[0], _FIRST_LOW
    for _ in range(_ROUNDS):
        block = np.linalg.qr(_filtered(graph, block, low))[0]
        values, turn = np.linalg.eigh(block.T @ (graph @ block))
        block, low = block @ turn, min(float(values[0]), _HIGHEST_LOW)
    leading: Floats = block[:, ::-1][:, :count]
    return leading


def _normalised(near: Index) -> sp.csr_matrix:
    n, m = near.shape
    links = sp.csr_matrix((np.ones(n * m), (np.repeat(np.arange(n), m), near.ravel())), (n, n))
    links = links + links.T
    scale = sp.diags(1 / np.sqrt(np.asarray(links.sum(axis=1)).ravel()))
    return (scale @ links @ scale).tocsr()


def _filtered(graph: sp.csr_matrix, block: Floats, low: float) -> Floats:
    """The Chebyshev polynomial of the graph that is at most one between −1 and ``low``, and large above."""
    half, centre = (low + 1) / 2, (low - 1) / 2
    now: Floats
    before, now = block, (graph @ block - centre * block) / half
    for _ in range(_DEGREE - 1):
        before, now = now, 2 * (graph @ now - centre * now) / half - before
    return now


def directions(vectors: Floats, k: int) -> Floats:
    """The rows of the k leading eigenvectors, of length one: the coordinates in which a graph is clustered."""
    length = np.linalg.norm(vectors[:, :k], axis=1, keepdims=True)
    unit: Floats = vectors[:, :k] / np.maximum(length, 1e-12)
    return unit


def spectral_clusterings(vectors: Floats, numbers: Sequence[int]) -> Iterator[Clustering]:
    """For each of ``numbers``: k-means on the directions of the rows in the k leading eigenvectors.

    After Ng, Jordan & Weiss (2001). The first centres are the rows that a pivoted QR decomposition picks (Damle, Minden
    & Ying 2018), so that no seeds are drawn.
    """
    for k in numbers:
        rows = directions(vectors, k)
        picked = qr(vectors[:, :k].T, pivoting=True, mode="r")[1][:k]
        yield lloyd(rows, rows[picked], unit=False, n_passes=_LLOYD_PASSES)
