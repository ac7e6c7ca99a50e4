"""The staircase k(lam): how many clusters the best clustering has for each penalty of a cluster."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Annotated, Any

import numpy as np

from kfree.core.marks import OPTIONAL
from kfree.core.printing import html_table
from kfree.core.stats import Floats
from kfree.search.judge.numbers import is_about
from kfree.search.path.density_dips import DensityDips
from kfree.search.path.step_tests import StepTests, needed
from kfree.search.path.steps import PerStep, Step, Steps, penalties_of

# Steps in the table of a notebook.
_SHOWN = 10


class Staircase(Steps):
    """The best number of clusters for each penalty ``lam``, and the number best supported by the data.

    Made by :func:`kfree.lambda_path`. All arrays run over k = 1, 2, …

    Attributes
    ----------
    k : ndarray of int
    cost : ndarray
        The lowest cost found with k clusters, without any penalty per cluster.
    lam_low, lam_high : ndarray
        Penalties between which k clusters are best; equal where no penalty makes k best.
    lam : ndarray
        The geometric middle of the two. For k = 1, which is best for every penalty above ``lam_low``, twice that; for a
        last step that begins at zero, half of ``lam_high``.
    width : ndarray
        log(lam_high / lam_low): a true number of clusters shows as a wide step.
    score : ndarray
        width / √log(k / (k − 1)), so that steps of different k compare; 0 for k = 1.
    density_dips : ndarray
        For the highest scores, the share of neighbouring clusters with a density dip between them on held-out rows; NaN
        for steps that were not tested.
    evidence : ndarray
        Standard deviations by which these density dips exceed those of data without clusters; NaN likewise.
    weakest : ndarray
        The same for the weakest of the density dips; minus infinity where a cluster has too few rows.
    unimodal : ndarray
        Standard deviations by which the emptiest places between clusters fall short of the clusters: below zero for
        every unimodal density, however skewed. NaN for steps on which neither the suggestion nor the runner-up depends.
    n_outliers : int
        Number of rows far from all others that were left out.
    k_beyond : int or None
        A number of clusters beyond the end of the staircase at which greedy merging has its widest step, if that is
        clear.
    judged_k : int
        The number of clusters by comparison with surrogate rows without clusters, which is the suggested one: 1 where
        rows of skewed factors may look the same, whatever their density dips. Missing where no comparison was made, or
        where it showed no more than surrogates do, so that density dips decide.
    judged_score : float
        Its score: 0 for what surrogates reach, 1 for the best there is.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import lambda_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)) + rng.choice([-10.0, 0.0, 10.0], size=(300, 1))
    >>> path = lambda_path(X)
    >>> path.suggest().k, path.at(k=2).k, path.at(lam=path.suggest().lam).k
    (3, 2, 3)
    """

    density_dips: PerStep
    weakest: PerStep
    unimodal: PerStep
    k_beyond: int | None
    judged_k: Annotated[int, OPTIONAL]
    judged_score: Annotated[float, OPTIONAL]
    _verdicts: StepTests | None

    def __init__(
        self,
        cost: Floats,
        max_k: int,
        complete: bool,
        judged: dict[int, DensityDips] | None = None,
        k_beyond: int | None = None,
    ):
        """From the lowest cost with 1, 2, … clusters, up to ``max_k``; or all, if the last has one per distinct row."""
        penalties = penalties_of(cost)
        cost = cost if complete else cost[: min(max_k, len(penalties))]
        super().__init__(np.arange(1, len(cost) + 1), cost, penalties, (0.0, np.inf), complete)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.width = np.where(self.lam_high > self.lam_low, np.log(self.lam_high / self.lam_low), 0.0)
            self.score = np.where(self.k > 1, self.width / np.sqrt(np.log(self.k / (self.k - 1))), 0.0)
        found = StepTests.of(judged or {}, len(cost))
        self.density_dips, self.evidence = found.share, found.evidence
        self.weakest, self.unimodal = found.weakest, found.unimodal
        self._verdicts = None if judged is None else found
        self.k_beyond = k_beyond

    @classmethod
    def of_merges(cls, costs_by_k: Floats) -> Staircase:
        """The staircase of a greedy merging that began with single rows, from its cost with 1, 2, … clusters."""
        return cls(costs_by_k, len(costs_by_k), complete=True)

    def with_judged(self, k: int, score: float) -> Staircase:
        """This staircase with the number of clusters that a comparison with surrogates found, and its score."""
        judged = copy(self)
        judged.judged_k, judged.judged_score = k, score
        return judged

    def times(self, factor: float) -> Staircase:
        """This staircase with costs and penalties in other units."""
        scaled = copy(self)
        scaled.cost, scaled.lam = factor * self.cost, factor * self.lam
        scaled.lam_low, scaled.lam_high = factor * self.lam_low, factor * self.lam_high
        return scaled

    def suggest(self) -> Step:
        """The step best supported by the data; that of one cluster if no other step passes the test.

        ``judged_k`` where rows were compared with surrogates. Otherwise, of the steps with enough evidence, the one
        with the largest score times share of density dips; or a finer one whose dips are all clear.
        """
        return super().suggest()

    def closest(self) -> tuple[Step, float] | None:
        """The step of several clusters that comes nearest to enough evidence, and how much it needs; None if none was
        tested."""
        short = needed(self.score) - self.evidence
        tested = np.flatnonzero(~np.isnan(short) & (self.k > 1))
        if not len(tested):
            return None
        j = int(tested[np.argmin(short[tested])])
        return self._step(j), float(needed(self.score)[j])

    def suggests(self, k: int) -> bool:
        """Whether k is the suggested number, or as good: numbers for a comparison with surrogates have gaps."""
        suggested = self.suggest().k
        return k == suggested or (hasattr(self, "judged_k") and is_about(k, suggested))

    def summary(self) -> dict[str, Any]:
        """The suggested number of clusters and the strength of its evidence, by name.

        Returns
        -------
        summary : dict
            ``k``, ``lam``, ``score``, ``evidence``, ``share`` and ``weakest`` of the suggested step (see ``Step``),
            ``runner_up`` (the second most plausible number of clusters or None), ``n_outliers``, ``is_sure``,
            ``is_doubtful``, ``judged_k`` and ``judged_score`` (None where rows were not compared with surrogates).
        """
        judged = {name: getattr(self, name, None) for name in ("judged_k", "judged_score")}
        return super().summary() | judged

    @property
    def is_doubtful(self) -> bool:
        """Whether the suggested step has several clusters but too many of these have no density dip between them.

        A number of clusters by comparison with surrogates is not in doubt: in many columns, dips are seldom seen.
        """
        return not hasattr(self, "judged_k") and super().is_doubtful

    def _ranked(self) -> list[int]:
        """Steps by plausibility, the suggested one first; by score if none was tested."""
        if self._verdicts is None:
            ranked = [int(j) for j in np.argsort(-self.score, kind="stable")]
        else:
            ranked = self._verdicts.ranked(self.score)
        if not hasattr(self, "judged_k"):
            return ranked
        return [self.judged_k - 1, *(j for j in ranked if j != self.judged_k - 1)]

    def __repr__(self) -> str:
        best, *others = self._ranked()
        lines = [f"Staircase of 1 to {len(self.k)} clusters", f"suggested: {self._described(best)}"]
        lines += [f"less plausible: {self._described(j)}" for j in others[:3]]
        if hasattr(self, "judged_k"):
            lines.append(f"against surrogate rows without clusters: k={self.judged_k}, score {self.judged_score:.2f}")
        if self.n_outliers:
            lines.append(f"rows left out as outliers: {self.n_outliers}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        header = ["k", "lam from", "to", "density dips", "weakest (sd)", "evidence (sd)"]
        rows = [
            [
                str(self.k[j]),
                f"{self.lam_low[j]:.4g}",
                f"{self.lam_high[j]:.4g}",
                *("–" if np.isnan(self.evidence[j]) else text for text in self._tested(j)),
            ]
            for j in self._ranked()[:_SHOWN]
        ]
        return html_table(header, rows, f"Staircase of 1 to {len(self.k)} clusters, the most plausible first")

    def _tested(self, j: int) -> tuple[str, str, str]:
        return f"{self.density_dips[j]:.0%}", f"{self.weakest[j]:.1f}", f"{self.evidence[j]:.1f}"

    def _described(self, j: int) -> str:
        text = f"k={self.k[j]} for lam between {self.lam_low[j]:.4g} and {self.lam_high[j]:.4g}, say {self.lam[j]:.4g}"
        if np.isnan(self.evidence[j]):
            return text
        dips = f"density dips between {self.density_dips[j]:.0%} of neighbours, the weakest {self.weakest[j]:.1f} sd"
        return f"{text}; {dips}; evidence {self.evidence[j]:.1f} sd"

    def _index_of_penalty(self, lam: float) -> int:
        if not isinstance(lam, Real) or isinstance(lam, bool) or not lam > 0:
            raise ValueError(f"lam={lam!r} is not allowed; give a number > 0, the penalty of a cluster.")
        enough = np.flatnonzero(self.lam_low <= lam)
        if not len(enough):
            raise ValueError(
                f"lam={lam:g} is below {self.lam_low[-1]:g}, where this staircase ends with {len(self.k)} clusters; "
                "give lambda_path a larger max_k."
            )
        return int(enough[0])

    def _end(self) -> str:
        if self.complete:
            return f"the {len(self.k)} distinct rows of X; give at most that many clusters."
        return f"the {len(self.k)} clusters at which this staircase ends; give lambda_path a larger max_k."

    @staticmethod
    def _middles(low: Floats, high: Floats) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):  # zero times infinity, where ``ends`` are taken
            ends = np.where(np.isinf(high), np.minimum(2 * low, np.finfo(np.float64).max), high / 2)
            inner = np.sqrt(low) * np.sqrt(high)
        middles = np.where(np.isinf(high) | (low == 0), ends, inner)
        # All rows are equal: any penalty gives one cluster.
        return np.where((high == 0) | ((low == 0) & np.isinf(high)), 1.0, middles)

    def _verdict(self, j: int) -> dict[str, float]:
        """The evidence of held-out rows for a step; empty if it was not tested."""
        if np.isnan(self.evidence[j]):
            return {}
        found = (self.evidence[j], self.density_dips[j], self.weakest[j])
        return dict(zip(("evidence", "share", "weakest"), map(float, found), strict=True))
