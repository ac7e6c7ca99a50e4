"""Numbers as people write them: a decimal mark, marks between thousands, and a unit, such as "€1,200.50" or "12 %"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kfree.files.places import arrow

MONEY = frozenset(["$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "₫", "₴", "₦", "US$", "A$", "C$", "R$", "zł", "Kč"])
MONEY |= {"฿", "kr", "kr.", "Fr.", "Ft", "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD"}
MONEY |= {"HUF", "INR", "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "RUB", "SEK", "SGD", "TRY", "USD", "ZAR"}
UNITS = MONEY | {"%", "‰"}
# What stands for a missing value among numbers and dates, in lower case, beside the cells that always do.
MARKS = frozenset(["?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "...", "…", "*"])
MARKS |= {"na", "n.a.", "n.a", "n/a", "nan", "null", "<na>", "nat", "missing", "unknown", "k.a."}
MARKS |= {"#n/a", "#na", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"}
# Spaces of text programs.
_SPACE = "[ \u00a0\u202f]"
_AROUND = re.compile(r"[+-]?([^\d+-]*)[+-]?\d.*?([^\d]*)")
_RULE = re.compile(r"number 1(.?)234([.,])5(?: (.+))?")
# Cells that stand for a missing value.
MISSING = frozenset(["", "#N/A", "#N/A N/A", "#NA", "N/A", "n/a", "NA", "NULL", "null", "NaN", "nan", "-NaN", "-nan"])
_NUMBER = r"\s*[+-]?(\d+{mark}?\d*|{mark}\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(?i:inf|infinity)\s*"
_NUMBERS = {mark: re.compile(_NUMBER.format(mark=re.escape(mark))) for mark in ".,"}


@dataclass(frozen=True)
class NumberForm:
    """How all numbers of a column are written. ``str`` of a form is the number 1234.5 in it, as rules are saved."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    @classmethod
    def of_rule(cls, rule: str) -> NumberForm | None:
        """The form that a saved rule has; None for another rule."""
        found = _RULE.fullmatch(rule)
        return None if found is None else cls(found[2], found[1], found[3] or "")

    def __str__(self) -> str:
        return f"number 1{self.thousands}234{self.decimal}5" + (f" {self.unit}" if self.unit else "")

    @property
    def is_money(self) -> bool:
        return self.unit in MONEY

    @property
    def type(self) -> Any:
        return arrow("").float64()

    def fits(self, cells: Any) -> bool:
        """Whether all cells, of which none is missing, are numbers of this form; zeros need no unit."""
        pc = arrow("compute")
        return bool(pc.all(pc.match_substring_regex(cells, self._pattern())).as_py())

    def has_thousands(self, cells: Any) -> bool:
        """Whether a cell shows that the mark stands between thousands: another mark follows."""
        mark, decimal = self._mark(), re.escape(self.decimal)
        return bool(self.thousands) and any_match(cells, rf"{mark}\d{{3}}({mark}|{decimal})")

    def converted(self, cells: Any) -> Any:
        """Cells of this form as float64."""
        pc = arrow("compute")
        for text in (self.unit, "+", ")"):
            cells = pc.replace_substring(cells, text, "") if text else cells
        cells = pc.replace_substring(cells, "(", "-")
        cells = pc.replace_substring_regex(cells, _SPACE, "")
        cells = pc.replace_substring(cells, self.thousands, "") if self.thousands.strip() else cells
        return (pc.replace_substring(cells, ",", ".") if self.decimal == "," else cells).cast("float64")

    def _mark(self) -> str:
        return _SPACE if self.thousands == " " else re.escape(self.thousands)

    def _pattern(self) -> str:
        decimal, unit = re.escape(self.decimal), re.escape(self.unit)
        whole = rf"([1-9]\d{{0,2}}({self._mark()}\d{{3}})+|\d+)" if self.thousands else r"\d+"
        number = rf"({whole}({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?"
        if not self.unit:
            return rf"^[+-]?{number}$"
        below_zero = (
            rf"|\({unit}{_SPACE}?{number}\)|\({number}{_SPACE}?{unit}\)" if self.is_money else ""
        )  # in accounts
        return rf"^([+-]?{unit}{_SPACE}?[+-]?{number}|[+-]?{number}{_SPACE}?{unit}|0+({decimal}0*)?{below_zero})$"


def forms_of(cell: str, decimal: str, decimal_is_guessed: bool, thousands: str | None) -> list[NumberForm]:
    """The forms that the numbers of a column may have of which this is the first cell, the likeliest first.

    ``decimal`` and ``thousands`` are those of the file; other decimal marks come into question if ``decimal`` was
    guessed from the file.
    """
    unit, other = unit_of(cell), other_mark(decimal)
    if thousands:
        return [NumberForm(decimal, thousands, unit)]
    plain = [NumberForm(decimal, "", unit), NumberForm(other, "", unit)]
    marked = [NumberForm(decimal, other, unit), NumberForm(other, decimal, unit)]
    spaced = [NumberForm(mark, space, unit) for space in " '" for mark in (decimal, other)] if unit else []
    return [form for form in (*plain, *marked, *spaced) if decimal_is_guessed or form.decimal == decimal]


def first_with_unit(cells: Any) -> str:
    """The first of some cells that shows the unit of all: zeros may have none."""
    pc = arrow("compute")
    others = cells.filter(pc.invert(pc.match_substring_regex(cells, r"^0+([.,]0*)?$")))
    return str((others if len(others) else cells)[0])


def unit_of(cell: str) -> str:
    """The unit before or after a number; none if it is not known.

    Examples
    --------
    >>> from kfree.files.numbers import unit_of
    >>> unit_of("-€1,200.50"), unit_of("12 %"), unit_of("3 kg"), unit_of("7")
    ('€', '%', '', '')
    """
    found = _AROUND.fullmatch(cell.strip("()"))
    around = [] if found is None else [text.strip("\u00a0\u202f ") for text in found.groups()]
    return next((text for text in around if text in UNITS), "")


def is_amount(cell: str) -> bool:
    """Whether a cell is a number with a unit, in any form."""
    unit = unit_of(cell.strip())
    forms = [] if not unit else [NumberForm(*marks, unit) for marks in ((".", ","), (",", "."), (".", " "), (",", " "))]
    return any(re.match(form._pattern(), cell.strip()) for form in forms)


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a number with this decimal mark."""
    return _NUMBERS[decimal].fullmatch(cell) is not None


def is_in_thousands(cell: str, mark: str) -> bool:
    """Whether every mark in a cell may stand between thousands: three digits follow each."""
    return re.fullmatch(rf"\s*[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+\s*", cell) is not None


def is_mark(cell: str) -> bool:
    """Whether a cell stands for a missing value among numbers."""
    return cell.strip().lower() in MARKS


def is_gap(cell: str) -> bool:
    """Whether a cell stands for a missing value, also where no numbers are."""
    return cell in MISSING or is_mark(cell)


def other_mark(decimal: str) -> str:
    """The decimal mark that is not this one."""
    return "." if decimal == "," else ","


def any_match(cells: Any, pattern: str) -> bool:
    """Whether a cell has a part like ``pattern``."""
    pc = arrow("compute")
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())
