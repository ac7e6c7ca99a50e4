"""From a table to rows of numbers: the choice of columns, and a TableEncoder where one is needed."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from kfree.cli.advice import in_options
from kfree.cli.console import LIKE_IDENTIFIERS
from kfree.cli.errors import CommandError, UsageError
from kfree.core.marks import OneOf
from kfree.core.printing import quoted
from kfree.explain.units import NUMBER
from kfree.files.formats import as_numbers
from kfree.files.places import arrow
from kfree.files.rows import rows_of
from kfree.files.table import mistake_in
from kfree.tables.fitting import TextColumnsError

# Fewer rows than this are all different in many columns that are no identifiers.
_FEWEST_TO_IDENTIFY = 20
# Rows that stand for all of them where these do not fit in memory: for scales, summaries and pages.
SAMPLE_ROWS = 100_000
# More levels than a column of categories can have.
_MANY_LEVELS = 1000


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
    """

    columns: list[str]
    missing: str = "error"
    group: str | None = None
    encoder: Annotated[Any, OneOf({"table": "kfree.tables.encoder:TableEncoder"})] | None = None

    @property
    def needed(self):
        """The columns that a further table must have: those that were left out for being constant are not."""
        left_out = {} if self.encoder is None else self.encoder.left_out_
        return [name for name in self.columns if name not in left_out]

    def matrix(self, title, batch, first_row=0):
        """The rows of a batch that can be used, as numbers, and a mask of these rows."""
        if self.encoder is None:
            X = np.column_stack([as_numbers(batch[name]) for name in self.columns])
            kept = _complete(title, self, np.isnan(X), first_row)
            return X[kept], kept
        frame = self.frame(batch)
        kept = _complete(title, replace(self, columns=self.needed), _gaps(frame.select(self.needed)), first_row)
        if not kept.any():
            return np.empty((0, len(self.encoder.get_feature_names_out()))), kept
        try:
            return np.asarray(self.encoder.transform(frame.filter(kept))), kept
        except ValueError as error:
            raise CommandError(f"{title}: {in_options(str(error))}") from error

    def frame(self, batch):
        """The columns of a batch as a table of pyarrow; those that are not needed may be absent."""
        n_rows = len(batch[self.needed[0]])
        absent = arrow("").nulls(n_rows)
        return arrow("").table({name: batch.get(name, absent) for name in self.columns})

    def in_units(self, X):
        """Rows, or means of rows, in the units of the table; see :meth:`kfree.TableEncoder.in_units`."""
        return X if self.encoder is None else self.encoder.in_units(X)

    @property
    def units_out(self):
        """What the numbers of :meth:`in_units` are; see :class:`kfree.TableEncoder`."""
        return [NUMBER] * len(self.columns) if self.encoder is None else self.encoder.units_out

    def get_feature_names_out(self):
        """Names of the columns of the rows."""
        return self.columns if self.encoder is None else [str(name) for name in self.encoder.get_feature_names_out()]


def chosen_columns(table, columns, drop, other_uses, encode, say):
    """The columns to use: the given ones, or all that are numbers (or encoded); remarks name those left out."""
    table.require([*(columns or []), *drop], "--columns or --drop")
    names = [name for name in columns or table.names if name not in drop and name not in other_uses]
    text = [name for name in names if table.type(name).numpy is None]
    if text and not encode:
        for name in text:
            _require_no_mistake(table, name)
        if columns:
            raise CommandError(
                f"{table.title}: column {text[0]!r} of --columns holds {table.type(text[0]).word}, not numbers. Leave "
                "it out, or encode text with --encode."
            )
        say(f"left out {len(text)} column(s) that are not numbers: {quoted(text)} (--encode uses them)")
        names = [name for name in names if name not in text]
    if not names:
        raise CommandError(
            f"{table.title} has no column of numbers to cluster; it has {quoted(table.names)}. Use --encode for text, "
            "or give the right --delimiter."
        )
    return names


