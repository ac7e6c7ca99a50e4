"""Marks on the declared types of fields, as in ``Annotated[Floats, Shape("k", "d"), FINITE]``.

They say what a type cannot: shapes that agree, ranges, alternatives. Who rebuilds an object from a file checks them;
nobody else pays for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Sizes:
    """Sizes by name, which are the same everywhere in one model: "k" clusters, "n" rows of the fit, "d" coordinates.

    ``found`` are those that were found so far, and where. ``names`` are other names that a nested record has for them.
    """

    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def agree(self, name: str, size: int, where: str) -> None:
        """Raise if ``name`` has another size elsewhere."""
        known, first = self.found.setdefault(self._outer(name), (size, where))
        require(known == size, where, f"has size {size} where {first} has {known}")

    def of(self, name: str) -> int:
        name = self._outer(name)
        require(name in self.found, name, "is a size that no field has")
        return self.found[name][0]

    def renamed(self, names: Mapping[str, str]) -> Sizes:
        """The same sizes for a record that has these names for some of them."""
        return Sizes(self.found, {**self.names, **{inner: self._outer(outer) for inner, outer in names.items()}})

    def _outer(self, name: str) -> str:
        return self.names.get(name, name)


class Mark:
    """What must hold of a value: sizes are compared first, everything else is checked when all sizes are known."""

    def compare(self, value: Any, where: str, sizes: Sizes) -> None:
        """Note the sizes of ``value``."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise unless the value is sound."""


class Shape(Mark):
    """The shape of an array, by numbers and names of sizes; "d-1" is one less than "d", and None is any size."""

    def __init__(self, *sizes: str | int | None):
        self.sizes = sizes

    def compare(self, value: Any, where: str, sizes: Sizes) -> None:
        require(value.ndim == len(self.sizes), where, f"has {value.ndim} dimension(s) instead of {len(self.sizes)}")
        for size, found in zip(self.sizes, value.shape, strict=True):
            if isinstance(size, int):
                require(size == found, where, f"has size {found} instead of {size}")
            elif size is not None:
                name, _, less = size.partition("-")
                sizes.agree(name, found + int(less or 0), where)


@dataclass(frozen=True)
class Size(Mark):
    """A whole number that is a size."""

    name: str

    def compare(self, value: Any, where: str, sizes: Sizes) -> None:
        require(value >= 0, where, f"is {value}, below 0")
        sizes.agree(self.name, value, where)


@dataclass(frozen=True)
class Below(Mark):
    """Whole numbers from ``least`` up to a size, without that."""

    size: str
    least: int = 0

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        most = sizes.of(self.size)
        if np.size(value):
            low, high = int(np.min(value)), int(np.max(value))
            require(self.least <= low and high < most, where, f"goes from {low} to {high}, beyond {self.least}…{most}")


@dataclass(frozen=True)
class AtLeast(Mark):
    """Finite numbers, one or many, none below ``least``."""

    least: float = -math.inf

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        numbers = np.asarray(value.data if sp.issparse(value) else value)
        require(numbers.dtype.kind in "biuf" and numbers.dtype.isnative, where, f"has the type {numbers.dtype}")
        require(bool(np.isfinite(numbers).all()), where, "holds NaN or inf")
        require(not numbers.size or numbers.min() >= self.least, where, f"holds numbers below {self.least}")


class Permutation(Mark):
    """Whole numbers from 0 on, each once."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        require(np.array_equal(np.sort(value), np.arange(len(value))), where, "is no order")


class Rising(Mark):
    """Numbers that rise from each to the next."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        require(bool((value[1:] > value[:-1]).all()), where, "does not rise")


class Scalar(Mark):
    """A number or a text, which can be a key."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        plain = isinstance(value, str | int | float | np.generic)
        require(plain, where, f"is a {type(value).__name__} instead of a number or a text")


class Optional(Mark):
    """A field that not every object has."""


@dataclass(frozen=True, eq=False)
class Renamed(Mark):
    """The size that a nested record calls by the key has the name of the value here."""

    names: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class OneOf(Mark):
    """A record of one of several classes, each with a public name; a class above this layer is "module:name"."""

    classes: Mapping[str, type | str]

    def named(self, name: Any) -> type:
        """The class with this name."""
        if not isinstance(name, str) or name not in self.classes:
            raise ValueError(f"the kind {name!r} is not among {', '.join(self.classes)}")
        found = self.classes[name]
        if isinstance(found, str):
            module, attribute = found.split(":")
            found = getattr(import_module(module), attribute)
        assert isinstance(found, type)
        return found

    def name_of(self, cls: type) -> str | None:
        """The name of a class, None if it has none."""
        return next((name for name in self.classes if self.named(name) is cls), None)


def require(ok: bool, where: str, found: str) -> None:
    """Raise unless ``ok``, naming the field."""
    if not ok:
        raise ValueError(f"{where} {found}")


FINITE, OPTIONAL = AtLeast(), Optional()
