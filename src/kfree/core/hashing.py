"""Hashes of row numbers, for fingerprints of clusters and for samples that do not depend on where rows are cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kfree.core.blocks import row_blocks

# Numbers that are hashed at a time.
_AT_ONCE = 1 << 16

Fingerprints = NDArray[np.uint64]


def hashed(begin: int, end: int, seed: int = 0) -> NDArray[np.uint64]:
    """A hash of each of the numbers ``begin`` … ``end`` − 1: the output function of SplitMix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        z = np.arange(begin, end, dtype=np.uint64) + np.uint64(1 + (seed << 32 & 0xFFFFFFFF00000000))
        z *= np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def fingerprints(labels: NDArray[np.int32], begin: int, n_clusters: int) -> Fingerprints:
    """Per cluster the sum, modulo 2^64, of the hashes of its rows' numbers; the rows are ``begin``, ``begin`` + 1, …

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.core.hashing import fingerprints, hashed
    >>> bool(fingerprints(np.array([0, 1, 1], dtype=np.int32), 5, 2)[0] == hashed(5, 6)[0])
    True
    """
    found = np.zeros(n_clusters, dtype=np.uint64)
    for block in row_blocks(len(labels), _AT_ONCE):
        np.add.at(found, labels[block], hashed(begin + block.start, begin + block.stop))
    return found