def encoder_for(options, missing):
    """The encoder that options ask for, not yet fitted; None if columns of numbers stay as they are."""
    from kfree import TableEncoder

    shared = {"missing": "error" if missing == "drop" else missing, "weights": options.weights or None}
    if options.encode:
        return TableEncoder(categories=options.categories, fold=options.fold_levels, **shared)
    if options.standardize or missing == "mean" or options.weights:
        scale = "deviation" if options.standardize else "none"
        return TableEncoder(transforms="identity", scale=scale, **shared)
    return None


def prepared(table, plan, encoder, drop_text, say):
    """All rows in memory, a mask of those that can be used, and the preparation with its fitted encoder."""
    if encoder is None:
        rows = rows_of(table.table, [table.columns[name] for name in plan.columns])
        (chunk,) = rows.chunks(0, table.n_rows, table.n_rows, missing=True)
        gaps = np.isnan(chunk.X) if np.isnan(chunk.X.sum()) else np.zeros((table.n_rows, 1), dtype=bool)
        kept = _complete(table.title, plan, gaps)
        return chunk.X if kept.all() else chunk.X[kept], kept, plan
    frame = table.read(plan.columns)
    gaps = _gaps(frame)
    kept = _complete(table.title, plan, gaps)
    plan, frame = with_encoder(table, plan, encoder, frame.filter(kept), drop_text, say)
    gaps = _gaps(frame.select(plan.needed))
    if gaps.any():
        where = "the nearest rows" if plan.missing == "nearest" else "the means of their columns"
        say(f"took {int(gaps.sum())} missing values of {int(gaps.any(axis=1).sum())} rows from {where}")
    return np.asarray(plan.encoder.transform(frame)), kept, plan


def with_encoder(table, plan, encoder, frame, drop_text, say):
    """The preparation with its encoder, fitted to a table of pyarrow; and this table, perhaps without text."""
    try:
        return replace(plan, encoder=encoder.fit(frame)), frame
    except TextColumnsError as error:
        text, rest = list(error.faults), [name for name in plan.columns if name not in error.faults]
        if not drop_text or not rest:
            named = ",".join(text)
            raise CommandError(
                f"{table.title}: {' '.join(error.faults.values())} Leave such columns out with --drop-text (or --drop "
                f"{named}), or give --categories {named} if their values are categories."
            ) from error
        say(f"left out {len(text)} column(s) of text, or of names of rows: {quoted(text)}")
        return with_encoder(table, replace(plan, columns=rest), encoder, frame.select(rest), drop_text, say)
    except ValueError as error:
        raise CommandError(f"{table.title}: {in_options(str(error))}") from error


def streamed(table, plan, encoder, weight, drop_text, say):
    """The rows as a stream, some of them in memory, the numbers of these, and the preparation."""
    if plan.missing == "drop":
        raise UsageError("--missing drop takes all rows in memory; give more --memory, or another --missing")
    frame, numbers = _sample(table, plan.columns, encoder)
    if encoder is not None:
        plan, frame = with_encoder(table, plan, encoder, frame, drop_text, say)
    rows = rows_of(table.table, [table.columns[name] for name in plan.columns], weight, plan.encoder)
    spread = np.flatnonzero(numbers % _step(table) == 0)
    frame = frame.take(spread)
    X, kept = plan.matrix(table.title, {name: frame.column(name).combine_chunks() for name in plan.columns})
    return rows, X, numbers[spread][kept], plan


