"""Steps of a staircase k(lam): penalties between which each number of clusters is best."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kfree.core.marks import Shape, require
from kfree.core.stats import Floats, Index
from kfree.search.path.density_dips import REFUTED
from kfree.search.path.step_tests import NO_DOUBT

# The bounds of a step that differ by a smaller share are equal but for rounding.
_ROUNDING = 1e-9

# An array over the steps; NaN and infinities have a meaning in most.
PerStep = Annotated[Floats, Shape("steps")]


@dataclass(frozen=True)
class Step:
    """A step of the staircase: ``k`` clusters are best for penalties from ``lam_low`` to ``lam_high``.

    They are best among the clusterings of the path, one for each number. A fit at a penalty searches further. Where it
    finds clusters that cost less, their number may be another; ``DPMeans(target_k=k)`` moves the penalty until a search
    ends with k.

    ``lam`` is a penalty well inside, ``cost`` the cost of the clusters without any penalty, ``score`` the width of the
    step relative to its k. If held-out rows were tested, ``evidence`` is the number of standard deviations by which the
    density dips between its clusters exceed those of data without clusters, ``share`` the share of neighbouring
    clusters with a dip, and ``weakest`` the evidence of the weakest dip. Otherwise these three are None.
    """

    k: int
    lam: float
    lam_low: float
    lam_high: float
    cost: float
    score: float
    evidence: float | None = None
    share: float | None = None
    weakest: float | None = None

    @property
    def has_penalty(self) -> bool:
        """Whether some penalty makes k clusters best. If none does, ``lam`` is where the best number jumps across k."""
        return self.lam_low + _ROUNDING * abs(self.lam_low) < self.lam_high


class Steps(ABC):
    """The steps of consecutive k, laid between the lowest and the highest penalty that there is.

    ``penalties`` are those at which one more cluster pays, ``complete`` says that the last k has one cluster per
    distinct row. ``evidence``, ``width`` and ``score`` are set by the kinds of staircases.
    """

    scale = "log"  # of penalties, in pictures
    # The share of density dips below which a step is seldom correct.
    MOST = 0.9
    k: Annotated[Index, Shape("steps")]
    cost: PerStep
    complete: bool
    lam_low: PerStep
    lam_high: PerStep
    lam: PerStep
    n_outliers: int
    evidence: PerStep
    width: PerStep
    score: PerStep

    def __init__(self, k: Index, cost: Floats, penalties: Floats, ends: tuple[float, float], complete: bool):
        self.k, self.cost, self.complete = k, cost, complete
        self.lam_high = np.append(ends[1], penalties)[: len(cost)]
        self.lam_low = np.append(penalties, ends[0])[: len(cost)]
        self.lam = self._middles(self.lam_low, self.lam_high)
        self.n_outliers = 0

    def _restored(self) -> None:
        consecutive = len(self.k) > 0 and self.k[0] > 0 and bool((np.diff(self.k) == 1).all())
        require(consecutive, "the k of a path", "are no consecutive numbers of clusters")

    @property
    def is_sure(self) -> bool:
        """Whether the suggested step has several clusters and all their density dips are clear."""
        step = self.suggest()
        return step.k > 1 and step.weakest is not None and step.weakest >= NO_DOUBT

    @property
    def is_doubtful(self) -> bool:
        """Whether the suggested step has several clusters but too many of these have no density dip between them.

        Too many is one in ten, or a single one where rows are clearly more in the middle than about the centres.
        """
        step = self.suggest()
        if step.k == 1 or step.share is None or step.weakest is None:
            return False
        return step.share < self.MOST or step.weakest < REFUTED

    def suggest(self) -> Step:
        """The step best supported by the data."""
        return self._step(self._ranked()[0])

    def runner_up(self) -> Step | None:
        """The second most plausible step, None if only one was tested."""
        ranked = self._ranked()
        return self._step(ranked[1]) if len(ranked) > 1 else None

    def summary(self) -> dict[str, Any]:
        """The suggested number of clusters and the strength of its evidence, by name.

        Returns
        -------
        summary : dict
            ``k``, ``lam``, ``score``, ``evidence``, ``share`` and ``weakest`` of the suggested step (see ``Step``),
            ``runner_up`` (the second most plausible number of clusters or None), ``n_outliers``, ``is_sure`` and
            ``is_doubtful``.
        """
        step, second = self.suggest(), self.runner_up()
        names = ("k", "lam", "score", "evidence", "share", "weakest")
        return {name: getattr(step, name) for name in names} | {
            "runner_up": None if second is None else second.k,
            "n_outliers": self.n_outliers,
            "is_sure": self.is_sure,
            "is_doubtful": self.is_doubtful,
        }

    def at(self, *, k: int | None = None, lam: float | None = None) -> Step:
        """The step of k clusters, or the one that holds the penalty ``lam``.

        Parameters
        ----------
        k : int, default=None
            A number of clusters.
        lam : float, default=None
            A penalty. Give one of the two.

        Returns
        -------
        step : Step
            Where no penalty makes k clusters best, ``step.has_penalty`` is False, and both bounds are the penalty at
            which the best number jumps across k.
        """
        if (k is None) == (lam is None):
            raise TypeError("at() takes either k=, a number of clusters, or lam=, the penalty of a cluster.")
        if lam is not None:
            return self._step(self._index_of_penalty(lam))
        least, most = int(self.k[0]), int(self.k[-1])
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < least:
            raise ValueError(f"k={k!r} is not allowed; give a whole number ≥ {least}.")
        if k > most:
            raise ValueError(f"k={k} is more than {self._end()}")
        return self._step(int(k) - least)

    def plot(self, ax: Any = None) -> Any:
        """Draw the steps over log lam, the suggested one marked. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ax : matplotlib axes
        """
        from kfree import plot

        return plot.staircase(self, ax)  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        return len(self.k)

    def _step(self, j: int) -> Step:
        values = (self.lam[j], self.lam_low[j], self.lam_high[j], self.cost[j], self.score[j])
        return Step(int(self.k[j]), *map(float, values), **self._verdict(j))

    @abstractmethod
    def _ranked(self) -> list[int]:
        """Steps by plausibility, the suggested one first."""

    @abstractmethod
    def _verdict(self, j: int) -> dict[str, float]:
        """The evidence for a step; empty if it was not tested."""

    @abstractmethod
    def _index_of_penalty(self, lam: float) -> int:
        """The step that holds the penalty ``lam``."""

    @abstractmethod
    def _end(self) -> str:
        """What the last step is, and what to do for more clusters."""

    @staticmethod
    @abstractmethod
    def _middles(low: Floats, high: Floats) -> Floats:
        """A penalty well inside each step."""


def penalties_of(cost: Floats) -> Floats:
    """The decrease of cost by the second, third, … cluster along the lower convex hull of (k, cost): never rising.

    A clustering off the hull is best for no penalty.
    """
    hull: list[int] = []
    costs = cost.tolist()  # numbers of a list are read faster
    for k, value in enumerate(costs):
        while len(hull) > 1 and (value - costs[hull[-2]]) * (hull[-1] - hull[-2]) <= (
            costs[hull[-1]] - costs[hull[-2]]
        ) * (k - hull[-2]):
            hull.pop()
        hull.append(k)
    return np.repeat(-np.diff(cost[hull]) / np.diff(hull), np.diff(hull))
