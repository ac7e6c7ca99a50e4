"""Rows a few at a time."""

from __future__ import annotations

from collections.abc import Iterator


def row_blocks(n_rows: int, at_once: int) -> Iterator[slice]:
    """Places of ``n_rows`` rows, ``at_once`` at a time, so that what is made for each row takes little memory.

    Examples
    --------
    >>> list(row_blocks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for begin in range(0, n_rows, at_once):
        yield slice(begin, min(begin + at_once, n_rows))
