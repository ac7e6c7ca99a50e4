"""Rows a block at a time, so that what is computed for each row takes little memory."""

from __future__ import annotations

from collections.abc import Iterator

# Bytes of a block of float64.
BLOCK_BYTES = 1 << 24


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows a few at a time, so that a block of as many columns is small."""
    at_once = max(1, BLOCK_BYTES // (8 * n_columns))
    for begin in range(0, n_rows, at_once):
        yield slice(begin, min(begin + at_once, n_rows))
