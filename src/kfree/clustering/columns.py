"""Which columns of a table are used, and how: what the caller asks for, and what the table allows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.clustering.frames import filtered, selected
from kfree.clustering.preparation import AT_FIT, OF_PLACES, Preparation
from kfree.clustering.tables import require_columns, row_numbers
from kfree.core.printing import first_few, quoted
from kfree.core.stats import Floats, Mask
from kfree.exceptions import DataAdvice
from kfree.explain.certainty import counted
from kfree.files.table import mark_remedy
from kfree.tables.encoder import TableEncoder
from kfree.tables.fitting import TextColumnsError
from kfree.tables.gaps import EmptyRowsError
from kfree.validation.parameters import require, require_choice

PREPARE = ["encode", "standardize", "none"]
MISSING = ["nearest", "mean", "drop", "error"]
# Fewer rows than this are all different in many columns that are no identifiers.
_FEWEST_TO_IDENTIFY = 20
# Identifiers may come again in a few rows.
_NEARLY_ALL = 0.98
# Columns of text are columns of numbers with mistakes in them if at most this share are none: where text would be left
# out, and where it may be levels.
_MANY_MISTAKES, _FEW_MISTAKES = 0.5, 0.1
# Columns with more different codes are no categories.
_MOST_LEVELS = 50
# Names of columns of degrees.
_LATITUDE, _LONGITUDE = re.compile(r"(?i)lat(itude)?"), re.compile(r"(?i)lng|lon(g(itude)?)?")
_LIKE_IDENTIFIERS = "a different whole number in nearly every row"

Say = Callable[[str], object]


@dataclass(frozen=True)
class ColumnOptions:
    """The parameters of :func:`kfree.cluster` about columns.

    ``others`` are columns that are not clustered, by the parameter that names them; ``group`` names groups.
    ``columns`` are named by ``geo`` where these are degrees of places.
    """

    prepare: str = "encode"
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    others: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    categories: Sequence[str] | None = None
    weights: Mapping[str, float] | None = None
    fold: bool = False
    missing: str | None = None
    are_places: bool = False

    def __post_init__(self) -> None:
        require_choice("prepare", self.prepare, PREPARE)
        if self.missing is not None:
            require_choice("missing", self.missing, MISSING)
        if self.prepare == "encode":
            return
        if self.missing == "nearest":
            allowed = "another with geo, which uses its two columns as they are"
            require(not self.are_places, "missing", self.missing, allowed)
            raise ValueError("missing='nearest' needs prepare='encode'; give that, or another missing.")
        if self.categories or self.fold:
            raise ValueError("categories and fold need prepare='encode'; give that, or leave them out.")

    @property
    def treatment(self) -> str:
        """What is done about missing values."""
        return self.missing or ("nearest" if self.prepare == "encode" else "error")

    @property
    def remedy_of_gaps(self) -> str:
        """What to do about missing values that are an error."""
        return OF_PLACES if self.are_places else AT_FIT

    def encoder(self) -> TableEncoder | None:
        """The encoder that is asked for, not yet fitted; None if columns of numbers stay as they are."""
        missing = "error" if self.treatment == "drop" else self.treatment
        shared: dict[str, Any] = {"missing": missing, "weights": self.weights or None}
        if self.prepare == "encode":
            return TableEncoder(categories=self.categories, fold=self.fold, **shared)
        if self.prepare == "standardize" or missing == "mean" or self.weights:
            scale = "deviation" if self.prepare == "standardize" else "none"
            return TableEncoder(transforms="identity", scale=scale, **shared)
        return None

    def require_in(self, table: Any) -> None:
        """Raise unless the table has the columns that are named."""
        named = {"geo" if self.are_places else "columns": self.columns, "drop": self.drop}
        named |= {"categories": self.categories, "weights": list(self.weights or {})}
        for parameter, names in (named | {parameter: [name] for parameter, name in self.others.items()}).items():
            require_columns(table, names or [], parameter)


def prepare_of(asked: str | None, table: Any, metric: str) -> str:
    """What is done with columns: what is asked for, else they are encoded.

    Columns without names, those of an array, are used as they are. So are directions, which encoded columns would turn.
    """
    return asked or ("none" if table.is_array or metric == "cosine" else "encode")


def chosen_columns(table: Any, options: ColumnOptions, say: Say) -> list[str]:
    """The columns to use: the given ones, or all that are numbers (or encoded); remarks name those left out."""
    asked = options.columns or table.names
    names = [name for name in asked if name not in {*options.drop, *options.others.values()}]
    if not names:
        raise ValueError(f"{table.title}: all columns are left out, {_by_whom(asked, options)}. Keep at least one.")
    text = [name for name in names if not table.is_number(name)]
    if options.prepare == "encode":
        undeclared = [name for name in text if name not in (options.categories or ())]
        _require_readable(table, undeclared, _FEW_MISTAKES, may_be_levels=True)
        text = []
    _require_readable(table, text, _MANY_MISTAKES, may_be_levels=False)
    if text and options.columns:
        raise ValueError(
            f"{table.title}: column {text[0]!r} of columns holds {table.word(text[0])}, not numbers. Leave it out, or "
            "encode text with prepare='encode'."
        )
    if text:
        say(f"left out {len(text)} column(s) that are not numbers: {quoted(text)} (prepare='encode' uses them)")
        names = [name for name in names if name not in text]
    if not names:
        raise ValueError(
            f"{table.title} has no column of numbers to cluster; it has {quoted(table.names)}. Use prepare='encode' "
            "for text, or give the right delimiter."
        )
    return names


def _by_whom(names: Sequence[str], options: ColumnOptions) -> str:
    """Columns with the parameters that leave them out."""
    dropped = [name for name in names if name in options.drop]
    others = [f"{name!r} by {parameter}" for parameter, name in options.others.items() if name in names]
    return " and ".join([f"{quoted(dropped)} by drop"] * bool(dropped) + others)


def without_row_numbers(table: Any, columns: list[str], options: ColumnOptions, say: Say) -> list[str]:
    """The columns without those that count rows, unless these are named by the caller or are all there is."""
    named = {*(options.columns or ()), *(options.categories or ()), *(options.weights or ())}
    if options.prepare == "none" or table.n_rows < _FEWEST_TO_IDENTIFY:
        return columns
    counts = row_numbers(table, table.whole([name for name in columns if name not in named]))
    if not counts or len(counts) == len(columns):
        return columns
    say(f"left out {len(counts)} column(s) that number the rows: {quoted(counts)} (columns=[…] uses them)")
    return [name for name in columns if name not in counts]


def with_encoder(
    table: Any, plan: Preparation, encoder: TableEncoder, frame: Any, named: Sequence[str], say: Say
) -> tuple[Preparation, Any, Floats, Mask]:
    """The preparation with its encoder, fitted to a frame; what is left of this frame; its rows, and a mask of them.

    Columns of text, and of names of rows, are left out, unless the caller ``named`` them. So are rows without a value.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="TableEncoder leaves out")  # said below
            rows = np.asarray(encoder.fit_transform(frame))
    except TextColumnsError as error:
        text = list(error.faults)
        if set(text) & set(named) or len(text) == len(plan.columns):
            told = "; ".join(f"column {name!r} holds {fault}" for name, fault in error.faults.items())
            raise ValueError(
                f"{table.title}: {told}. Leave such columns out with drop={text}, or give categories={text} if their "
                "values are categories."
            ) from error
        say(f"left out {len(text)} column(s): {_with_reasons(error.faults)}. Give categories={text} to use them")
        plan, frame = _without(text, plan, encoder, frame)
        return with_encoder(table, plan, encoder, frame, named, say)
    except EmptyRowsError as error:
        used = np.ones(frame.shape[0], dtype=bool)
        used[error.rows] = False
        plan, frame, rows, used[used] = with_encoder(table, plan, encoder, filtered(frame, used), named, say)
        return plan, frame, rows, used
    except ValueError as error:
        raise ValueError(f"{table.title}: {error}") from error
    if encoder.left_out_:
        say(f"left out: {_with_reasons(encoder.left_out_)}")
        plan, frame = _without(list(encoder.left_out_), plan, encoder, frame)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataAdvice)  # said by the first fit
            rows = np.asarray(encoder.fit_transform(frame))
    return replace(plan, encoder=encoder), frame, rows, np.ones(len(rows), dtype=bool)


