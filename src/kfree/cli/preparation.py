"""From a table to a matrix: the choice and scale of columns, text and missing values."""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from kfree.cli.console import LIKE_IDENTIFIERS
from kfree.cli.dialect import is_number
from kfree.cli.errors import CommandError, quoted
from kfree.core.marks import FINITE, OneOf, Shape, require

# Of each column of the table.
PerColumn = Annotated[NDArray[Any], Shape("table columns"), FINITE]

# A column of text of which at least this share are numbers is taken for a column of numbers with mistakes in it.
_MOSTLY = 0.5
_LOOKED_AT = 1000
# Freed memory is returned to the system whenever there are this many bytes of it.
_RELEASED_AT = 1 << 24
# Fewer rows than this are all different in many columns that are no identifiers.
_FEWEST_TO_IDENTIFY = 20


@dataclass(frozen=True)
class Preparation:
    """How a table became the matrix of a fit, so that further tables become the same; saved with the model.

    Attributes
    ----------
    columns : list of str
        The columns of the table that are used, in order.
    missing : str
        What is done about missing values: "error", "drop" or "mean".
    fill, centre, scale : ndarray or None
        Values for missing ones, and what is subtracted from and then divided through; None where nothing is.
    group : str or None
        The column that names groups.
    encoder : a fitted TableEncoder or None
    """

    columns: list[str]
    missing: str = "error"
    fill: PerColumn | None = None
    centre: PerColumn | None = None
    scale: PerColumn | None = None
    group: str | None = None
    encoder: Annotated[Any, OneOf({"table": "kfree.tables.encoder:TableEncoder"})] | None = None

    def _restored(self):
        sizes = {len(values) for values in (self.fill, self.centre, self.scale) if values is not None}
        ok = sizes <= {len(self.columns)} and (self.centre is None) == (self.scale is None)
        require(ok, "preparation", "is not one of its columns")

    def matrix(self, table):
        """The rows that can be used, as numbers, and a mask that says which rows these are."""
        table.require(self.columns, "a column of the model")
        if self.encoder is not None:
            return _encoded(self, table), np.ones(table.n_rows, dtype=bool)
        X = _matrix(table, self.columns)
        X, kept = _without_missing(self, table, X)
        if self.scale is not None:
            X -= self.centre
            X /= self.scale
        return X, kept

    def in_units(self, X):
        """Rows, or means of rows, in the units of the table; see :meth:`kfree.TableEncoder.in_units`."""
        if self.encoder is not None:
            return self.encoder.in_units(X)
        return X if self.scale is None else X * self.scale + self.centre


def chosen_columns(table, columns, drop, other_uses, encode, say):
    """The columns to use: the given ones, or all that are numbers (or encoded); remarks name those left out."""
    table.require(drop, "--drop")
    names = [name for name in columns or table.names if name not in drop and name not in other_uses]
    text = [name for name in names if table.kind(name) != "number"]
    if columns and text and not encode:
        _require_no_mistake(table, text[0])
        raise CommandError(
            f"{table.source.name}: column {text[0]!r} of --columns holds {table.kind(text[0])}, not numbers. Leave it "
            "out, or encode text with --encode."
        )
    if text and not encode:
        for name in text:
            _require_no_mistake(table, name)
        say(f"left out {len(text)} column(s) that are not numbers: {quoted(text)} (--encode uses them)")
        names = [name for name in names if name not in text]
    if not names:
        raise CommandError(
            f"{table.source.name} has no column of numbers to cluster; it has {quoted(table.names)}. Use --encode for "
            "text, or give the right --delimiter."
        )
    _warn_about_identifiers(table, names, say)
    return names


def prepare(table, columns, *, missing="error", standardize=False, encode=False, group=None):
    """The matrix of these columns, a mask of the rows in it, and the preparation that made it."""
    plan = Preparation(list(columns), missing, group=group)
    if encode:
        plan = replace(plan, encoder=_fitted_encoder(table, plan.columns, missing))
        return *plan.matrix(table), plan
    X = _matrix(table, plan.columns)
    if missing == "mean":
        plan = replace(plan, fill=_means(table, plan.columns, X))
    X, kept = _without_missing(plan, table, X)
    if standardize:
        # A constant column is zero afterwards, whatever it is divided by.
        spread = X.std(axis=0)
        plan = replace(plan, centre=X.mean(axis=0), scale=np.where(spread > 0, spread, 1.0))
        X -= plan.centre
        X /= plan.scale
    return X, kept, plan


