"""choose_k: the number of clusters by the usual criteria and by the lam path."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import KFold

from kfree.core.printing import html_table
from kfree.core.warning import warn
from kfree.estimators.k_means import KMeans
from kfree.estimators.lambda_path import lambda_path
from kfree.objectives.information import SphericalClusters
from kfree.validation.parameters import random_generator, require, require_count
from kfree.validation.rows import validated_rows

_MIXTURES = ("spherical", "diag", "full")
# Silhouettes take all pairs of rows, so they are computed on a sample of this size.
_MOST_PAIRED = 2000
# The share of the variance of all rows that a cluster has at least.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class KChoice:
    """The values of several criteria for the number of clusters, and the number that each chooses.

    Attributes
    ----------
    k : ndarray of int
        The numbers of clusters that were tried.
    criteria : dict of str to ndarray
        The value of each criterion for each k: "AIC" and "BIC" (lowest is best), "cross-validation" (log density of
        held-out rows), "elbow" (how far inertia lies below a straight line), "silhouette", "gap" and "inertia"; "AIC,
        full" and the like for mixtures that were asked for.
    chosen : dict of str to int
        What each criterion chooses, and "lam path". A criterion without a value for any k is left out.
    path : Staircase
        What :func:`kfree.lambda_path` returns.
    """

    k: np.ndarray
    criteria: dict[str, np.ndarray]
    chosen: dict[str, int]
    path: Any

    def plot(self, figure=None):
        """Draw all criteria with their choices, and the staircase. Needs matplotlib.

        Parameters
        ----------
        figure : matplotlib figure, default=None
            Where to draw; a new one if None.

        Returns
        -------
        figure : matplotlib figure
        """
        from kfree import plot

        return plot.choice_of_k(self, figure)

    def _cells(self):
        """Header and rows of the table."""
        rows = [[str(k), *(f"{values[i]:.5g}" for values in self.criteria.values())] for i, k in enumerate(self.k)]
        return ["k", *self.criteria], [*rows, ["chosen", *(str(self.chosen.get(name, "")) for name in self.criteria)]]

    def _repr_html_(self):
        heads, rows = self._cells()
        return html_table(heads, rows, f"lam path: k={self.chosen['lam path']}")

    def __repr__(self):
        heads, rows = self._cells()
        widths = [max(len(row[j]) for row in [heads, *rows]) for j in range(len(heads))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows]
        ]
        return "\n".join([*lines, f"lam path: k={self.chosen['lam path']}"])


def choose_k(
    X,
    k_range=range(1, 11),
    *,
    mixtures=(),
    n_init=3,
    n_folds=5,
    n_references=10,
    n_threads=None,
    random_state=0,
):
    """Compare the number of clusters by the usual criteria with the number that the lam path suggests.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    k_range : iterable of int, default=range(1, 11)
        Numbers of clusters to try, consecutive and at least two. The lam path does not need them.
    mixtures : iterable of {"spherical", "diag", "full"}, default=()
        Also fit mixtures of Gaussians with such covariances by EM (:class:`sklearn.mixture.GaussianMixture`), and have
        the criteria "AIC, full", "BIC, full" and so on. Each takes ``n_init`` runs of EM for each k.
    n_init : int, default=3
        Seedings of k-means for each k.
    n_folds : int, default=5
        Parts for cross-validation.
    n_references : int, default=10
        Data sets without clusters that the gap statistic is compared with.
    n_threads : int or None, default=None
    random_state : int, RandomState or None, default=0

    Returns
    -------
    choice : KChoice

    Notes
    -----
    "AIC" and "BIC" are those of spherical Gaussians of one variance with the labels of k-means. Cross-validation takes
    the highest mean log density of held-out rows under the same model. The elbow is the k at which inertia lies
    farthest below the line from the first to the last k. Gap is the smallest k with gap(k) ≥ gap(k + 1) − s(k + 1)
    against uniform data in the box of the principal axes (Tibshirani, Walther & Hastie 2001). Silhouettes need at least
    two clusters; where rows are all equal there are none, and the smallest k is chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import choose_k
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)) + 12 * np.eye(3, 2)[rng.integers(3, size=300)]
    >>> choice = choose_k(X, range(1, 7))
    >>> {name: choice.chosen[name] for name in ("BIC", "silhouette", "lam path")}
    {'BIC': 3, 'silhouette': 3, 'lam path': 3}
    """
    k = _checked_range(k_range)
    for name, value, least in (("n_init", n_init, 1), ("n_folds", n_folds, 2), ("n_references", n_references, 2)):
        require_count(name, value, least=least)
    rows = validated_rows(X, "choose_k")
    if sp.issparse(rows):
        raise TypeError("X is sparse, and choose_k takes dense rows only. Use X.toarray().")
    fewest = len(rows) - len(rows) // n_folds
    require(k[-1] <= fewest, "k_range", k_range, f"numbers up to {fewest}, the rows left when a fold is held out")
    mixtures = _checked_mixtures(mixtures)
    rng = random_generator(random_state)
    search = _Search(rows.astype(np.float64, copy=False), k, n_init, n_threads, rng)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*too few distinct rows", ConvergenceWarning)  # warned of below, once
        values, chosen, n_found = search.criteria(n_folds, n_references)
        values |= search.information(mixtures)
        chosen |= {name: int(k[np.argmin(values[name])]) for name in values if "," in name}
    if n_found < k[-1]:
        warn(
            f"X has {n_found} distinct rows, so values for k > {n_found} are those of {n_found} clusters.", UserWarning
        )
    path = lambda_path(X, n_threads=n_threads, random_state=rng)
    return KChoice(k, values, {**chosen, "lam path": path.suggest().k}, path)


def _checked_range(k_range):
    try:
        k = np.array(list(k_range))
    except TypeError:
        k = np.empty(0)
    ok = k.dtype.kind in "iu" and len(k) > 1 and k[0] >= 1 and (np.diff(k) == 1).all()
    require(ok, "k_range", k_range, "consecutive whole numbers ≥ 1, at least two of them, such as range(1, 11)")
    return k


def _checked_mixtures(mixtures):
    named = [mixtures] if isinstance(mixtures, str) else list(mixtures)
    ok = not isinstance(mixtures, str) and all(isinstance(one, str) and one in _MIXTURES for one in named)
    require(ok, "mixtures", mixtures, "some of 'spherical', 'diag', 'full' in a list, or ()")
    return named


@dataclass(frozen=True)
class _Search:
    """K-means for every k, on all rows, on folds and on references."""

    rows: np.ndarray
    k: np.ndarray
    n_init: int
    n_threads: int | None
    rng: Any

    def criteria(self, n_folds, n_references):
        """Values by criterion, choices, and the most clusters that have rows."""
        fits = [self._fit(self.rows, k) for k in self.k]
        inertia = np.array([fit.inertia_ for fit in fits])
        models = [self._clusters(fit) for fit in fits]
        gap, margin = self._gap(inertia, n_references)
        values = {
            "AIC": np.array([model.aic for model in models]),
            "BIC": np.array([model.bic for model in models]),
            "cross-validation": self._held_out(n_folds),
            "elbow": below_the_line(inertia),
            "silhouette": self._silhouettes(fits),
            "gap": gap,
            "inertia": inertia,
        }
        chosen = {name: int(self.k[np.argmin(values[name])]) for name in ("AIC", "BIC")}
        highest = ("cross-validation", "elbow", "silhouette")
        known = [name for name in highest if not np.isnan(values[name]).all()]
        chosen |= {name: int(self.k[highest_place(values[name])]) for name in known}
        chosen["gap"] = int(self.k[first_within(gap, margin)])
        return values, chosen, max(len(model.n) for model in models)

    def information(self, mixtures):
        """AIC and BIC of mixtures by EM, for each kind of covariance."""
        values = {}
        for kind in mixtures:
            fits = [self._mixture(kind, k) for k in self.k]
            values[f"AIC, {kind}"] = np.array([fit.aic(self.rows) for fit in fits])
            values[f"BIC, {kind}"] = np.array([fit.bic(self.rows) for fit in fits])
        return values

    def _mixture(self, kind, k):
        variance = float((self.rows - self.rows[0]).var(axis=0).mean()) or 1.0
        model = GaussianMixture(
            int(k), covariance_type=kind, n_init=self.n_init, reg_covar=1e-6 * variance, random_state=self.rng
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the best of several runs is taken as it is
            return model.fit(self.rows)

    def _fit(self, rows, k):
        return KMeans(int(k), n_init=self.n_init, n_threads=self.n_threads, random_state=self.rng).fit(rows)

    def _clusters(self, fit):
        n = np.bincount(fit.labels_, minlength=1).astype(np.float64)
        # About a row, so that large values without differences do not overflow.
        variance = float((self.rows - self.rows[0]).var(axis=0).mean())
        return SphericalClusters(n[n > 0], self.rows.shape[1], fit.inertia_, _LEAST_VARIANCE * variance)

    def _held_out(self, n_folds):
        folds = list(KFold(n_folds, shuffle=True, random_state=self.rng).split(self.rows))
        return np.array([np.mean([self._log_density(k, *fold) for fold in folds]) for k in self.k])

    def _log_density(self, k, train, test):
        """Mean log density of the held-out rows."""
        fit = self._fit(self.rows[train], k)
        clusters = self._clusters(fit)
        centres = fit.cluster_centers_[np.unique(fit.labels_)]
        sq_dist = np.stack([((self.rows[test] - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
        log_weight = np.log(clusters.n / clusters.n.sum())
        return logsumexp(log_weight - sq_dist / (2 * clusters.variance), axis=1).mean() - clusters.log_norm

    def _silhouettes(self, fits):
        """Mean silhouettes on one sample of rows; NaN for one cluster."""
        picked = self.rng.permutation(len(self.rows))[:_MOST_PAIRED]
        return np.array(
            [
                silhouette_score(self.rows[picked], labels) if 1 < len(np.unique(labels)) < len(labels) else np.nan
                for labels in (fit.labels_[picked] for fit in fits)
            ]
        )

    def _gap(self, inertia, n_references):
        """Mean log inertia of references minus ours, and the margin s(k) for the draws of references."""
        mean = self.rows.mean(axis=0)
        axes = np.linalg.svd(self.rows - mean, full_matrices=False)[2]
        turned = (self.rows - mean) @ axes.T
        low, high = turned.min(axis=0), turned.max(axis=0)
        drawn = np.array(
            [
                [_log(self._fit(reference, k).inertia_) for k in self.k]
                for reference in (self.rng.uniform(low, high, size=turned.shape) for _ in range(n_references))
            ]
        )
        return drawn.mean(axis=0) - _log(inertia), drawn.std(axis=0) * np.sqrt(1 + 1 / n_references)


def _log(inertia):
    return np.log(np.maximum(inertia, np.finfo(np.float64).tiny))


def below_the_line(inertia):
    """How far a falling curve lies below the line between its ends, as a share of its fall; zero where it is flat."""
    fall = inertia[0] - inertia[-1]
    line = np.linspace(1.0, 0.0, len(inertia))
    return line - (inertia - inertia[-1]) / fall if fall > 0 else np.zeros(len(inertia))


def highest_place(values):
    """The first place of the highest value; the first of all where every value is NaN."""
    return int(np.argmax(np.where(np.isnan(values), -np.inf, values)))


def first_within(gap, margin):
    """The first place whose gap the next one's does not exceed by more than its margin; the last if there is none."""
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - margin[1:])
    return int(enough[0]) if len(enough) else len(gap) - 1
