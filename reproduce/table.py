"""Paper, ours, difference: one line per published number."""

from dataclasses import dataclass

from scipy import stats

NOT_RUN = "not run"
WORSE, WITHIN_CHANCE, UNTESTED = "WORSE", "worse, within chance", "worse, not tested"
# Of the test that tells them apart.
LEVEL = 0.05
# Why a line has no number: what --minutes left out.
OUT_OF_TIME = "no time was left; a later run makes it"


@dataclass(frozen=True)
class Line:
    """One published number, and ours.

    ``spread`` is what stands after ±, ``paper_spread`` the paper's of the same kind: ``spread_is`` "interval", half the
    95 % confidence interval of a mean of ``n`` (the paper's: ``paper_n``), or "deviation", their standard deviation.
    ``goal`` says what is better: "lowest", "highest", what is nearer to a number, or None; ours is held against the
    paper's, or what else it is ``against``, at so many significant ``digits``, or ``decimals`` where a table has a
    fixed number of these. Seconds of a paper were measured on another machine. ``ours`` is None where no time was left,
    and ``note`` says so.
    """

    case: str
    method: str
    quantity: str
    paper: float | None
    ours: float | None
    paper_spread: float | None = None
    spread: float | None = None
    paper_seconds: float | None = None
    seconds: float | None = None
    goal: str | float | None = "lowest"
    digits: int = 3
    decimals: int | None = None
    note: str = ""
    against: str = "paper"
    n: int | None = None
    paper_n: int | None = None
    spread_is: str = "interval"

    @property
    def difference(self):
        """How far ours is from the paper's, as a share of it."""
        return self.ours / self.paper - 1 if self.paper and self.ours is not None else None

    @property
    def verdict(self):
        """Empty, unless ours is worse at the paper's digits; then also whether by more than chance."""
        if None in (self.paper, self.ours, self.goal) or self._shortfall(self._as_printed()) <= 0:
            return ""
        if self.n == 1:  # of several repetitions, one was made
            return UNTESTED
        return WORSE if self.p_value < LEVEL else WITHIN_CHANCE

    @property
    def p_value(self):
        """Of Welch's t-test for equal means; a number without repetitions is taken as exact, two such as different."""
        ours, paper = self._error(self.spread, self.n), self._error(self.paper_spread, self.paper_n)
        variance = ours[0] ** 2 + paper[0] ** 2
        if variance == 0:
            return 0.0
        freedom = variance**2 / sum(error**4 / (n - 1) for error, n in (ours, paper) if n > 1)
        return float(2 * stats.t.sf(abs(self.ours - self.paper) / variance**0.5, freedom))

    def _error(self, spread, n):
        """The standard error of a mean, and the number of values that it was taken over."""
        if not spread or not n or n < 2:
            return 0.0, 1
        return (spread / n**0.5 if self.spread_is == "deviation" else spread / stats.t.ppf(0.975, n - 1)), n

    def _as_printed(self):
        """Our number at the paper's precision."""
        return _rounded(self.ours, self.digits) if self.decimals is None else round(float(self.ours), self.decimals)

    def _shortfall(self, value):
        """By how much this value is worse than the paper's."""
        if self.goal == "lowest":
            return value - self.paper
        if self.goal == "highest":
            return self.paper - value
        return abs(value - self.goal) - abs(self.paper - self.goal)

    def cells(self):
        """The line as text, by the head of its column."""
        return {
            "case": self.case,
            "method": self.method,
            "quantity": self.quantity,
            self.against: _number(self.paper, self.paper_spread),
            "ours": NOT_RUN if self.ours is None else _number(self.ours, self.spread),
            "difference": "" if self.difference is None else f"{self.difference:+.1%}",
            "verdict": self.verdict,
            f"{self.against} s": "" if self.paper_seconds is None else f"{self.paper_seconds:.1f}",
            "ours s": "" if self.seconds is None else f"{self.seconds:.2f}",
            "note": self.note,
        }


FIELDS = [
    "case",
    "method",
    "quantity",
    "paper",
    "paper_spread",
    "ours",
    "spread",
    "difference",
    "verdict",
    "paper_seconds",
    "seconds",
    "note",
    "goal",
    "against",
    "n",
    "paper_n",
    "spread_is",
]


def as_text(lines):
    """A table for the terminal; columns in which nothing is written are left out."""
    if not lines:
        return "(a picture only)"
    rows = [line.cells() for line in lines]
    heads = [head for head in rows[0] if any(row[head] for row in rows)]
    width = {head: max(len(head), *(len(row[head]) for row in rows)) for head in heads}
    body = [{head: head for head in heads}, {head: "-" * width[head] for head in heads}, *rows]
    text = ["  ".join(row[head].ljust(width[head]) for head in heads).rstrip() for row in body]
    worse = sum(line.verdict != "" for line in lines)
    said = f"Worse than the {lines[0].against} in {worse} of {len(lines)} lines." if worse else ""
    return "\n".join([*text, "", said]).rstrip()


def half_width(values):
    """Of the 95 % confidence interval of the mean; None for a single value."""
    return float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)) if len(values) > 1 else None


def _number(value, spread=None):
    if value is None:
        return ""
    # A spread that is nothing but rounding is not shown.
    around = f" ± {_rounded(spread, 2):.6g}" if spread and spread > 1e-9 * abs(value) else ""
    return f"{value:.6g}{around}"


def _rounded(value, digits):
    return float(f"{value:.{digits}g}")
