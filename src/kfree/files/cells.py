"""Cells that pyarrow's parser takes for words: dates by day and month, numbers with units or marks between thousands,
columns of numbers with a decimal mark of their own, and marks of missing values among numbers and dates."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from kfree.core import packed_dates
from kfree.core.packed_dates import FORM as _PACKED
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.files.dialect import Dialect
from kfree.files.numbers import MARKS, NumberForm, any_match, first_with_unit, forms_of
from kfree.files.places import arrow

_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}[./-]\d{4}(?:([ T])\d{1,2}:\d{2}(:\d{2})?)?")
_YEAR_FIRST = re.compile(r"\d{4}([./-])\d{1,2}[./-]\d{1,2}(?:([ T])\d{1,2}:\d{2}(:\d{2})?.*)?")
_MONTHS = 12
# The rule of a column of numbers of which only marks of missing values are left.
PLAIN_NUMBER = "number"


@dataclass(frozen=True)
class DateForm:
    """How all dates of a column are written: a format of strptime."""

    format: str

    def __str__(self) -> str:
        return self.format

    @property
    def type(self) -> Any:
        return arrow("").timestamp("s")

    def fits(self, cells: Any) -> bool:
        """Whether all cells, of which none is missing, are dates of this form."""
        pc = arrow("compute")
        found = pc.strptime(cells, format=self.format, unit="s", error_is_null=True)
        if found.null_count:
            return False
        # strptime takes 31.02.2024 for 02.03.2024: a day that no month has is among the first three of the next one.
        days = pc.day(found)
        may_be_moved = pc.less_equal(days, 3)
        place = re.findall("%[Ymd]", self.format).index("%d")
        numbers = pc.extract_regex(cells.filter(may_be_moved), r"^(?P<a>\d+)[./-](?P<b>\d+)[./-](?P<c>\d+)")
        written = pc.struct_field(numbers, [place]).cast("int64")
        return not pc.any(pc.not_equal(written, days.filter(may_be_moved))).as_py()

    def converted(self, cells: Any) -> Any:
        """Cells of this form as points in time."""
        return arrow("compute").strptime(cells, format=self.format, unit="s")


Form = NumberForm | DateForm


class FormDetector:
    """Detects the form in which all cells of a column are written, block by block."""

    def __init__(self, dialect: Dialect, known: str | None = None, decimal_is_guessed: bool = True):
        """``known`` is the rule of an earlier file; the decimal mark is that of the file by inference, or given."""
        self._dialect, self._known, self._decimal_is_guessed = dialect, known, decimal_is_guessed
        self._forms: list[Form] | None = None  # those that fit all blocks so far; None before the first cell
        self._first, self._has_thousands, self._has_mark, self._n_cells = "", False, False, 0
        # How often each mark of missing values was seen.
        self.marks = Counter[str]()

    def see_block(self, column: Any) -> None:
        """Keep the forms that all cells of a block fit."""
        present = column.slice(0, 0) if self._forms == [] else column.drop_null()
        if not len(present):
            return
        if not arrow("types").is_string(column.type):
            others = _forms_of_type(column.type, self._dialect, self._decimal_is_guessed)
            self._keep([*_packed_dates(present, self._dialect), *others])
            self._n_cells += len(present)
            return
        cells, marks = without_marks(present, self._dialect)
        self.marks.update(marks)
        if len(cells):
            self._first = self._first or first_with_unit(cells)
            forms = _forms(self._first, self._dialect, self._decimal_is_guessed) if self._forms is None else self._forms
            self._keep([form for form in forms if form.fits(cells)])
            self._look_for_marks(cells)

    def _keep(self, fitting: list[Form]) -> None:
        self._forms = [form for form in fitting if self._forms is None or form in self._forms]

    def _look_for_marks(self, cells: Any) -> None:
        """Whether a number has a mark, and whether one stands between thousands for sure."""
        numbers = [form for form in self._forms or () if isinstance(form, NumberForm)]
        if numbers and not self._has_mark:
            self._has_mark = any_match(cells, r"\d[.,]")
        if numbers and not self._has_thousands:
            self._has_thousands = any(form.has_thousands(cells) for form in numbers)

    @property
    def shows_decimal(self) -> bool:
        """Whether the numbers of this column have the decimal mark of the file for sure."""
        decimals = {form.decimal for form in self._forms or () if isinstance(form, NumberForm)}
        return self._has_mark and decimals == {self._dialect.decimal}

    def rule(self, path: str, name: str, kind: Any, shows_decimal: bool) -> str | None:
        """The rule for a column of text, None if it stays what it is.

        ``shows_decimal`` says that other columns of the file have numbers with its decimal mark.
        """
        packed = self._packed(path, name) if DateForm(_PACKED) in (self._forms or ()) else None
        if packed is not None or not arrow("types").is_string(kind):
            return packed
        if self._forms is None:  # nothing but marks, which are what the column of the earlier file was
            return self._known if self.marks else None
        if self._known is not None and self._known in map(str, self._forms):
            return self._known
        numbers = [form for form in self._forms if isinstance(form, NumberForm)]
        if numbers:
            return self._number(path, name, numbers, shows_decimal)
        if len(self._forms) > 1:
            warn(
                f"{path}: column {name!r} holds dates, and no value decides which number is the day and which the "
                "month; it is read as text. Write such dates as 2024-12-31.",
                DataAdvice,
            )
            return None
        return str(self._forms[0]) if self._forms else None

    def _packed(self, path: str, name: str) -> str | None:
        """The rule of a column of whole numbers that are all dates such as 20241231, unless it is known otherwise."""
        if self._known is not None or self._n_cells < packed_dates.FEWEST:
            return _PACKED if self._known == _PACKED else None
        warn(f"{path}: {packed_dates.said(name)}", DataAdvice)
        return _PACKED

    def _number(self, path: str, name: str, forms: list[NumberForm], shows_decimal: bool) -> str | None:
        """The rule of a column of numbers, with a warning that says how they are read, or why they are not."""
        form, is_usual = forms[0], forms[0].decimal == self._dialect.decimal
        rivals = [one for one in forms if one.thousands == form.decimal] if self._has_mark else []
        if rivals and not is_usual and (form.is_money or shows_decimal):  # 1,234: money has no thousandths
            form = rivals[0]
        elif rivals and (form.is_money or not is_usual):
            self._warn_of_doubt(path, name, form.decimal)
            return None
        is_sure = bool(rivals or self._has_thousands or form.is_money or self._dialect.thousands)
        if self._has_mark and form.thousands in (".", ",") and not is_sure:
            return None  # cells with either mark: a mistake, perhaps
        before = NumberForm.of_rule(self._known or "")
        if told := _told(form, self._dialect, self._has_mark, "" if before is None else before.unit):
            warn(f"{path}: column {name!r} is read {told}, such as {self._first!r}.", DataAdvice)
        return str(form)

    def _warn_of_doubt(self, path: str, name: str, mark: str) -> None:
        warn(
            f"{path}: column {name!r} holds numbers such as {self._first}, and no value decides whether {mark!r} is "
            f"the decimal mark or stands between thousands; it is read as text. Give thousands={mark!r} if so, else "
            f"decimal={mark!r}.",
            DataAdvice,
        )


def _told(form: NumberForm, dialect: Dialect, has_mark: bool, unit_before: str) -> str:
    """What is unusual about the numbers of a column."""
    parts = [f"as numbers in {form.unit!r}"] if form.unit else []
    parts += (
        [f"where the file of the fit has {unit_before!r}"] if form.unit and unit_before not in ("", form.unit) else []
    )
    if has_mark and form.thousands and not dialect.thousands:
        parts.append(f"with {form.thousands!r} between thousands")
    if has_mark and form.decimal != dialect.decimal:
        parts.append(f"with the decimal mark {form.decimal!r}, where the file has {dialect.decimal!r}")
    return ", ".join(parts)


def form_of(rule: str) -> Form:
    """The form that a rule stands for."""
    return NumberForm() if rule == PLAIN_NUMBER else NumberForm.of_rule(rule) or DateForm(rule)


def without_marks(cells: Any, dialect: Dialect) -> tuple[Any, dict[str, int]]:
    """Cells without spaces around them and without marks of missing values; and how often each mark was there."""
    pc = arrow("compute")
    cells = pc.utf8_trim_whitespace(cells)
    if not dialect.reads_marks:
        return cells, {}
    is_mark = _are_marks(cells)
    found = pc.value_counts(cells.filter(is_mark)).to_pylist() if pc.any(is_mark).as_py() else []
    return cells.filter(pc.invert(is_mark)), {one["values"]: one["counts"] for one in found}


def converted(column: Any, rule: str, dialect: Dialect) -> Any:
    """A column of text as what its rule says."""
    pc = arrow("compute")
    cells = pc.utf8_trim_whitespace(column)
    if dialect.reads_marks:
        cells = pc.if_else(_are_marks(cells), None, cells)
    return form_of(rule).converted(cells)


def _are_marks(cells: Any) -> Any:
    pc = arrow("compute")
    return pc.is_in(pc.utf8_lower(cells), value_set=arrow("").array(sorted(MARKS)))


def date_form(cell: str) -> tuple[str, str] | None:
    """What is like in dates of one form: the mark, and which number comes first; None for other cells.

    Examples
    --------
    >>> from kfree.files.cells import date_form
    >>> date_form("31.12.2024"), date_form("2024-12-31"), date_form("12/11/2024"), date_form("word")
    (('.', 'day'), ('-', 'year'), ('/', ''), None)
    """
    if found := _YEAR_FIRST.fullmatch(cell):
        return found[1], "year"
    found = _DATE.fullmatch(cell)
    if found is None:
        return None
    first, second = (int(number) for number in re.split(r"[./-]", cell)[:2])
    return found[1], "day" if first > _MONTHS or found[1] == "." else "month" if second > _MONTHS else ""


def _forms(cell: str, dialect: Dialect, decimal_is_guessed: bool) -> list[Form]:
    """The forms that may fit a column which has this cell."""
    for pattern, order in ((_YEAR_FIRST, "%Y{0}%m{0}%d"), (_DATE, "%d{0}%m{0}%Y")):
        if found := pattern.fullmatch(cell):
            mark, glue, seconds = found.groups()
            time = "" if glue is None else f"{glue}%H:%M" + (":%S" if seconds else "")
            days = [order, "%m{0}%d{0}%Y"] if pattern is _DATE and mark != "." else [order]
            return [DateForm(day.format(mark) + time) for day in days]
    return list(forms_of(cell, dialect.decimal, decimal_is_guessed, dialect.thousands))


def _packed_dates(numbers: Any, dialect: Dialect) -> list[Form]:
    """The form of dates without marks, if whole numbers are such dates and the reader looks for more than numbers."""
    if not dialect.reads_marks or not arrow("types").is_integer(numbers.type):
        return []
    return [] if packed_dates.dates_of(numbers.to_numpy()) is None else [DateForm(_PACKED)]


def _forms_of_type(kind: Any, dialect: Dialect, decimal_is_guessed: bool) -> list[Form]:
    """The forms that what pyarrow took for numbers or dates, in some block of the file, may have as text."""
    types = arrow("types")
    if types.is_date(kind):
        return [DateForm("%Y-%m-%d")]
    if types.is_timestamp(kind) and kind.tz is None and kind.unit == "s":
        return [DateForm(f"%Y-%m-%d{glue}%H:%M{seconds}") for glue in " T" for seconds in ("", ":%S")]
    numbers = forms_of("", dialect.decimal, decimal_is_guessed, dialect.thousands)
    if types.is_floating(kind):
        return [form for form in numbers if form.decimal == dialect.decimal]
    return list(numbers) if types.is_integer(kind) else []
