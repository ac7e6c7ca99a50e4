"""Clusters as models with a posterior: labels, distances and predictive densities of rows (Kurihara & Welling 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from kfree.core.blocks import blocks
from kfree.core.fields import Centres, Covariances, Rank
from kfree.core.frame import Frame
from kfree.core.marks import OneOf, require
from kfree.core.rules import RULES, LinearRule, QuadraticRule
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import POSTERIOR_STATS, CountStats, Floats, GaussianStats, Labels
from kfree.explain.spread import Shapes, Spreads, spread_sample
from kfree.explain.view import Blocks, distances_in_blocks
from kfree.models.bayesian_rows import BayesianRows
from kfree.objectives.free_energy import MODELS, FreeEnergy
from kfree.objectives.gaussian import lower_factors


@dataclass(frozen=True)
class PosteriorModel:
    """``rule`` assigns rows to the clusters of a search, whose public labels are ``rank``; ``stats`` are by these.

    ``rule`` is None for the rule of the statistics, which is made when rows are predicted: its inverses take d³ steps
    per cluster. ``centres`` (k, d) and ``covariances`` (k, d, d), None unless the clusters are Gaussians, are those of
    the user's coordinates.
    """

    kind: str
    frame: Frame | None
    objective: FreeEnergy[Any]
    stats: Annotated[Any, OneOf(POSTERIOR_STATS)]
    rule: Annotated[Any, OneOf(RULES)] | None
    rank: Rank
    centres: Centres
    covariances: Covariances | None
    spreads: Spreads

    @classmethod
    def of(
        cls,
        kind: str,
        data: BayesianRows,
        objective: FreeEnergy[Any],
        stats: Any,
        rule: Any,
        rank: Labels,
        labels: Labels,
    ) -> PosteriorModel:
        """The model of clusters with these statistics; ``labels`` are the public ones of the rows that count."""
        model: Any = objective.model
        rows, centres = data.as_given(), data.centres(model, stats)
        covariances, shapes = None, None
        if kind == "gaussian":
            covariances = model.covariances(stats)
            shapes = _shapes(centres, lower_factors(covariances))
        distances = distances_of(kind, rows, centres, covariances)
        spreads = spread_sample(distances, labels, None).spreads(shapes)
        return cls(kind, data.frame, objective, stats, rule, rank, centres, covariances, spreads)

    def _restored(self) -> None:
        """The parts of a model from a file are those of one kind."""
        is_gaussian = self.kind == "gaussian"
        stats, rule = (GaussianStats, QuadraticRule) if is_gaussian else (CountStats, LinearRule)
        ok = MODELS.get(self.kind) is type(self.objective.model) and type(self.stats) is stats
        ok = ok and type(self.rule) in (rule, type(None))
        ok = ok and is_gaussian == (self.frame is not None and self.covariances is not None)
        require(ok, "model", f"has parts that are not those of a {self.kind} model")

    def labels(self, data: BayesianRows, name: str, n_threads: int | None) -> Labels:
        """The label under which each row is most likely on average over the posterior."""
        rows = data.open(name, "brute", n_threads)
        found: Labels = self.rank[rows.labels(rows.assign(self.labelling)[0])]
        return found

    @property
    def labelling(self) -> Any:
        """The rule that assigns rows to the clusters of the search."""
        return self.objective.labelling(self.stats) if self.rule is None else self.rule

    def distances(self, data: BayesianRows) -> Blocks:
        """Distances of rows to all clusters, block by block."""
        return distances_of(self.kind, data.as_given(), self.centres, self.covariances)

    def log_predictive(self, data: BayesianRows) -> Floats:
        """log p(row | rows of the fit in each cluster), (n, k)."""
        model: Any = self.objective.model
        return np.asarray(model.log_predictive(self.stats, data.rows))

    def drawn(self, labels: Labels, rng: np.random.RandomState, n_events: int) -> Floats:
        """Rows drawn from the posterior predictive distributions of these clusters."""
        model: Any = self.objective.model
        rows: Floats = model.draw(self.stats, labels, rng, n_events)
        return rows if self.frame is None else self.frame.outward(rows)


def distances_of(kind: str, rows: ArrayOrCSR, centres: Floats, covariances: Floats | None) -> Blocks:
    """Distances of rows to the clusters of a model, block by block: Mahalanobis where these have covariances.

    Counts are seen as shares of their row's total.
    """
    if covariances is not None:
        return mahalanobis(rows, centres, lower_factors(covariances))
    return distances_in_blocks(_shares(rows) if kind == "multinomial" else rows, centres)


def mahalanobis(rows: ArrayOrCSR, centres: Floats, factors: Floats) -> Blocks:
    """Mahalanobis distances, block by block, given the lower triangular factors of covariances.

    The factors are those of the model, which exist also where rounding makes a covariance singular.
    """
    for places in blocks(rows.shape[0], rows.shape[1] + len(centres)):
        white = [
            solve_triangular(factor, (rows[places] - centre).T, lower=True, check_finite=False)
            for centre, factor in zip(centres, factors, strict=True)
        ]
        yield places, np.column_stack([np.sqrt((part**2).sum(axis=0)) for part in white])


def _shares(counts: ArrayOrCSR) -> ArrayOrCSR:
    """Counts over the total of their row."""
    total = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    return sp.csr_array(sp.diags_array(1 / total) @ counts) if sp.issparse(counts) else counts / total[:, None]


def _shapes(centres: Floats, factors: Floats) -> Shapes:
    """What Mahalanobis distances do not show: geometric means of standard deviations, and how clusters lie."""
    widths = np.exp(np.log(np.diagonal(factors, axis1=-2, axis2=-1)).mean(axis=-1))
    return Shapes(widths, np.concatenate([distances for _, distances in mahalanobis(centres, centres, factors)]))
