"""Leading eigenvectors of a neighbour graph, and the clusters that they show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr

from kfree.core.stats import Floats, Index
from kfree.search.judge.k_means import Clustering, lloyd

# Rounds of filtered subspace iteration, the degree of the filter, and spare vectors of the block.
_ROUNDS, _DEGREE, _SPARE = 6, 10, 8
# Where the filter starts to pass at first, and at most: eigenvalues of a graph with clusters are near one.
_FIRST_LOW, _HIGHEST_LOW = 0.3, 0.9
_LLOYD_PASSES = 10
# Share of its trace that is added to the diagonal of a Gram matrix.
_SHIFT = 1e-13


def leading_vectors(near: Index, count: int, rng: np.random.Generator) -> Floats:
    """The ``count`` leading eigenvectors (n, count) of D^(−½)(A + Aᵀ)D^(−½), A the links of each row.

    Subspace iteration with Chebyshev filters (Zhou, Saad, Tiago & Chelikowsky 2006) on a whole block: a graph in c
    parts has c equal eigenvalues, and a Lanczos iteration from one vector misses some of them.
    """
    graph = _normalised(near)
    width = min(count + _SPARE, len(near))
    block, low = rng.standard_normal((len(near), width)), _FIRST_LOW
    for _ in range(_ROUNDS):
        block = _filtered(graph, block, low)
        values, turn = _ritz(graph, block)
        block, low = block @ turn, min(float(values[0]), _HIGHEST_LOW)
    leading: Floats = block[:, ::-1][:, :count]
    return leading


def _ritz(graph: sp.csr_matrix, block: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of the graph within the span of a block, rising, and what turns the block into eigenvectors.

    From Gram matrices, which take a quarter of the time of an orthonormal basis. The filter makes some directions of
    the block very short; a small multiple of the identity keeps their Gram matrix positive.
    """
    gram = block.T @ block
    gram.flat[:: len(gram) + 1] += _SHIFT * gram.trace()
    values, turn = eigh(block.T @ (graph @ block), gram, check_finite=False)
    return values, turn


def _normalised(near: Index) -> sp.csr_matrix:
    n, m = near.shape
    links = sp.csr_matrix((np.ones(n * m), (np.repeat(np.arange(n), m), near.ravel())), (n, n))
    links = links + links.T
    scale = sp.diags(1 / np.sqrt(np.asarray(links.sum(axis=1)).ravel()))
    return (scale @ links @ scale).tocsr()


def _filtered(graph: sp.csr_matrix, block: Floats, low: float) -> Floats:
    """The Chebyshev polynomial of the graph that is at most one between −1 and ``low``, and large above."""
    half, centre = (low + 1) / 2, (low - 1) / 2
    scaled = ((graph - centre * sp.identity(len(block), format="csr")) / half).tocsr()
    twice = 2 * scaled
    before, now = block, scaled @ block
    for _ in range(_DEGREE - 1):
        after = twice @ now
        after -= before
        before, now = now, after
    filtered: Floats = now
    return filtered


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
