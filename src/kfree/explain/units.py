"""Values of a column as a reader knows them: how numbers, shares, dates and times are written."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Annotated

from kfree.core.marks import OPTIONAL
from kfree.core.printing import isolated

NUMBER, SHARE, DATE, TIME, SECONDS, RANK = "number", "share", "date", "time of day", "seconds", "rank"
UNITS = (NUMBER, SHARE, DATE, TIME, SECONDS, RANK)

# What is written for NaN.
NOTHING = "–"
DAYS_A_YEAR = 365.2425
# Numbers beyond these are written with an exponent.
MOST_DECIMALS, _LARGEST = 9, 1e15
# Columns of dates that vary less are written with the time of day.
_A_FEW_DAYS = 3 / DAYS_A_YEAR
# A mean of ranks is called by one level if it is so close to its rank, else by two.
_CLOSE = 0.25
# Means of zeros and ones are 0 or 1 but for this.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Unit:
    """What the values of a column are, and how many decimals are worth showing.

    ``kind`` is one of ``UNITS``. A date is a number of years, such as 2024.5; a time of day counts seconds; a rank
    counts ``levels`` from 0.
    """

    kind: str = NUMBER
    decimals: int = 2
    levels: Annotated[tuple[str, ...], OPTIONAL] = ()

    @classmethod
    def of(cls, kind: str, deviation: float, largest: float, levels: tuple[str, ...] = ()) -> Unit:
        """The unit of values with this standard deviation, of which two digits are shown; ``largest`` if it is zero."""
        if levels:
            return cls(kind, levels=levels)
        if kind == DATE:
            return cls(kind, 0 if deviation == 0 or deviation > _A_FEW_DAYS else 1)
        scale = deviation if deviation > 0 else largest
        usable = scale > 0 and math.isfinite(scale)
        return cls(kind, max(0, 1 - math.floor(math.log10(scale))) if usable else 0)

    def text(self, value: float) -> str:
        """A value as text."""
        if not math.isfinite(value):
            return NOTHING if math.isnan(value) else f"{value:g}".replace("inf", "∞").replace("-", "−")
        if self.kind == SHARE:
            return percent(value)
        if self.kind == DATE:
            return _date(value, with_time=self.decimals > 0)
        if self.kind == TIME:
            return f"{int(value // 3600):02d}:{int(value % 3600 // 60):02d}"
        if self.levels:
            return self._level(value)
        return self._number(value) + (" s" if self.kind == SECONDS else "")

    def _level(self, rank: float) -> str:
        """The level of a rank, or both levels that a mean of ranks is between."""
        rank = min(max(rank, 0), len(self.levels) - 1)
        low, high = math.floor(rank + _CLOSE), math.ceil(rank - _CLOSE)
        return " to ".join(isolated(self.levels[place]) for place in dict.fromkeys([low, high]))

    def _number(self, value: float) -> str:
        if abs(value) >= _LARGEST or self.decimals > MOST_DECIMALS:
            return f"{value:.3g}".replace("-", "−")
        rounded = round(value, self.decimals) + 0.0  # no minus before a zero
        return f"{rounded:,.{self.decimals}f}".replace("-", "−")


def percent(share: float, decimals: int = 0) -> str:
    """A share as text: 0 % is none and 100 % is all, and what is nearly that is below or above a limit.

    Examples
    --------
    >>> from kfree.explain.units import percent
    >>> percent(1.0), percent(0.998), percent(0.125), percent(0.0001, decimals=1)
    ('100 %', '>99 %', '13 %', '<0.1 %')
    """
    steps = 100 * 10**decimals
    rounded = math.floor(steps * share + 0.5 + steps * _ROUNDING)  # a half goes up, as on the report page
    if rounded <= 0 and share > _ROUNDING:
        return f"<{10**-decimals:.{decimals}f} %"
    if rounded >= steps and share < 1 - _ROUNDING:
        return f">{100 - 10**-decimals:.{decimals}f} %"
    return f"{rounded / 10**decimals + 0.0:.{decimals}f} %"


def short(value: float) -> str:
    """A number by its first three digits, without an exponent unless it is very large or small."""
    return Unit.of(NUMBER, abs(value) / 10, abs(value)).text(value)


def _date(years: float, with_time: bool) -> str:
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=(years - 1970) * DAYS_A_YEAR)
    except OverflowError:
        return f"year {years:.0f}"
    # The minute and the day that it is in: dates become years and back to within a second.
    moment += datetime.timedelta(seconds=1)
    return moment.strftime("%Y-%m-%d %H:%M" if with_time else "%Y-%m-%d")
