"""How a table becomes rows of numbers: its columns, a fitted TableEncoder, and what is done about missing values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from kfree.clustering.frames import filtered, gaps_of, matrix_of, selected
from kfree.core.marks import OPTIONAL, OneOf
from kfree.core.printing import first_few
from kfree.core.stats import Mask
from kfree.explain.units import NUMBER
from kfree.files.dialect import TextOptions
from kfree.files.formats import as_numbers
from kfree.files.places import arrow


@dataclass(frozen=True)
class Reading:
    """How a text file was read, for further files: what was given, and what the cells of its columns decided."""

    na: list[str]
    thousands: str | None
    decimal: str | None
    rules: dict[str, str]

    def of_further(self, given: TextOptions, numbers: list[str]) -> TextOptions:
        """The options for a further file, whose columns of ``numbers`` are known; what is given for it comes first."""
        return replace(
            given,
            missing=given.missing or tuple(self.na),
            thousands=given.thousands or self.thousands,
            decimal=given.decimal or self.decimal,
            rules=tuple(self.rules.items()),
            numbers=tuple(numbers),
        )


@dataclass(frozen=True)
class Preparation:
    """How a table became the rows of a fit, so that further tables become the same; saved with the model.

    Attributes
    ----------
    columns : list of str
        The columns of the table that are used, in order.
    missing : str
        What is done about missing values: "error", "drop", "mean" or "nearest".
    group : str or None
        The column that names groups.
    encoder : a fitted TableEncoder, or None for columns of numbers as they are
    reading : Reading or None
        How the table was read, where it was a text file.
    """

    columns: list[str]
    missing: str = "error"
    group: str | None = None
    encoder: Annotated[Any, OneOf({"table": "kfree.tables.encoder:TableEncoder"})] | None = None
    reading: Annotated[Reading | None, OPTIONAL] = None

    def text_options(self, given: TextOptions) -> TextOptions:
        """How a further text file is read."""
        reading = self.reading or Reading([], None, None, {})
        return reading.of_further(given, self._numbers_in())

    def _numbers_in(self) -> list[str]:
        """The columns that hold numbers."""
        if self.encoder is None:
            return self.columns
        return [encoder.name for encoder in self.encoder.encoders_ if getattr(encoder, "family", None) == "number"]

    def matrix(self, title: str, batch: Any, first_row: int = 0) -> tuple[NDArray[Any], Mask]:
        """The rows of a batch that can be used, as numbers, and a mask of these rows."""
        if self.encoder is None:
            X = self._numbers(title, batch)
            kept = self.complete(title, np.isnan(X), first_row)
            return X[kept], kept
        kept = self.complete(title, self.gaps(title, batch), first_row)
        if not kept.any():
            return np.empty((0, len(self.encoder.get_feature_names_out()))), kept
        try:
            return np.asarray(self.encoder.transform(filtered(self.frame(batch), kept))), kept
        except ValueError as error:
            raise ValueError(f"{title}: {error}") from error

    def gaps(self, title: str, batch: Any) -> Mask:
        """Where values of a batch are missing, or are levels that count as missing, (n_rows, n_columns)."""
        if self.encoder is None:
            return np.isnan(self._numbers(title, batch))
        frame = self.frame(batch)
        gaps = gaps_of(frame)
        if self.encoder.unseen == "error":
            return gaps
        try:
            return gaps | self.encoder.unseen_in(frame)
        except ValueError as error:
            raise ValueError(f"{title}: {error}") from error

    def frame(self, batch: Any) -> Any:
        """The columns of a batch, which is a frame or a dict of arrays, as a frame."""
        if not isinstance(batch, dict):
            return selected(batch, self.columns)
        return arrow("").table({name: batch[name] for name in self.columns})

    def _numbers(self, title: str, batch: Any) -> NDArray[Any]:
        if isinstance(batch, dict):
            return np.column_stack([as_numbers(batch[name]) for name in self.columns])
        return matrix_of(batch, self.columns, title)

    def complete(self, title: str, gaps: Mask, first_row: int = 0) -> Mask:
        """A mask of the rows that are used: those without missing values, or with a value where gaps are filled in.

        Missing values are an error unless such rows are dropped or filled in. Rows are judged one by one: whether one
        is used does not depend on the others.
        """
        if self.missing not in ("error", "drop"):
            return np.asarray(~gaps.all(axis=1))
        kept = np.asarray(~gaps.any(axis=1))
        if kept.all() or self.missing == "drop":
            return kept
        row = first_row + int(kept.argmin()) + 1
        raise ValueError(
            f"{title} has missing values in {self.columns_with(gaps)}; the first is in row {row}. Use "
            "missing='drop' to leave such rows out, missing='mean' to fill in means, missing='nearest' (with "
            "prepare='encode') to take them from the nearest row, or drop=[…] to leave columns out."
        )

    def complete_at_fit(self, title: str, gaps: Mask) -> Mask:
        """The same for the rows of a fit, of which some must be left."""
        kept = self.complete(title, gaps)
        if self.missing == "drop" and not kept.any():
            raise ValueError(
                f"{title} has no row without missing values, which are in {self.columns_with(gaps)}. Leave columns "
                "out with drop=[…], or give another missing than 'drop'."
            )
        return kept

    def columns_with(self, gaps: Mask) -> str:
        """The columns that have missing values, in words."""
        per_column = gaps.sum(axis=0)
        holes = [f"{self.columns[j]!r} ({per_column[j]})" for j in np.flatnonzero(per_column)]
        return f"{len(holes)} column(s): {first_few(holes)}"

    def in_units(self, X: Any) -> Any:
        """Rows, or means of rows, in the units of the table; see :meth:`kfree.TableEncoder.in_units`."""
        return X if self.encoder is None else self.encoder.in_units(X)

    @property
    def units_out(self) -> list[str]:
        """What the numbers of :meth:`in_units` are; see :class:`kfree.TableEncoder`."""
        return [NUMBER] * len(self.columns) if self.encoder is None else list(self.encoder.units_out)

    @property
    def levels_out(self) -> list[tuple[str, ...]]:
        """The levels of ranks among the numbers of :meth:`in_units`; see :class:`kfree.TableEncoder`."""
        return [()] * len(self.columns) if self.encoder is None else list(self.encoder.levels_out)

    @property
    def columns_out(self) -> list[str]:
        """The columns of the table that columns of the rows come from; see :class:`kfree.TableEncoder`."""
        return self.columns if self.encoder is None else list(self.encoder.columns_out)

    def get_feature_names_out(self) -> list[str]:
        """Names of the columns of the rows."""
        return self.columns if self.encoder is None else [str(name) for name in self.encoder.get_feature_names_out()]
