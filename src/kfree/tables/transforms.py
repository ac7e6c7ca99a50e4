"""Stated transforms for skewed and heavy-tailed columns, and the rule by which one is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kfree.core.fields import Number
from kfree.core.marks import AtLeast, require

# A column is skewed if its outer octiles lie so unequally about the median: 0 is symmetric, 1 is all on one side.
# A Gaussian has 0, a log-normal of sd ½ has 0.28, an exponential 0.42.
SKEWED = 0.2
# A transform for skewed columns is taken if it leaves at most this share of the skewness.
_SHARE_LEFT = 0.5
# A column has heavy tails if its middle 95 % is so many times as wide as its middle half.
# A Gaussian has 2.9, Student's t with three degrees of freedom 4.2, a Cauchy 12.7.
HEAVY_TAILED = 6.0

Values = np.ndarray


@dataclass(frozen=True)
class Transform:
    """z = function((x − shift) / unit), a rising function of a column."""

    name: str
    shift: Number = 0.0
    unit: Annotated[float, AtLeast(np.finfo(np.float64).tiny)] = 1.0

    def _restored(self) -> None:
        require(self.name in FUNCTIONS, "transform", f"has the name {self.name!r}")

    def forward(self, x: Values) -> Values:
        return FUNCTIONS[self.name].forward((x - self.shift) / self.unit)

    def backward(self, z: Values) -> Values:
        return FUNCTIONS[self.name].backward(z) * self.unit + self.shift

    def tells_apart(self, x: Values) -> bool:
        """Whether values that differ still do. Logarithms of values near 1e9 may not differ in float64."""
        least, most = self.forward(np.array([x.min(), x.max()]))
        return bool(least < most)

    def written(self, column: str) -> str:
        """The formula, for a column called so."""
        if self.name == "identity":
            return column
        inner = f"({less(column, self.shift)})" if self.shift else column
        inner = f"{inner} / {self.unit:.4g}" if self.unit != 1 else inner
        return f"{self.name}({inner})"


def less(minuend: str, number: float) -> str:
    """A difference in writing: x − 3, or x + 3 where the number is negative."""
    return f"{minuend} {'+' if number < 0 else '−'} {abs(number):.4g}"


@dataclass(frozen=True)
class Function:
    """A rising function, its inverse, and the values that it takes."""

    forward: Callable[[Values], Values]
    backward: Callable[[Values], Values]
    allowed: str
    allows: Callable[[Values], bool]


FUNCTIONS = {
    "identity": Function(lambda x: x, lambda z: z, "numbers", lambda x: True),
    "sqrt": Function(np.sqrt, lambda z: np.square(np.maximum(z, 0.0)), "numbers ≥ 0", lambda x: x.min() >= 0),
    "log": Function(np.log, np.exp, "numbers > 0", lambda x: x.min() > 0),
    "log1p": Function(np.log1p, np.expm1, "numbers ≥ 0", lambda x: x.min() >= 0),
    "symlog": Function(
        lambda x: np.sign(x) * np.log1p(np.abs(x)),
        lambda z: np.sign(z) * np.expm1(np.abs(z)),
        "numbers",
        lambda x: True,
    ),
    "asinh": Function(np.arcsinh, np.sinh, "numbers", lambda x: True),
}


def named_transform(name: str, x: Values) -> Transform:
    """The transform of that name for a column of numbers; log1p and asinh in units estimated from the column."""
    if name in ("log1p", "symlog"):
        return Transform(name, unit=float(np.quantile(np.abs(x[x != 0]), 0.25)) if (x != 0).any() else 1.0)
    if name == "asinh":
        low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
        return Transform(name, float(middle), float(high - low) / 2 if high > low else 1.0)
    return Transform(name)


def chosen_transform(x: Values) -> Transform:
    """The transform for a column of numbers without gaps; the identity unless it is skewed or has heavy tails.

    Numbers ≥ 0 that are skewed to the right take a logarithm or, if there is a zero, the one of square root and log1p
    that leaves less skewness; if it leaves half of it, none. Tails that are heavy on both sides take asinh.
    """
    skewness = octile_skewness(x)
    if skewness >= SKEWED and x.min() >= 0:
        names = ["sqrt", "log1p"] if x.min() == 0 else ["log"]
        transforms = [transform for name in names if (transform := named_transform(name, x)).tells_apart(x)]
        left = {transform: abs(octile_skewness(transform.forward(x))) for transform in transforms}
        best = min(left, key=lambda transform: left[transform], default=None)
        if best is not None and left[best] <= _SHARE_LEFT * skewness:
            return best
    return named_transform("asinh" if _tail_ratio(x) > HEAVY_TAILED else "identity", x)


def chosen_date_transform(x: Values) -> Transform:
    """The transform for points in time: the identity unless they are skewed.

    Skewed dates take the logarithm of the time since the first of them, or before the last; symlog also takes dates
    beyond these, which are to come.
    """
    skewness = octile_skewness(x)
    if abs(skewness) < SKEWED:
        return Transform("identity")
    shift = float(x.min() if skewness > 0 else x.max())
    away = np.abs(x - shift)
    transform = Transform("symlog", shift, float(np.quantile(away[away > 0], 0.25)))
    left = abs(octile_skewness(transform.forward(x)))
    return transform if left <= _SHARE_LEFT * abs(skewness) and transform.tells_apart(x) else Transform("identity")


def octile_skewness(x: Values) -> float:
    """((P87.5 − P50) − (P50 − P12.5)) / (P87.5 − P12.5); 0 where these coincide."""
    low, middle, high = np.quantile(x, [0.125, 0.5, 0.875])
    return float((high + low - 2 * middle) / (high - low)) if high > low else 0.0


def _tail_ratio(x: Values) -> float:
    low, first, third, high = np.quantile(x, [0.025, 0.25, 0.75, 0.975])
    return float((high - low) / (third - first)) if third > first else 0.0
