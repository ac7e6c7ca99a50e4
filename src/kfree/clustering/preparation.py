"""How a table becomes rows of numbers: its columns, a fitted TableEncoder, and what is done about missing values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

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

# What to do about missing values that are an error: at fit, at a fit of places, whose two columns are used as they are,
# and after it.
AT_FIT = (
    "Use missing='drop' to leave such rows out, missing='mean' to fill in means, missing='nearest' (with "
    "prepare='encode') to take them from the nearest row, or drop=[…] to leave columns out."
)
OF_PLACES = "Use missing='drop' to leave such rows out."
_AFTER_FIT = (
    "They were an error at fit, too. Leave such rows out, or fit with missing='drop', missing='mean' or "
    "missing='nearest' (with prepare='encode')."
)


@dataclass(frozen=True)
class TextReading:
    """How a text file was read, for further files: what was given, and what the cells of its columns decided."""

    na: list[str]
    thousands: str | None
    decimal: str | None
    rules: dict[str, str]

    def of_further(self, given: TextOptions, numbers: list[str], texts: list[str]) -> TextOptions:
        """The options for a further file, whose columns of ``numbers`` and ``texts`` are known.

        What is given for it comes first.
        """
        return replace(
            given,
            missing=given.missing or tuple(self.na),
            thousands=given.thousands or self.thousands,
            decimal=given.decimal or self.decimal,
            rules=tuple(self.rules.items()),
            numbers=tuple(numbers),
            texts=tuple(texts),
        )


class Prepared(NamedTuple):
    """Rows of a table as a model takes them: ``X``, those that can be used.

    ``kept`` is a mask of these among all rows, ``gaps`` are their values that were missing (rows of X, columns of the
    table), and ``has_unseen`` is a mask of all rows: which have a level that the rows of the fit did not have.
    """

    X: NDArray[Any]
    kept: Mask
    gaps: Mask
    has_unseen: Mask


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
    reading : TextReading or None
        How the table was read, where it was a text file.
    """

    columns: list[str]
    missing: str = "error"
    group: str | None = None
    encoder: Annotated[Any, OneOf({"table": "kfree.tables.encoder:TableEncoder"})] | None = None
    reading: Annotated[TextReading | None, OPTIONAL] = None

    def text_options(self, given: TextOptions) -> TextOptions:
        """How a further text file is read."""
        reading = self.reading or TextReading([], None, None, {})
        return reading.of_further(given, self._numbers_in(), self._texts_in())

    def _numbers_in(self) -> list[str]:
        """The columns that hold numbers."""
        if self.encoder is None:
            return self.columns
        return [encoder.name for encoder in self.encoder.encoders_ if getattr(encoder, "family", None) == "number"]

    def _texts_in(self) -> list[str]:
        """The columns whose levels are all text; a further file may hold those alone that look like numbers."""
        encoders = [] if self.encoder is None else self.encoder.encoders_
        levels = {encoder.name: getattr(encoder, "levels", ()) for encoder in encoders}
        return [name for name, own in levels.items() if own and all(isinstance(level, str) for level in own)]

    def matrix(self, title: str, batch: Any, first_row: int = 0, unseen: str = "error") -> Prepared:
        """The rows of a batch that can be used, as numbers.

        ``unseen`` levels are an error, count as missing ("missing"), or make a row new, which needs no values ("new").
        """
        if self.encoder is None:
            X = self._numbers(title, batch)
            gaps = np.isnan(X)
            kept = self.complete(title, gaps, first_row)
            return Prepared(X[kept], kept, gaps[kept], np.zeros(len(X), dtype=bool))
        encoder = copy(self.encoder)
        encoder.unseen = "error" if unseen == "error" else "missing"
        frame = self._frame(batch)
        gaps = gaps_of(frame)
        with _naming(title):
            new = np.zeros_like(gaps) if unseen == "error" else encoder.unseen_in(frame)
        if self.missing == "error":
            kept = self.complete(title, gaps, first_row)
            self._require_known(title, new, first_row, unseen)
            kept &= ~new.any(axis=1)
        else:
            kept = self.complete(title, gaps | new, first_row)
        X = np.empty((0, len(self.get_feature_names_out())))
        if kept.any():
            with _naming(title):
                X = np.asarray(encoder.transform(filtered(frame, kept)))
        return Prepared(X, kept, (gaps | new)[kept], np.asarray(new.any(axis=1)))

    def _require_known(self, title: str, new: Mask, first_row: int, unseen: str) -> None:
        """Raise where new levels count as missing values and these are an error."""
        if unseen != "missing" or not new.any():
            return
        row = first_row + int(new.any(axis=1).argmax()) + 1
        raise ValueError(
            f"{title} has levels that the rows of the fit did not have in {self.columns_with(new)}; the first is in "
            f"row {row}. With unseen='missing' they are missing values, which missing='error' of the fit refuses. Fit "
            "with missing='nearest', or predict with unseen='new', which labels such rows −1."
        )

    def _frame(self, batch: Any) -> Any:
        """The columns of a batch, which is a frame or a dict of arrays, as a frame."""
        if not isinstance(batch, dict):
            return selected(batch, self.columns)
        return arrow("").table({name: batch[name] for name in self.columns})

    def _numbers(self, title: str, batch: Any) -> NDArray[Any]:
        if isinstance(batch, dict):
            return np.column_stack([as_numbers(batch[name]) for name in self.columns])
        return matrix_of(batch, self.columns, title)

    def complete(self, title: str, gaps: Mask, first_row: int = 0, remedy: str = _AFTER_FIT) -> Mask:
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
            f"{title} has missing values in {self.columns_with(gaps)}; the first is in row {row}. {remedy}"
        )

    def complete_at_fit(self, title: str, gaps: Mask, remedy: str = AT_FIT) -> Mask:
        """Like ``complete``, but an error if no row remains."""
        kept = self.complete(title, gaps, remedy=remedy)
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


@contextmanager
def _naming(title: str) -> Iterator[None]:
    """Errors about a table name it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{title}: {error}") from error
