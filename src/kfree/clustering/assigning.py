"""Further rows given to the clusters of a fitted model, a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.clustering.frames import values_of
from kfree.clustering.preparation import Preparation
from kfree.clustering.tables import FrameTable, NamedFilesTable, group_names, require_columns
from kfree.core.stats import Floats, Labels, Mask
from kfree.explain.view import view_by_distances
from kfree.files.places import arrow
from kfree.files.rows import FileRows
from kfree.tables.columns import NUMBER
from kfree.validation.parameters import require_choice

_ROWS_AT_ONCE = 65536
UNSEEN = ["error", "missing", "new"]
SCORES = ["confidence", "outlier_score"]


@dataclass(frozen=True)
class Assigned:
    """``columns`` of the rows that could be used, by name; a mask of these rows; and how many have unseen levels.

    ``filled`` is how many missing values of rows with a cluster were filled in, and in how many rows.
    """

    columns: dict[str, NDArray[Any]]
    kept: Mask
    n_unseen: int
    filled: tuple[int, int]

    @property
    def labels(self) -> Labels:
        """Labels of all rows, −1 where values are missing that were not filled in."""
        return with_gaps(self.columns["cluster"], self.kept)


@dataclass(frozen=True)
class _Rows:
    """Rows to label: their numbers in the table, and their groups as the model calls them, None where it has none."""

    numbers: NDArray[np.int64]
    X: NDArray[Any]
    groups: NDArray[Any] | None = None

    def by_group(self, names: NDArray[Any], fitted: NDArray[Any]) -> tuple[_Rows, _Rows]:
        """Those of ``fitted`` groups, which may be numbers where names are texts, and those of new ones."""
        known = {_text(name): name for name in fitted.tolist()}
        texts = np.array([_text(name) for name in names.tolist()], dtype=str)
        is_known = np.array([name in known for name in texts.tolist()], dtype=bool)
        groups = np.array([known[name] for name in texts[is_known].tolist()])
        old = _Rows(self.numbers[is_known], self.X[is_known], groups)
        return old, _Rows(self.numbers[~is_known], self.X[~is_known], texts[~is_known])


def assigned(
    model: Any,
    plan: Preparation,
    table: FrameTable | NamedFilesTable,
    *,
    allow_new: bool = False,
    unseen: str = "error",
    scores: bool = False,
) -> Assigned:
    """The cluster of each row of a table, and with ``scores`` how certain it is.

    Rows of a group that the model does not know choose together which clusters they use. They may be anywhere in the
    table, so they are kept in memory until all are read: 8 bytes for each number of a row.
    """
    require_like_fit(plan, table)
    require_unseen(plan, unseen)
    kept, has_unseen = np.zeros(table.n_rows, dtype=bool), np.zeros(table.n_rows, dtype=bool)
    columns: dict[str, NDArray[Any]] = {"cluster": np.full(table.n_rows, -1, dtype=np.int32)}
    columns |= {name: np.empty(table.n_rows) for name in SCORES if scores}

    def answer(rows: _Rows) -> None:
        for name, values in _answers(model, rows, allow_new, scores).items():
            columns[name][rows.numbers] = values

    n_filled = n_with_filled = 0
    waiting, begin, group = [], 0, [] if plan.group is None else [plan.group]
    for batch in table.as_written(group).batches([*plan.columns, *group]):
        prepared = plan.matrix(table.title, batch, begin, unseen)
        place = slice(begin, begin + len(prepared.kept))
        kept[place], has_unseen[place] = prepared.kept, prepared.has_unseen
        gaps = prepared.gaps if unseen == "missing" else prepared.gaps[~prepared.has_unseen[prepared.kept]]
        n_filled, n_with_filled = n_filled + int(gaps.sum()), n_with_filled + int(gaps.any(axis=1).sum())
        rows = _Rows(begin + np.flatnonzero(prepared.kept), prepared.X)
        if plan.group is not None:
            names = group_names(_values(batch, plan.group)[prepared.kept], rows.numbers, table.title)
            rows, new = rows.by_group(names, model.groups_)
            waiting.append(new)
        answer(rows)
        begin = place.stop
    if waiting:
        parts = zip(*((rows.numbers, rows.X, rows.groups) for rows in waiting), strict=True)
        answer(_Rows(*map(np.concatenate, parts)))
    used, found = _with_new(columns, kept, has_unseen, unseen == "new")
    return Assigned(found, used, int(has_unseen.sum()), (n_filled, n_with_filled))


def _with_new(
    columns: dict[str, NDArray[Any]], kept: Mask, has_unseen: Mask, are_new: bool
) -> tuple[Mask, dict[str, NDArray[Any]]]:
    """The rows that are used, and what is assigned to them: −1 to those with unseen levels if these ``are_new``.

    A new row has no scores where nothing stands for its missing values: they are masked.
    """
    used = kept | has_unseen if are_new else kept
    labels = np.where(has_unseen, np.int32(-1), columns["cluster"]) if are_new else columns["cluster"]
    if (used & ~kept).any():
        columns = {name: np.ma.masked_where(~kept, values) for name, values in columns.items()}
    return used, {name: values[used] for name, values in (columns | {"cluster": labels}).items()}


def _answers(model: Any, rows: _Rows, allow_new: bool, scores: bool) -> dict[str, NDArray[Any]]:
    """The labels of some rows, and their scores if these are wanted."""
    if not len(rows.X):
        return {}
    if rows.groups is None:
        labels = model.predict(rows.X, **({"allow_new": True} if allow_new else {}))
        return {"cluster": labels} | (scores_of(model, rows.X) if scores else {})
    labels = model.predict(rows.X, groups=rows.groups)
    if not (allow_new or scores):
        return {"cluster": labels}
    outlier_score = model.outlier_score(rows.X)
    # A group decides which clusters its rows may be in, so that confidence needs the labels that they have.
    blocks = [(slice(0, len(labels)), model.transform(rows.X))]
    view = view_by_distances(blocks, labels, model.cluster_centers_, distance="distance to the centre")
    labels = np.where(outlier_score > 1, np.int32(-1), labels) if allow_new else labels
    return {"cluster": labels} | ({"confidence": view.confidence, "outlier_score": outlier_score} if scores else {})


def require_like_fit(plan: Preparation, table: FrameTable | NamedFilesTable) -> None:
    """Raise unless a table has the columns of the fit, and numbers where that had numbers.

    A column of a text file may hold none because of some of its cells, which are named then.
    """
    require_columns(table, [*plan.columns, *([] if plan.group is None else [plan.group])], "a column of the model")
    encoders = [None] * len(plan.columns) if plan.encoder is None else plan.encoder.encoders_
    for name, encoder in zip(plan.columns, encoders, strict=True):
        if (encoder is not None and encoder.family != NUMBER) or table.is_number(name):
            continue
        mistake = table.mistake(name, 1.0)
        if mistake is not None:
            raise ValueError(f"{table.title}, column {name!r}{mistake.with_remedy()}. Correct such cells.")
        if encoder is None:  # which would say the same
            raise ValueError(
                f"{table.title}: column {name!r} held numbers at fit and holds {table.word(name)} now; give it the "
                "type that it had."
            )


def require_unseen(plan: Preparation, unseen: str) -> None:
    """Raise unless this can be done about levels that the rows of the fit did not have."""
    require_choice("unseen", unseen, UNSEEN)
    if unseen != "error" and plan.encoder is None:
        raise ValueError(f"unseen={unseen!r} is for tables that were encoded, whose columns have levels; leave it out.")


def scores_of(model: Any, rows: Any) -> dict[str, Floats]:
    """How certain the label of each row is, and how far it is out; rows of files are read a few at a time."""
    if not isinstance(rows, FileRows):
        if not rows.shape[0]:  # all were left out
            return {name: np.empty(0) for name in SCORES}
        return {name: getattr(model, name)(rows) for name in SCORES}
    parts = [scores_of(model, chunk.X) for chunk in rows.chunks(0, rows.n_rows, _ROWS_AT_ONCE)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _text(name: Any) -> str:
    """The name of a group as text: 1.0 is 1, as files of numbers with gaps call it."""
    return str(int(name) if isinstance(name, float) and name.is_integer() else name)


def _values(batch: Any, name: str) -> NDArray[Any]:
    """A column of a batch, which is a frame or a dict of arrays."""
    return values_of(arrow("").table({name: batch[name]}) if isinstance(batch, dict) else batch, name)


def with_gaps(labels: Labels, used: Mask) -> Labels:
    """Labels of the rows that were used at their places among all rows, −1 elsewhere."""
    filled = np.full(len(used), -1, dtype=np.int32)
    filled[used] = labels
    return filled
