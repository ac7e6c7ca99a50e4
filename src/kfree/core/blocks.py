"""Rows a few at a time, so that what is made for each row takes little memory."""

from __future__ import annotations

from collections.abc import Iterator

# Bytes of a block of float64.
BLOCK_BYTES = 1 << 24


def row_blocks(n_rows: int, at_once: int) -> Iterator[slice]:
    """Places of ``n_rows`` rows, ``at_once`` at a time.

    Examples
    --------
    >>> list(row_blocks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for begin in range(0, n_rows, at_once):
        yield slice(begin, min(begin + at_once, n_rows))


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Places of ``n_rows`` rows of ``n_columns`` numbers each, as many at a time as a small block holds."""
    return row_blocks(n_rows, max(1, BLOCK_BYTES // (8 * n_columns)))
