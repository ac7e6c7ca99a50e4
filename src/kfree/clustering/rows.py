"""The rows of a table for a fit: all of them in memory, or a stream of all and some of them in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kfree.clustering.columns import (
    ColumnOptions,
    Say,
    chosen_columns,
    tell_of_codes,
    tell_of_filled,
    tell_of_marks,
    tell_of_places,
    tell_of_zones,
    with_encoder,
    without_row_numbers,
)
from kfree.clustering.frames import filtered, gaps_of
from kfree.clustering.preparation import Preparation
from kfree.clustering.tables import FrameTable, NamedFilesTable, group_names
from kfree.core.printing import quoted
from kfree.core.row_names import row_names
from kfree.core.stats import Floats, Mask
from kfree.files.formats import as_numbers
from kfree.files.places import arrow
from kfree.files.rows import rows_of
from kfree.search.summary.plan import bytes_to_search
from kfree.validation.parameters import memory_limit, require
from kfree.validation.rows import validated_weights

# Rows that stand for all of them where these do not fit in memory: for scales, summaries and pages.
SAMPLE_ROWS = 100_000
# More levels than a column of categories can have.
_MANY_LEVELS = 1000
# What filled-in values mean for who reads a summary.
_INCLUDED = "; means and shares include them"


@dataclass(frozen=True)
class TableRows:
    """A table on its way to a fit.

    ``rows`` are what is fitted, and ``X`` rows in memory: the same, or some of them where ``rows`` are a stream; their
    numbers in the table are ``row_numbers``. ``kept`` is a mask of the rows of the table without missing values, None
    where rows are streamed. ``gaps`` are the values of rows in X that were filled in, (rows of X, columns of the
    preparation), None if there are none. A ``preparation`` is None for an array, which is fitted as it is.
    """

    table: FrameTable | NamedFilesTable | None
    preparation: Preparation | None
    rows: Any
    X: Any
    row_numbers: NDArray[np.int64]
    kept: Mask | None
    gaps: Mask | None = None

    @classmethod
    def of_array(cls, X: Any) -> TableRows:
        numbers = np.arange(X.shape[0])
        return cls(None, None, X, X, numbers, np.ones(len(numbers), dtype=bool))

    @property
    def n_rows(self) -> int:
        """All rows of the table."""
        return len(self.row_numbers) if self.table is None else self.table.n_rows

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X; none for an array."""
        return [] if self.preparation is None else self.preparation.get_feature_names_out()

    def names_by(self, column: str | None, first: int = 0) -> NDArray[Any]:
        """What the rows of X are called: the values of a column, or their numbers from ``first`` on."""
        if column is None or self.table is None:
            return self.row_numbers + first
        return row_names(self.table.names_in(column)[self.row_numbers])

    def weights(self, column: str | None, given: ArrayLike | None = None) -> ArrayLike | None:
        """Weights of the rows of the fit: those of a column, or the given ones; a stream has its own."""
        if self.kept is None:
            require(given is None, "sample_weight", "…", "the name of a column as weight, for rows that are streamed")
            return None
        if column is not None:
            return self._numbers_of(column)
        if given is None or self.kept.all():
            return given
        weights = validated_weights(given, self.n_rows)
        return None if weights is None else weights[self.kept]

    def _numbers_of(self, column: str) -> Floats:
        """Weights that a column holds; an error names rows by their numbers from 1, as those of files do."""
        assert self.table is not None
        if not self.table.is_number(column):
            raise ValueError(
                f"{self.table.title}: column {column!r} of weight holds {self.table.word(column)}, not numbers. Name a "
                "column that says how many times each row counts."
            )
        weights = np.asarray(self.table.values(column), dtype=np.float64)
        wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
        if len(wrong):
            raise ValueError(
                f"{self.table.title}, row {wrong[0] + 1}: column {column!r} of weight holds {weights[wrong[0]]:g} "
                f"({len(wrong)} such value(s)). Weights are finite numbers ≥ 0; correct them, or leave such rows out."
            )
        return weights[self.kept]

    def groups(self, column: str) -> NDArray[Any]:
        """The groups of the rows that are clustered, which a column names."""
        assert self.table is not None  # an array has no columns by name
        return group_names(self.table.names_in(column)[self.row_numbers], self.row_numbers, self.table.title)


def prepared(
    table: FrameTable | NamedFilesTable,
    options: ColumnOptions,
    say: Say,
    *,
    weight: str | None = None,
    memory: int | str | None = None,
) -> TableRows:
    """The rows of a table; ``weight`` is the column of their weights, and more than ``memory`` holds are streamed."""
    options.require_in(table)
    kept_as_they_are = {*options.drop, *options.others.values(), *(options.categories or ())}
    table = table.with_dates([name for name in options.columns or table.names if name not in kept_as_they_are])
    columns = without_row_numbers(table, chosen_columns(table, options, say), options, say)
    tell_of_marks(table, columns, say)
    plan = Preparation(columns, options.treatment, options.group, reading=table.reading)
    is_large = memory is not None and bytes_to_search(table.n_rows, len(columns)) > memory_limit(memory)
    if is_large and isinstance(table, NamedFilesTable):
        found = _streamed(table, plan, options, weight, say)
    else:
        found = _in_memory(table, plan, options, say)
    assert found.preparation is not None
    if not options.are_places:
        tell_of_places(table, found.preparation.columns, say)
    tell_of_zones(found.preparation, say)
    tell_of_codes(table, found.preparation, found.X, options.prepare == "encode", say)
    return found


