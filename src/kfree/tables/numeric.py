"""Numbers, dates and ordered levels as one coordinate each, in which two rows that differ are typically 1 apart."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from kfree.core.fields import Name, Number
from kfree.core.marks import OPTIONAL, AtLeast
from kfree.explain import units
from kfree.tables.columns import DATE, DATE_UNIT, DURATION, LEVELS, NUMBER, TIME
from kfree.tables.transforms import Transform, less

# Number of quantiles that represent a column when differences between rows are computed.
_QUANTILES = 1000
# Smaller numbers have fewer digits.
_LEAST_SCALE = float(np.finfo(np.float64).tiny)
_MICROSECONDS_A_YEAR = units.DAYS_A_YEAR * 86_400e6


@dataclass(frozen=True)
class Numeric:
    """Numbers x as (transform(x) − centre) / scale."""

    family: ClassVar[str] = NUMBER
    unit: ClassVar[str] = units.NUMBER

    name: Name
    transform: Transform
    centre: Number
    scale: Annotated[float, AtLeast(_LEAST_SCALE)]

    @classmethod
    def fitted(cls, name: Any, x: np.ndarray, transform: Transform, scale: str = "difference") -> Numeric:
        place = centre_and_scale(transform.forward(x), scale)
        if not 0.0 < place[1] < _LEAST_SCALE:
            return cls(name, transform, *place)
        raise ValueError(
            f"column {name!r} holds values that differ by about {place[1]:.3g}, of which float64 has too few digits. "
            "Multiply the column by a constant, or leave it out."
        )

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """(n, 1), NaN where the value is missing."""
        return ((self.transform.forward(values) - self.centre) / self.scale)[:, None]

    def decoded(self, block: np.ndarray) -> np.ndarray:
        return Numeric.in_units(self, block)[:, 0]

    def in_units(self, block: np.ndarray) -> np.ndarray:
        """Numbers that a reader knows, (n, 1): those of the column."""
        return self.transform.backward(block * self.scale + self.centre)

    @property
    def names_out(self) -> list[str]:
        return [str(self.name)]

    def __str__(self) -> str:
        return f"{self.name}: ({less(self.transform.written(str(self.name)), self.centre)}) / {self.scale:.4g}"


@dataclass(frozen=True)
class ZeroOne(Numeric):
    """Numbers of which each is 0 or 1 at fit; their means are shares of rows."""

    unit: ClassVar[str] = units.SHARE


@dataclass(frozen=True)
class Dates(Numeric):
    """Points in time, as numbers are: microseconds since 1970 in UTC. ``zone`` is the time zone that they had."""

    family: ClassVar[str] = DATE
    unit: ClassVar[str] = units.DATE
    zone: Annotated[str | None, OPTIONAL] = None

    def decoded(self, block: np.ndarray) -> np.ndarray:
        microseconds = np.rint(super().decoded(block))
        return np.where(np.isnan(microseconds), 0, microseconds).astype(np.int64).astype(DATE_UNIT)

    def in_units(self, block: np.ndarray) -> np.ndarray:
        """Years, such as 2024.5, (n, 1)."""
        return 1970 + super().in_units(block) / _MICROSECONDS_A_YEAR

    def __str__(self) -> str:
        if self.transform.name != "identity":
            since, days = _moment(self.transform.shift), self.transform.unit / 86_400e6
            inner = f"{self.transform.name}(({self.name} − {since}) / {days:.4g} days)"
            return f"{self.name}: ({less(inner, self.centre)}) / {self.scale:.4g}"
        return f"{self.name}: ({self.name} − {_moment(self.centre)}) / {self.scale / 86_400e6:.4g} days"


@dataclass(frozen=True)
class Durations(Numeric):
    """Spans of time, as numbers are: seconds."""

    family: ClassVar[str] = DURATION
    unit: ClassVar[str] = units.SECONDS

    def decoded(self, block: np.ndarray) -> np.ndarray:
        return np.rint(super().decoded(block) * 1e6).astype("timedelta64[us]")


@dataclass(frozen=True)
class TimesOfDay(Numeric):
    """Times of day, as numbers are: seconds after midnight."""

    family: ClassVar[str] = TIME
    unit: ClassVar[str] = units.TIME

    def decoded(self, block: np.ndarray) -> np.ndarray:
        return np.array([time_of_day(seconds) for seconds in super().decoded(block)], dtype=object)


@dataclass(frozen=True)
class Ordinal(Numeric):
    """Ordered levels by their rank; a rank between two is decoded as the nearer level."""

    family: ClassVar[str] = LEVELS
    unit: ClassVar[str] = units.RANK
    levels: tuple[Name, ...] = ()

    @classmethod
    def of_ranks(cls, name: Any, rank: np.ndarray, levels: tuple[Any, ...], scale: str = "difference") -> Ordinal:
        return cls(name, Transform("identity"), *centre_and_scale(rank, scale), tuple(levels))

    def decoded(self, block: np.ndarray) -> np.ndarray:
        rank = np.clip(np.rint(super().decoded(block)), 0, len(self.levels) - 1).astype(int)
        return np.array(self.levels, dtype=object)[rank]

    def __str__(self) -> str:
        order = " < ".join(map(str, self.levels))
        return f"{self.name}: ({less('rank', self.centre)}) / {self.scale:.4g} in {order}"


def _moment(microseconds: float) -> np.datetime64:
    return np.datetime64(int(microseconds), "us").astype("datetime64[s]")


def time_of_day(seconds: float) -> datetime.time:
    """The time so many seconds after midnight, the nearest one there is."""
    microseconds = int(np.clip(np.rint(seconds * 1e6), 0, 86_400e6 - 1))
    return (datetime.datetime.min + datetime.timedelta(microseconds=microseconds)).time()


def centre_and_scale(z: np.ndarray, scale: str) -> tuple[float, float]:
    """What is subtracted from a column, and what it is divided by then."""
    if scale == "none":
        return 0.0, 1.0
    if scale == "deviation":
        exponent = int(np.frexp(np.abs(z).max(initial=0.0))[1])
        near_one = np.ldexp(z, -exponent)  # the same digits, whose squares neither overflow nor underflow
        return float(np.ldexp(np.mean(near_one), exponent)), float(np.ldexp(np.std(near_one), exponent))
    return float(np.median(z)), typical_difference(z)


def typical_difference(z: np.ndarray) -> float:
    """The median of |z_i − z_j| over pairs of rows that differ; 0 if none does."""
    z = np.sort(z)
    if len(z) > _QUANTILES:
        z = z[np.linspace(0, len(z) - 1, _QUANTILES).round().astype(int)]  # with both ends, so that two values differ
    differences = (z[None, :] - z[:, None])[np.triu_indices(len(z), 1)]
    differences = differences[differences > 0]
    return float(np.median(differences)) if len(differences) else 0.0