def _without(names: list[str], plan: Preparation, encoder: TableEncoder, frame: Any) -> tuple[Preparation, Any]:
    """Preparation and frame without some columns, which a further table need not have then."""
    rest = [name for name in plan.columns if name not in names]
    weights = {name: weight for name, weight in (encoder.weights or {}).items() if name in rest}
    categories = [name for name in encoder.categories or [] if name in rest]
    encoder.set_params(weights=weights or None, categories=categories or None)
    return replace(plan, columns=rest), selected(frame, rest)


def tell_of_codes(table: Any, plan: Preparation, X: NDArray[Any], is_encoded: bool, say: Say) -> None:
    """Name columns of whole numbers that differ in every row or have leading zeros."""
    place = {name: j for j, name in enumerate(plan.get_feature_names_out())}
    known = [name for name in plan.columns if name in place]
    codes = sorted(table.codes.intersection(known))
    if codes:
        few = [name for name in codes if len(np.unique(X[:, place[name]])) <= _MOST_LEVELS]
        encode = "" if is_encoded else "prepare='encode' and "
        say(
            f"warning: column(s) {quoted(codes)} hold whole numbers with leading zeros, like codes, and are compared "
            f"by size; leave them out with drop={codes}" + (f", or give {encode}categories={few}" if few else "")
        )
    whole = table.whole(known) if len(X) >= _FEWEST_TO_IDENTIFY else []
    alike = [name for name in whole if len(np.unique(X[:, place[name]])) >= _NEARLY_ALL * len(X)]
    if alike:
        say(
            f"warning: column(s) {quoted(alike)} hold {_LIKE_IDENTIFIERS}, like identifiers; leave "
            f"them out with drop={alike} unless they are measurements"
        )


