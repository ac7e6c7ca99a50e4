"""Cells that pyarrow's parser takes for words: dates by day and month, numbers with marks between thousands, and
columns of numbers with a decimal mark of their own."""

from __future__ import annotations

import re
from typing import Any

from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.files.dialect import Dialect
from kfree.files.places import arrow

_NUMBER, _OTHER_MARK = "number", "number with the other decimal mark"
_MARKED = "number with marks between thousands"
_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}[./-]\d{4}(?:([ T])\d{1,2}:\d{2}(:\d{2})?)?")
_YEAR_FIRST = re.compile(r"\d{4}([./-])\d{1,2}[./-]\d{1,2}(?:[ T]\d{1,2}:\d{2}.*)?")
_MONTHS = 12


class Guess:
    """The rule by which all cells of a column can be read, found block by block."""

    def __init__(self, dialect: Dialect, known: str | None = None, may_differ: bool = True):
        """``known`` is the rule of an earlier file; ``may_differ`` says that the decimal mark was not given."""
        self._dialect, self._known, self._may_differ, self._has_mark = dialect, known, may_differ, False
        self._rules: list[str] | None = None  # those that fit all blocks so far; None before the first cell

    def look_at(self, column: Any) -> None:
        """Keep the rules that all cells of a block fit."""
        present = column.slice(0, 0) if self._rules == [] else column.drop_null()
        if not len(present):
            return
        if not arrow("types").is_string(column.type):
            is_whole, is_float = arrow("types").is_integer(column.type), arrow("types").is_floating(column.type)
            rules = [_NUMBER] if self._dialect.thousands and (is_whole or is_float) else []
            if not self._dialect.thousands:
                rules = [_OTHER_MARK, _MARKED] if is_whole else [_MARKED] if is_float else []
            self._rules = [rule for rule in rules if self._rules is None or rule in self._rules]
            return
        rules = self._rules if self._rules is not None else _rules_of(present[0].as_py(), self._dialect)
        rules = [rule for rule in rules if rule != _OTHER_MARK or self._may_differ]
        self._rules = [rule for rule in rules if _fits(present, rule, self._dialect)]
        if not self._has_mark and {_OTHER_MARK, _MARKED} & set(self._rules):
            self._has_mark = _decides(present, self._dialect, self._rules)

    def rule(self, path: str, name: str, kind: Any) -> str | None:
        """The rule for a column of text, None if it stays what it is."""
        if not self._rules or not arrow("types").is_string(kind):
            return None
        if self._known in self._rules:
            return self._known
        if {_OTHER_MARK, _MARKED} & set(self._rules):
            return self._by_mark(path, name)
        if len(self._rules) > 1:
            warn(
                f"{path}: column {name!r} holds dates, and no value decides which number is the day and which the "
                "month; it is read as text. Write such dates as 2024-12-31.",
                DataAdvice,
            )
            return None
        return self._rules[0]

    def _by_mark(self, path: str, name: str) -> str | None:
        """The rule of a column of numbers with a mark that the file does not have for decimals."""
        assert self._rules
        mark, usual, is_decimal = _other(self._dialect), self._dialect.decimal, _OTHER_MARK in self._rules
        if not self._has_mark and not is_decimal:
            return None  # cells with either mark: a mistake, perhaps
        if not self._has_mark:
            warn(
                f"{path}: column {name!r} holds numbers such as 1{mark}234, and no value decides whether {mark!r} is "
                f"the decimal mark or stands between thousands; it is read as text. Give thousands={mark!r} if so.",
                DataAdvice,
            )
            return None
        role = (
            f"with the decimal mark {mark!r}, where the file has {usual!r}"
            if is_decimal
            else f"with {mark!r} between thousands"
        )
        warn(f"{path}: column {name!r} is read {role}.", DataAdvice)
        return _OTHER_MARK if is_decimal else _MARKED


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


def converted(column: Any, rule: str, dialect: Dialect) -> Any:
    """A column of text as what its rule says."""
    pc = arrow("compute")
    if rule == _OTHER_MARK:
        return pc.replace_substring(column, ",", ".").cast("float64")
    if rule not in (_NUMBER, _MARKED):
        return pc.strptime(column, format=rule, unit="s")
    column = pc.replace_substring(column, dialect.thousands if rule == _NUMBER else _other(dialect), "")
    return (pc.replace_substring(column, ",", ".") if dialect.decimal == "," else column).cast("float64")


def type_of(rule: str) -> Any:
    """The Arrow type of a column that is read by a rule."""
    return arrow("").float64() if rule in (_NUMBER, _OTHER_MARK, _MARKED) else arrow("").timestamp("s")


def _rules_of(cell: str, dialect: Dialect) -> list[str]:
    """The rules that may fit a column which has this cell."""
    if found := _DATE.fullmatch(cell):
        mark, glue, seconds = found.groups()
        time = "" if glue is None else f"{glue}%H:%M" + (":%S" if seconds else "")
        days = [f"%d{mark}%m{mark}%Y{time}", f"%m{mark}%d{mark}%Y{time}"]
        return days[:1] if mark == "." else days
    return [_NUMBER] if dialect.thousands else [_OTHER_MARK, _MARKED]


def _other(dialect: Dialect) -> str:
    """The decimal mark that a file does not have."""
    return "." if dialect.decimal == "," else ","


def _decides(present: Any, dialect: Dialect, rules: list[str]) -> bool:
    """Whether a number has a mark that cannot stand between thousands; or one that does, before another mark."""
    pc, mark, decimal = arrow("compute"), re.escape(_other(dialect)), re.escape(dialect.decimal)
    no_thousands = rf"{mark}(\d{{0,2}}|\d{{4,}})([eE].*)?$|^[+-]?(0|\d{{4,}})?{mark}"
    thousands = rf"{mark}\d{{3}}({mark}|{decimal})"
    return bool(pc.any(pc.match_substring_regex(present, no_thousands if _OTHER_MARK in rules else thousands)).as_py())


def _fits(present: Any, rule: str, dialect: Dialect) -> bool:
    """Whether all cells, of which none is missing, can be read by a rule."""
    pc = arrow("compute")
    if rule == _OTHER_MARK:
        mark = re.escape(_other(dialect))
        return bool(pc.all(pc.match_substring_regex(present, rf"^[+-]?\d+({mark}\d*)?([eE][+-]?\d+)?$")).as_py())
    if rule not in (_NUMBER, _MARKED):
        return int(pc.strptime(present, format=rule, unit="s", error_is_null=True).null_count) == 0
    decimal, mark = re.escape(dialect.decimal), re.escape(dialect.thousands or _other(dialect))
    pattern = rf"^[+-]?(\d{{1,3}}({mark}\d{{3}})+|\d+)({decimal}\d*)?([eE][+-]?\d+)?$"
    return bool(pc.all(pc.match_substring_regex(present, pattern)).as_py())