def warn_about_codes(table, plan, names, X, say):
    """Name columns of whole numbers that differ in every row or have leading zeros; ``names`` are those of X."""
    codes = [name for name in plan.columns if name in table.codes and name in names]
    if codes:
        say(
            f"warning: column(s) {quoted(codes)} hold whole numbers with leading zeros, like codes, and are compared "
            f"by size; leave them out with --drop {','.join(codes)}, or give --encode --categories {','.join(codes)}"
        )
    whole = [name for name in plan.columns if table.type(name).is_whole and name in names]
    alike = [name for name in whole if len(np.unique(X[:, names.index(name)])) == len(X) >= _FEWEST_TO_IDENTIFY]
    if alike:
        say(
            f"warning: column(s) {quoted(alike)} hold {LIKE_IDENTIFIERS}, like identifiers; leave "
            f"them out with --drop {','.join(alike)} unless they are measurements"
        )


def _sample(table, columns, encoder):
    """Rows spread evenly over the table, with the extremes and levels of all columns if an encoder needs them."""
    parts, numbers, begin, step = [], [], 0, _step(table)
    seen = {name: _Seen() for name in columns} if encoder is not None else {}
    for batch in table.batches(columns):
        n_rows = len(next(iter(batch.values())))
        picked = set(range(-begin % step, n_rows, step))
        for name, known in seen.items():
            picked |= known.new_in(batch[name])
        rows = sorted(picked)
        parts.append(arrow("").table(batch).take(rows))
        numbers += [begin + row for row in rows]
        begin += n_rows
    return arrow("").concat_tables(parts, promote_options="permissive").unify_dictionaries(), np.array(numbers)


class _Seen:
    """The range or the levels of a column so far."""

    def __init__(self):
        self.low, self.high, self.levels = np.inf, -np.inf, set()

    def new_in(self, values):
        """Rows of a batch that widen the range, or have a level that none had before."""
        kinds = arrow("types")
        if isinstance(values, np.ndarray) or kinds.is_integer(values.type) or kinds.is_floating(values.type):
            x = as_numbers(values)
            if not len(x) or np.isnan(x).all():
                return set()
            low, high = int(np.nanargmin(x)), int(np.nanargmax(x))
            found = {low} if x[low] < self.low else set()
            found |= {high} if x[high] > self.high else set()
            self.low, self.high = min(self.low, x[low]), max(self.high, x[high])
            return found
        if len(self.levels) > _MANY_LEVELS:
            return set()
        first = {}
        for row, value in enumerate(values.to_pylist()):
            first.setdefault(value, row)
        new = {row for value, row in first.items() if value not in self.levels}
        self.levels |= first.keys()
        return new


def _step(table):
    return max(1, -(-table.n_rows // SAMPLE_ROWS))


def _gaps(frame):
    """Where values are missing, (n_rows, n_columns)."""
    pc = arrow("compute")
    return np.column_stack([pc.is_null(column, nan_is_null=True).to_numpy() for column in frame.columns])


def _complete(title, plan, gaps, first_row=0):
    """A mask of the rows without missing values, which are an error unless they are dropped."""
    kept = ~gaps.any(axis=1)
    if kept.all() or (plan.missing == "drop" and kept.any()):
        return kept
    if plan.missing not in ("error", "drop"):
        return np.ones(len(kept), dtype=bool)
    per_column = gaps.sum(axis=0)
    holes = [f"{plan.columns[j]!r} ({per_column[j]})" for j in np.flatnonzero(per_column)]
    shown = ", ".join(holes[:8]) + (f" and {len(holes) - 8} more" if len(holes) > 8 else "")
    row = first_row + int(kept.argmin()) + 1
    raise CommandError(
        f"{title} has missing values in {len(holes)} column(s): {shown}; the first is in row {row}. Use --missing drop "
        "to leave such rows out, --missing mean to fill in means, --missing nearest (with --encode) to take them from "
        "the nearest row, or --drop to leave columns out."
    )


def _require_no_mistake(table, name):
    """Raise if a column of text is one of numbers but for a few cells."""
    mistake = mistake_in(table.table.files, table.columns[name]) if table.type(name).word == "text" else ""
    if mistake:
        raise CommandError(f"{table.title}, column {name!r}{mistake}. Correct it, or leave the column out with --drop.")