def tell_of_places(table: Any, names: list[str], say: Say) -> None:
    """Name columns of latitude and longitude that are clustered as numbers."""
    found = [[name for name in names if one.fullmatch(name.strip())] for one in (_LATITUDE, _LONGITUDE)]
    pair = [alike[0] for alike in found if alike and table.is_number(alike[0])]
    if len(pair) < 2:
        return
    say(
        f"warning: columns {pair[0]!r} and {pair[1]!r} look like latitude and longitude; differences of degrees are "
        f"not distances. Give geo={tuple(pair)} to cluster places on the Earth"
    )


def tell_of_zones(plan: Preparation, say: Say) -> None:
    """Name columns of dates that have another time zone than UTC, in which they are told."""
    encoders = [] if plan.encoder is None else plan.encoder.encoders_
    zones = {one.name: zone for one in encoders if (zone := getattr(one, "zone", None)) not in (None, "UTC")}
    if zones:
        told = first_few([f"{name!r} ({zone})" for name, zone in zones.items()])
        say(f"dates are told in UTC, not in their time zone, in column(s) {told}")


def tell_of_marks(table: Any, names: list[str], say: Say) -> None:
    """Name the cells of columns that were read as missing values, though nobody said that they are."""
    found = {name: marks for name, marks in table.marks.items() if name in names}
    if found:
        told = [f"{name!r} ({', '.join(f'{mark!r} {n} times' for mark, n in found[name].items())})" for name in found]
        say(f"warning: marks among numbers or dates are read as missing values, in column(s) {first_few(told)}")


def tell_of_filled(plan: Preparation, n_values: int, n_rows: int, say: Say, then: str = "") -> None:
    """Say how many missing values were filled in, in how many rows, and what follows."""
    if n_values:
        where = "the nearest rows" if plan.missing == "nearest" else "the means of their columns"
        say(f"took {counted(n_values, 'missing value')} of {counted(n_rows, 'row')} from {where}{then}")


def _require_readable(table: Any, names: list[str], share: float, may_be_levels: bool) -> None:
    """Raise one error about all columns of text that hold numbers but for a few cells, or dates of several forms."""
    mistakes = {name: mistake for name in names if (mistake := table.mistake(name, share))}
    dates = {name: forms for name in names if name not in mistakes and (forms := table.date_forms(name))}
    if not mistakes and not dates:
        return
    told = [f"column {name!r}{mistake.clause}" for name, mistake in mistakes.items()]
    told += [f"column {name!r}{forms}" for name, forms in dates.items()]
    marks = list(dict.fromkeys(cell for mistake in mistakes.values() for cell in mistake.cells))
    doubtful = {name: mistake.mark for name, mistake in mistakes.items() if mistake.mark}
    rest = [name for name, one in mistakes.items() if not one.cells and name not in doubtful] + list(dates)
    options = ([f"na={marks}"] if marks else []) + ([f"drop={rest}"] if rest else [])
    effects = (["such cells are missing values then"] if marks else []) + (
        ["such columns are left out"] if rest else []
    )
    advice = [f"For {quoted(doubtful)} {mark_remedy(mark)}." for mark in dict.fromkeys(doubtful.values())]
    if options:
        corrected = "Correct such cells" + (" (dates as 2024-12-31)" if dates else "")
        advice.append(f"{corrected}, or give {' and '.join(options)}: {', '.join(effects)}.")
    levels = [name for name in mistakes if name not in doubtful]
    if levels and may_be_levels:
        advice.append(f"If all values are categories, give categories={levels}.")
    raise ValueError(f"{table.title}: {'; '.join(told)}. {' '.join(advice)}")


def _with_reasons(left_out: dict[str, str]) -> str:
    """Columns and why they are left out."""
    return first_few([f"{name!r} ({why})" for name, why in left_out.items()])
