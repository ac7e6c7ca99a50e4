"""Whether every pass reads the same rows: digests of some rows of each chunk."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from kfree.files.chunks import Chunk

# CRC-32 of some rows, by the first row of a chunk and the number of its rows.
Digests: TypeAlias = Mapping[tuple[int, int], int]
# Rows of a chunk that are in its digest: so few that they cost nothing.
_SOME = 8


class Repeats:
    """What passes have read so far; a chunk that differs from what a pass before read of it is an error."""

    def __init__(self) -> None:
        self.digests: dict[tuple[int, int], int] = {}

    def see(self, chunk: Chunk) -> None:
        """Compare a chunk with the same one of earlier passes. Sparse rows are in memory, and are not compared."""
        if chunk.X.shape[0] and not sp.issparse(chunk.X):
            self.compare({(chunk.begin, len(chunk.X)): digest(chunk)})

    def compare(self, found: Digests) -> None:
        """Compare digests of chunks, which may have been made elsewhere, with those of earlier passes."""
        for (begin, n_rows), value in found.items():
            if self.digests.setdefault((begin, n_rows), value) != value:
                raise ValueError(
                    f"rows {begin} to {begin + n_rows - 1} of X are not those that an earlier pass of this fit read. "
                    "Do not change files during a fit; call persist() on a Dask collection whose chunks are drawn at "
                    "random or change from one computation to the next."
                )


def digest(chunk: Chunk) -> int:
    """The CRC-32 of some rows, spread over a chunk, and of their weights."""
    some = np.linspace(0, len(chunk.X) - 1, min(_SOME, len(chunk.X))).astype(np.int64)
    value = zlib.crc32(np.ascontiguousarray(chunk.X[some]).tobytes())
    return value if chunk.weight is None else zlib.crc32(np.ascontiguousarray(chunk.weight[some]).tobytes(), value)
