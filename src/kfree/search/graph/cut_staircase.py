"""The staircase k(lam) of a graph's penalised cut, and the step with the highest evidence."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats
from kfree.search.path.steps import Step, Steps, penalties_of


class CutStaircase(Steps):
    """The best number of clusters for each penalty ``lam`` < 0, and the number with the highest evidence.

    Made by :class:`kfree.GraphDPMeans` with ``lam="auto"``. All arrays run over k, from one cluster per connected
    component on.

    Attributes
    ----------
    k : ndarray of int
    cost : ndarray
        The lowest cut found with k clusters; infinite where none was found.
    lam_low, lam_high : ndarray
        Penalties between which k clusters are best; equal where no penalty makes k best.
    lam : ndarray
        The middle of the two.
    width, score : ndarray
        lam_high − lam_low. For a normalised cut this is a difference of shares.
    evidence : ndarray
        By how many nats the clusters shorten the description of the links, that of the clusters included; NaN where
        it was not measured (``objectives/planted.py`` says how).

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import GraphDPMeans
    >>> two = np.kron(np.eye(2), np.ones((8, 8)) - np.eye(8))
    >>> two[7, 8] = two[8, 7] = 1
    >>> path = GraphDPMeans().fit(two).path_
    >>> path.suggest().k, path.at(lam=-0.5).k, path.at(lam=-0.001).k
    (2, 2, 1)
    """

    scale = "linear"

    def __init__(self, cost: Floats, n_components: int, finest_lam: float, evidence: dict[int, float] | None = None):
        """From the lowest cut with ``n_components`` and more clusters; no penalty below the finest was tried."""
        penalties = penalties_of(cost)
        ends = min(finest_lam, float(penalties.min(initial=0.0))), 0.0
        super().__init__(np.arange(n_components, n_components + len(cost)), cost, penalties, ends, complete=False)
        self.score = self.width = self.lam_high - self.lam_low
        self.evidence = np.full(len(cost), np.nan)
        for k, value in (evidence or {}).items():
            self.evidence[k - n_components] = value

    def suggest(self) -> Step:
        """The step with the most evidence; that of the connected components where no step has any."""
        return super().suggest()

    def _verdict(self, j: int) -> dict[str, float]:
        return {} if np.isnan(self.evidence[j]) else {"evidence": float(self.evidence[j])}

    def _ranked(self) -> list[int]:
        """The suggested step, then the others by width."""
        best = self._suggested()
        return [best, *(int(j) for j in np.argsort(-self.width, kind="stable") if j != best)]

    def _suggested(self) -> int:
        judged = np.where((self.width > 0) & (self.evidence > 0), self.evidence, 0.0)
        return int(np.argmax(judged))

    def __repr__(self) -> str:
        best, *others = self._ranked()
        lines = [f"Staircase of {self.k[0]} to {self.k[-1]} clusters", f"suggested: {self._described(best)}"]
        return "\n".join(lines + [f"also wide: {self._described(j)}" for j in others[:3]])

    def _described(self, j: int) -> str:
        bounds = f"k={self.k[j]} for lam between {self.lam_low[j]:.4g} and {self.lam_high[j]:.4g}"
        return bounds if np.isnan(self.evidence[j]) else f"{bounds}; evidence {self.evidence[j]:.1f} nats"

    def _index_of_penalty(self, lam: float) -> int:
        if not self.lam_low[-1] <= lam < 0:
            raise ValueError(
                f"lam={lam!r} is not allowed; give a number below 0 and not below {self.lam_low[-1]:.4g}, where this "
                f"staircase ends with {self.k[-1]} clusters."
            )
        return int(np.flatnonzero(self.lam_low <= lam)[0])

    def _end(self) -> str:
        return f"the {self.k[-1]} clusters at which this staircase ends; give at most that many."

    @staticmethod
    def _middles(low: Floats, high: Floats) -> Floats:
        return (low + high) / 2
