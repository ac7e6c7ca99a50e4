"""The numbers of clusters that are tried: all small ones, then a geometric grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

# Rows per cluster at the largest number, and the ratio of consecutive numbers beyond 13.
_ROWS_PER_CLUSTER, _RATIO = 8, 1.18


def numbers_of(n_rows: int, most: int) -> list[int]:
    """Numbers of clusters that are tried: all to 13, then a geometric grid, to n / 8."""
    top = max(2, min(n_rows // _ROWS_PER_CLUSTER, most))
    numbers = list(range(2, 14))
    while numbers[-1] < top:
        numbers.append(round(numbers[-1] * _RATIO))
    return [k for k in numbers if k <= top]


def null_numbers(numbers: Sequence[int]) -> list[int]:
    """Those at which surrogates are clustered."""
    return sorted({*numbers[:3], *numbers[4::3], numbers[-1]})


def left_out_around(numbers: Sequence[int], places: Iterable[int]) -> list[int]:
    """The numbers between each of some ``numbers`` and those before and after it."""
    ends = ((numbers[max(at - 1, 0)], numbers[min(at + 1, len(numbers) - 1)]) for at in places)
    return sorted({k for low, high in ends for k in range(low, high)} - set(numbers))


def is_about(k: int, other: int) -> bool:
    """Whether no number between the two is tried."""
    return bool(abs(np.log(k / other)) <= np.log(_RATIO))
