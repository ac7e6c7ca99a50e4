"""Whether the first record of a text table holds names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kfree.files.numbers import is_gap, is_number

# A column of decimals has so many, at least, below a whole number that is no value.
_FEWEST_DECIMALS = 5
# Years from one column to the next, where they go up or down evenly.
_LONGEST_STEP = 10
_PLAIN = re.compile(r"0|[1-9]\d{0,3}")


def holds_names(rows: Sequence[Sequence[str]], decimal: str = ".") -> tuple[bool, bool]:
    """Whether the first record holds names, and whether that is sure.

    It does if no number stands where others are numbers and, without such columns, if no cell comes again. Numbers are
    names, too, where they are years or plain whole numbers that the columns below them do not hold; that is not sure.
    """
    names, body = rows[0], rows[1:]
    # A name such as "inf" is a word: infinite values are seldom the first of their column.
    are_numbers = [is_number(name, decimal) and any(map(str.isdigit, name)) for name in names]
    if not body:
        return not any(are_numbers), True
    below = [[row[j] for row in body if len(row) > j and not is_gap(row[j])] for j in range(len(names))]
    numeric = [j for j, cells in enumerate(below) if cells and all(is_number(cell, decimal) for cell in cells)]
    if not numeric:
        again = {cell for row in body for cell in row}
        return not any(cell in again for cell in names if cell), True
    above = [_Number.above(names[j], below[j], decimal) for j in numeric if are_numbers[j]]
    if not above:
        return True, True
    are_plain = all(one.is_plain for one in above) and len({one.text for one in above}) == len(above)
    are_years = are_plain and all(one.is_year_among_others for one in above)
    has_words = any(_is_new_word(names[j], below[j], decimal, j in numeric) for j in range(len(names)))
    # Several columns, or a word, since the first number of one column may be a year, or whole, by chance.
    if has_words or len(above) > 1:
        if are_plain and all(one.is_above_decimals for one in above):
            return True, False
        if are_years and all(one.is_above_decimals or one.is_outside for one in above):
            return True, False
    if are_years and _step_evenly(above) and (has_words or len(above) > 2):
        return True, False
    return False, not (are_years or has_words)


@dataclass(frozen=True)
class _Number:
    """A number in the first record, and the numbers in the column below it."""

    text: str
    value: float
    below: list[float]
    is_above_decimals: bool

    @classmethod
    def above(cls, name: str, cells: list[str], decimal: str) -> _Number:
        value, *below = (float(cell.replace(decimal, ".")) for cell in (name, *cells))
        n_decimals = sum(decimal in cell for cell in cells)
        return cls(name.strip(), value, below, _FEWEST_DECIMALS <= len(cells) == n_decimals)

    @property
    def is_plain(self) -> bool:
        return _PLAIN.fullmatch(self.text) is not None

    @property
    def is_year_among_others(self) -> bool:
        """Whether it is a year, and most numbers below are none."""
        return _is_year(self.value) and 2 * sum(map(_is_year, self.below)) < len(self.below)

    @property
    def is_outside(self) -> bool:
        return not min(self.below) <= self.value <= max(self.below)


def _is_year(number: float) -> bool:
    return 1900 <= number <= 2099 and number == int(number)


def _step_evenly(years: list[_Number]) -> bool:
    """Whether several years go up or down by the same few years from column to column."""
    steps = {after.value - before.value for before, after in pairwise(years)}
    return len(steps) == 1 and abs(min(steps)) <= _LONGEST_STEP


def _is_new_word(name: str, cells: Sequence[str], decimal: str, above_numbers: bool) -> bool:
    """Whether a cell is a word above numbers, or above words that come again while it does not."""
    if is_gap(name.strip()) or is_number(name, decimal):
        return False
    return above_numbers or (name not in cells and 2 * len(set(cells)) <= len(cells))