def _in_memory(table: FrameTable | NamedFilesTable, plan: Preparation, options: ColumnOptions, say: Say) -> TableRows:
    encoder, gaps = options.encoder(), None
    if encoder is None:
        X = table.matrix(plan.columns)
        holes = np.isnan(X) if np.isnan(X.sum()) else np.zeros((table.n_rows, 1), dtype=bool)
        kept = plan.complete_at_fit(table.title, holes, options.remedy_of_gaps)
        X = X if kept.all() else X[kept]
    else:
        frame = table.read(plan.columns)
        kept = plan.complete_at_fit(table.title, gaps_of(frame), options.remedy_of_gaps)
        if not kept.any():
            raise ValueError(f"{table.title} has no value in column(s) {quoted(plan.columns)}; give rows with values.")
        plan, frame, X, kept[kept] = with_encoder(
            table, plan, encoder, filtered(frame, kept), options.columns or (), say
        )
        gaps = gaps_of(frame)
        tell_of_filled(plan, int(gaps.sum()), int(gaps.any(axis=1).sum()), say, _INCLUDED)
    if not kept.all():
        which = "with missing values" if plan.missing in ("error", "drop") else "without any value"
        say(f"left out {int((~kept).sum()):,} of {len(kept):,} rows {which}")
    return TableRows(table, plan, X, X, np.flatnonzero(kept), kept, gaps if gaps is not None and gaps.any() else None)


def _streamed(
    table: NamedFilesTable, plan: Preparation, options: ColumnOptions, weight: str | None, say: Say
) -> TableRows:
    if plan.missing == "drop":
        raise ValueError("missing='drop' takes all rows in memory; give more memory, or another missing.")
    encoder = options.encoder()
    frame, numbers, filled = _sample(table, plan, options.remedy_of_gaps, encoder is not None)
    if encoder is not None:
        plan, frame, _, used = with_encoder(table, plan, encoder, frame, options.columns or (), say)
        numbers = numbers[used]
    columns = [table.columns[name] for name in plan.columns]
    rows = rows_of(table.files, columns, None if weight is None else table.columns[weight], plan.encoder)
    spread = np.flatnonzero(numbers % _step_of(table) == 0)
    frame = frame.take(spread)
    batch = {name: frame.column(name).combine_chunks() for name in plan.columns}
    X, kept, gaps, _ = plan.matrix(table.title, batch)
    if len(X) < table.n_rows:
        what = "scales, summary, page and picture are" if encoder else "summary, page and picture are"
        say(f"{what} those of {len(X):,} of {table.n_rows:,} rows, spread evenly over the table")
    tell_of_filled(plan, *filled, say, _INCLUDED)
    return TableRows(table, plan, rows, X, numbers[spread][kept], None, gaps if gaps.any() else None)


def _sample(
    table: NamedFilesTable, plan: Preparation, remedy: str, is_encoded: bool
) -> tuple[Any, NDArray[np.int64], tuple[int, int]]:
    """Rows spread evenly over a table, with the extremes and levels of all columns if these are encoded.

    Also how many values of the table are missing, and in how many rows. All rows are read, so that a missing value is
    found wherever it is, if that is an error.
    """
    parts, numbers, begin, step = [], list[int](), 0, _step_of(table)
    n_gaps = n_with_gaps = 0
    seen = {name: _Seen() for name in plan.columns} if is_encoded else {}
    for batch in table.batches(plan.columns):
        n_rows = len(next(iter(batch.values())))
        gaps = gaps_of(arrow("").table(batch))
        gaps = gaps[plan.complete(table.title, gaps, begin, remedy)]
        n_gaps, n_with_gaps = n_gaps + int(gaps.sum()), n_with_gaps + int(gaps.any(axis=1).sum())
        picked = set(range(-begin % step, n_rows, step))
        for name, known in seen.items():
            picked |= known.new_in(batch[name])
        rows = sorted(picked)
        parts.append(arrow("").table(batch).take(rows))
        numbers += [begin + row for row in rows]
        begin += n_rows
    sample = arrow("").concat_tables(parts, promote_options="permissive").unify_dictionaries()
    return sample, np.array(numbers), (n_gaps, n_with_gaps)


def _step_of(table: NamedFilesTable) -> int:
    """One row in so many is taken."""
    return max(1, -(-table.n_rows // SAMPLE_ROWS))


class _Seen:
    """The range or the levels of a column so far."""

    def __init__(self) -> None:
        self.low, self.high, self.levels = np.inf, -np.inf, set[Any]()

    def new_in(self, values: Any) -> set[int]:
        """Rows of a batch that widen the range, or have a level that none had before."""
        kinds = arrow("types")
        if isinstance(values, np.ndarray) or kinds.is_integer(values.type) or kinds.is_floating(values.type):
            return self._new_extremes(as_numbers(values))
        if len(self.levels) > _MANY_LEVELS:
            return set()
        first: dict[Any, int] = {}
        for row, value in enumerate(values.to_pylist()):
            first.setdefault(value, row)
        new = {row for value, row in first.items() if value not in self.levels}
        self.levels |= first.keys()
        return new

    def _new_extremes(self, x: NDArray[Any]) -> set[int]:
        if not len(x) or np.isnan(x).all():
            return set()
        low, high = int(np.nanargmin(x)), int(np.nanargmax(x))
        found = {low} if x[low] < self.low else set()
        found |= {high} if x[high] > self.high else set()
        self.low, self.high = min(self.low, x[low]), max(self.high, x[high])
        return found
