"""Further rows given to the clusters of a fitted model, a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.clustering.frames import values_of
from kfree.clustering.preparation import Preparation
from kfree.clustering.tables import FilesTable, FrameTable, require_columns
from kfree.core.stats import Floats, Labels, Mask
from kfree.files.rows import FileRows
from kfree.tables.columns import NUMBER
from kfree.validation.parameters import require_choice

_ROWS_AT_ONCE = 65536
UNSEEN = ["error", "missing", "new"]


@dataclass(frozen=True)
class Assigned:
    """``columns`` of the rows that could be used, by name; a mask of these rows; and how many have unseen levels."""

    columns: dict[str, NDArray[Any]]
    kept: Mask
    n_unseen: int

    @property
    def labels(self) -> Labels:
        """Labels of all rows, −1 where values are missing that were not filled in."""
        return with_gaps(self.columns["cluster"], self.kept)


def assigned(
    model: Any,
    plan: Preparation,
    table: FrameTable | FilesTable,
    *,
    allow_new: bool = False,
    unseen: str = "error",
    scores: bool = False,
) -> Assigned:
    """The cluster of each row of a table, and with ``scores`` how certain it is."""
    require_like_fit(plan, table)
    require_unseen(plan, unseen)
    parts, kept, has_unseen, begin = [], [], [], 0
    # Rows of a group are labelled together.
    size = {} if plan.group is None else {"size": table.n_rows}
    for batch in table.batches([*plan.columns, *([] if plan.group is None else [plan.group])], **size):
        rows = plan.matrix(table.title, batch, begin, unseen)
        groups = {} if plan.group is None else {"groups": _groups(batch, plan.group)[rows.kept]}
        new = {"allow_new": True} if allow_new else {}
        labels = model.predict(rows.X, **groups, **new) if len(rows.X) else np.empty(0, dtype=np.int32)
        parts.append({"cluster": labels} | (scores_of(model, rows.X) if scores else {}))
        kept.append(rows.kept)
        has_unseen.append(rows.has_unseen)
        begin += len(rows.kept)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    all_kept, all_unseen = np.concatenate(kept), np.concatenate(has_unseen)
    columns, used = _with_new(columns, all_kept, all_unseen & (unseen == "new"))
    return Assigned(columns, used, int(all_unseen.sum()))


def _with_new(columns: dict[str, NDArray[Any]], kept: Mask, is_new: Mask) -> tuple[dict[str, NDArray[Any]], Mask]:
    """What is assigned to the ``kept`` rows and to those that are new, with the label −1; and a mask of all these.

    A new row has no scores where nothing stands for its missing values: they are masked.
    """
    used = kept | is_new
    if not kept[used].all():
        for name, values in columns.items():
            columns[name] = np.ma.masked_all(int(used.sum()), values.dtype)
            columns[name][kept[used]] = values
    labels = np.where(is_new[used], np.int32(-1), np.ma.filled(columns["cluster"], -1))
    return columns | {"cluster": labels}, used


def require_like_fit(plan: Preparation, table: FrameTable | FilesTable) -> None:
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
            return {"confidence": np.empty(0), "outlier_score": np.empty(0)}
        return {"confidence": model.confidence(rows), "outlier_score": model.outlier_score(rows)}
    parts = [scores_of(model, chunk.X) for chunk in rows.chunks(0, rows.n_rows, _ROWS_AT_ONCE)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _groups(batch: Any, name: str) -> NDArray[Any]:
    if isinstance(batch, dict):
        return np.asarray(batch[name].to_numpy(zero_copy_only=False))
    return values_of(batch, name)


def with_gaps(labels: Labels, used: Mask) -> Labels:
    """Labels of the rows that were used at their places among all rows, −1 elsewhere."""
    filled = np.full(len(used), -1, dtype=np.int32)
    filled[used] = labels
    return filled