def _matrix(table, columns):
    """Columns side by side; each is dropped from the table once it is copied, so that memory is not needed twice."""
    is_single = all(table.is_single(name) for name in columns)
    X = np.empty((table.n_rows, len(columns)), dtype=np.float32 if is_single else np.float64)
    n_freed = 0
    for j, name in enumerate(columns):
        X[:, j] = table.numbers(name)
        table.drop(name)
        n_freed += X[:, j].nbytes
        if n_freed >= _RELEASED_AT:
            table.release()
            n_freed = 0
    table.release()
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return X
    infinite = np.isinf(X)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise CommandError(
            f"{table.source.name}, row {row + 1}, column {columns[column]!r}: an infinite value "
            f"({int(infinite.sum())} in all). Correct it or remove the row."
        )
    return X


def _without_missing(plan, table, X):
    """Rows without missing values, by the option --missing; and a mask of these rows."""
    missing = np.isnan(X)
    per_column = missing.sum(axis=0)
    if not per_column.any():
        return X, np.ones(len(X), dtype=bool)
    if plan.missing == "mean":
        X[missing] = np.broadcast_to(plan.fill, X.shape)[missing]
        return X, np.ones(len(X), dtype=bool)
    kept = ~missing.any(axis=1)
    if plan.missing == "drop" and kept.any():
        return X[kept], kept
    holes = [f"{plan.columns[j]!r} ({per_column[j]})" for j in np.flatnonzero(per_column)]
    shown = ", ".join(holes[:8]) + (f" and {len(holes) - 8} more" if len(holes) > 8 else "")
    row = int(missing.any(axis=1).argmax()) + 1
    raise CommandError(
        f"{table.source.name} has missing values in {len(holes)} column(s): {shown}; the first is in row {row}. Use "
        "--missing drop to leave such rows out, --missing mean to fill in means, or --drop to leave columns out."
    )


def _means(table, columns, X):
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        names = [columns[j] for j in np.flatnonzero(empty)]
        raise CommandError(f"{table.source.name}: column(s) {quoted(names)} hold no value at all; use --drop.")
    return np.nanmean(X, axis=0)


def _require_no_mistake(table, name):
    """Raise if a column of text is one of numbers but for a few cells."""
    if table.kind(name) != "text":
        return
    cells, decimal = table.values(name), getattr(table.dialect, "decimal", ".")
    there = [cell for cell in cells[:_LOOKED_AT] if cell is not None]
    if not there or sum(is_number(cell, decimal) for cell in there) < _MOSTLY * len(there):
        return
    bad = [(row, cell) for row, cell in enumerate(cells, start=1) if cell and not is_number(cell, decimal)]
    row, cell = bad[0]
    named = "If the first line holds names of columns, give --header yes. Otherwise correct" if row == 1 else "Correct"
    raise CommandError(
        f"{table.source.name}, row {row}, column {name!r}: {cell[:40]!r} is not a number ({len(bad)} such value(s) in "
        f"a column of numbers). {named} it, or leave the column out with --drop."
    )


def _warn_about_identifiers(table, names, say):
    if table.n_rows < _FEWEST_TO_IDENTIFY:
        return
    numbers = [name for name in names if table.kind(name) == "number" and table.is_whole(name)]
    alike = [name for name in numbers if table.n_distinct(name) == table.n_rows]
    if alike:
        say(
            f"warning: column(s) {quoted(alike)} hold {LIKE_IDENTIFIERS}, like identifiers; leave "
            f"them out with --drop {','.join(alike)} unless they are measurements"
        )


def _fitted_encoder(table, columns, missing):
    from kfree import TableEncoder

    try:
        return TableEncoder(missing=missing).fit(_frame(table, columns))
    except ValueError as error:
        text = re.match(r"column '(.*)' holds text", str(error))
        option = "--missing nearest" if "missing='nearest'" in str(error) else f"--drop {text[1]}" if text else ""
        hint = f" On the command line: {option}." if option else ""
        raise CommandError(f"{table.source.name}: {error}{hint}") from error


def _encoded(plan, table):
    return np.asarray(plan.encoder.transform(_frame(table, plan.columns)), dtype=np.float64)


def _frame(table, columns):
    """Columns as a table that the encoder takes."""
    try:
        import pyarrow
    except ImportError:
        raise CommandError('--encode needs pyarrow: pip install "kfree[files]"') from None
    return pyarrow.table({name: table.column(name) for name in columns})
