"""Rows that stand for all of them where these do not fit in memory: for scales, summaries and pages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.clustering.frames import gaps_of
from kfree.clustering.preparation import Preparation
from kfree.clustering.tables import FilesTable
from kfree.files.formats import as_numbers
from kfree.files.places import arrow

SAMPLE_ROWS = 100_000
# More levels than a column of categories can have.
_MANY_LEVELS = 1000


def sample(table: FilesTable, plan: Preparation, is_encoded: bool) -> tuple[Any, NDArray[np.int64]]:
    """Rows spread evenly over a table, with the extremes and levels of all columns if these are encoded.

    All rows are read, so that a missing value is found wherever it is, if that is an error.
    """
    parts, numbers, begin, step = [], list[int](), 0, step_of(table)
    seen = {name: _Seen() for name in plan.columns} if is_encoded else {}
    for batch in table.batches(plan.columns):
        n_rows = len(next(iter(batch.values())))
        plan.complete(table.title, gaps_of(arrow("").table(batch)), begin)
        picked = set(range(-begin % step, n_rows, step))
        for name, known in seen.items():
            picked |= known.new_in(batch[name])
        rows = sorted(picked)
        parts.append(arrow("").table(batch).take(rows))
        numbers += [begin + row for row in rows]
        begin += n_rows
    return arrow("").concat_tables(parts, promote_options="permissive").unify_dictionaries(), np.array(numbers)


def step_of(table: FilesTable) -> int:
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
