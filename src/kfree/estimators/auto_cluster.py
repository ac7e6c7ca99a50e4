"""AutoCluster: the number of clusters and the kind of model, chosen by comparison with rows without clusters."""

import warnings
from dataclasses import dataclass, field, replace
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from kfree.core.warning import warn
from kfree.estimators._auto_models import DIPS, ELLIPSES, METRICS, ONE, Components, RowFrame, fit_on_all
from kfree.estimators._keywords import keyword_only
from kfree.estimators.bayesian_k_means import BayesianKMeans
from kfree.estimators.dp_means import DPMeans
from kfree.exceptions import DataAdvice
from kfree.search.judge.choose import CLEAN, FEWEST_ROWS, SHAPES, TIE, Candidate, Judge
from kfree.search.judge.rows import distinct, has_few_points
from kfree.search.judge.stability import interval_of, jaccard, refits_on_halves
from kfree.search.path.lattice import circles_in, one_hot_groups
from kfree.validation.parameters import random_generator, require, require_threads
from kfree.validation.rows import validated_weights

# Rows that are judged: of tables, of unit rows. If there are more, they are a random sample.
_MOST_JUDGED, _MOST_JUDGED_UNIT = 1000, 2000
# Random splits into halves that stability is measured on: of tables, of unit rows.
_N_SPLITS, _N_SPLITS_UNIT = 4, 2
_FEW_POINTS = "rows share few distinct points, so density dips between these decide"
# Clusters with a lower Jaccard index are not stable (Hennig 2007).
_STABLE = 0.75
# Other numbers of clusters with this share of the best score are named.
_CLOSE = 0.9
# Processor seconds that a judgement takes about: for each row, and for each value.
_SECONDS_PER_ROW, _SECONDS_PER_VALUE = 2.5e-3, 1e-5


class AutoCluster(ClusterMixin, BaseEstimator):
    """Clusters of any kind without parameters: how many, and which model shows them.

    A clustering is believed if it is better than what the same procedure finds in surrogate rows, which have the same
    columns and correlations but no clusters. The number of clusters and the model are those of the largest difference;
    `docs/choosing-k.md` explains the score.

    Parameters
    ----------
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        ``"euclidean"`` divides columns by their standard deviations. ``"cosine"`` divides rows by their lengths.
        ``"auto"`` is ``"cosine"`` if all rows have the same length, as normalised embeddings have.
    time_budget : float or None, default=None
        Seconds on one processor core that the judgement may take: fewer rows are judged where it is short. The fit of
        the chosen model on all rows comes on top.
    n_threads : int or None, default=None
        Threads of the models that are fitted on all rows. The result is the same for any number.
    random_state : int, RandomState or None, default=0
        Seed for the sample, the surrogates and the halves.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    n_clusters_ : int
    model_ : object
        The fitted winner: ``KMeans``, ``BayesianKMeans`` or ``DPMeans`` on prepared rows, or a vote of neighbours for
        clusters of any shape.
    model_name_ : str
        "one cluster", "round", "shared ellipse", "ellipses" or "any shape".
    candidates_ : list of dict
        One for each candidate, the winner first: ``model``, ``k``, ``links``, ``score`` and ``why_not``.
    reason_ : str
        Why this model and this number.
    k_interval_ : tuple of int
        The smallest and the largest number of clusters found on halves of the rows.
    stability_ : ndarray of shape (n_clusters_,)
        For each cluster the mean Jaccard index with the most similar cluster found on halves of the rows.
    is_sure_ : bool
        Whether all halves show the same number of clusters, and all clusters are stable (at least 0.75).
    curves_ : dict
        The score for each number of clusters, by view of the rows: arrays ``k``, ``links``, ``clarity``, ``score``.
    n_judged_ : int
        Rows that were judged.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import AutoCluster
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)) + 12 * np.eye(3, 2)[rng.integers(3, size=300)]
    >>> model = AutoCluster().fit(X)
    >>> model.n_clusters_, model.model_name_, model.is_sure_
    (3, 'round', True)
    """

    @keyword_only
    def __init__(self, *, metric="auto", time_budget=None, n_threads=None, random_state=0):
        self.metric = metric
        self.time_budget = time_budget
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Judge a sample of the rows, and fit the model that was chosen on all of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Fewer than 24 distinct rows are one cluster, and a warning says so.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Rows of weight zero are not judged. Weights count in the fit of the chosen model; as evidence,
            a row counts once however heavy it is.

        Returns
        -------
        self : AutoCluster
        """
        self._check_parameters()
        rows = self._validated(X, reset=True)
        weight = validated_weights(sample_weight, len(rows))
        counting = np.arange(len(rows)) if weight is None else np.flatnonzero(weight > 0)
        frame = RowFrame.of(rows[counting], self.metric)
        framed = frame(rows)
        rng = np.random.default_rng(random_generator(self.random_state).randint(2**31))
        # One thread for matrix products, so that no sum depends on the number of threads.
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # by candidates: what matters of it is in reason_
            judged = self._judged_rows(framed, counting, frame.unit, rng)
            choice = choose(framed[judged], rows[judged], frame.unit, rng, self.n_threads)
            settings = {"unit": frame.unit, "white": choice.white, "n_threads": self.n_threads}
            fitted = fit_on_all(choice.name, framed, weight, judged, choice.labels, **settings)
        self._publish(frame, choice, fitted, judged)
        if len(judged) < FEWEST_ROWS:
            warn(
                f"AutoCluster judges at least {FEWEST_ROWS} distinct rows, and X has {len(judged)}, so all rows are one"
                " cluster. Give more rows, or KMeans if you know the number of clusters.",
                DataAdvice,
            )
        return self

    def predict(self, X):
        """The cluster of each row of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        check_is_fitted(self, "labels_")
        ready = self._fitted.prepare(self._frame(self._validated(X, reset=False)))
        return self._order[np.asarray(self.model_.predict(ready))].astype(np.int32)

    def _check_parameters(self):
        require(self.metric in METRICS, "metric", self.metric, " or ".join(f'"{metric}"' for metric in METRICS))
        is_time = isinstance(self.time_budget, Real) and not isinstance(self.time_budget, bool)
        ok = self.time_budget is None or (is_time and 0 < float(self.time_budget) < np.inf)
        require(ok, "time_budget", self.time_budget, "seconds > 0 or None")
        require_threads(self.n_threads)

    def _validated(self, X, reset):
        if sp.issparse(X):
            raise TypeError(
                'X is sparse, and AutoCluster takes dense rows only. Use DPMeans(metric="cosine"), or reduce the '
                "columns first, for example with TruncatedSVD."
            )
        return validate_data(self, X, reset=reset, dtype=np.float64)

    def _judged_rows(self, framed, counting, unit, rng):
        """Numbers of the rows that are judged: distinct ones, at most as many as the time allows."""
        most = _MOST_JUDGED_UNIT if unit else _MOST_JUDGED
        if self.time_budget is not None:
            per_row = _SECONDS_PER_ROW + _SECONDS_PER_VALUE * framed.shape[1]
            allowed = f"at least {FEWEST_ROWS * per_row:.2f} seconds, which a judgement of {FEWEST_ROWS} rows takes"
            require(self.time_budget >= FEWEST_ROWS * per_row, "time_budget", self.time_budget, allowed)
            most = min(most, int(self.time_budget / per_row))
        some = np.sort(rng.permutation(counting)[: 2 * most])
        some = some[distinct(framed[some])]
        return np.sort(rng.permutation(some)[:most])

    def _publish(self, frame, choice, fitted, judged):
        sizes = np.bincount(fitted.labels)
        order = np.empty(len(sizes), dtype=np.int64)
        order[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))  # the largest cluster is 0
        self._frame, self._fitted, self._order = frame, fitted, order
        self.model_, self.model_name_ = fitted.model, choice.name
        self.labels_ = order[fitted.labels].astype(np.int32)
        self.n_clusters_ = len(sizes)
        self.n_judged_ = len(judged)
        self.candidates_ = choice.table()
        self.reason_ = choice.reason(self.n_clusters_, len(judged), len(fitted.labels))
        self.k_interval_ = interval_of(self.n_clusters_, choice.refits)
        self.stability_ = jaccard(self.labels_[judged].astype(np.int64), choice.refits)
        self.is_sure_ = self.k_interval_[0] == self.k_interval_[1] and bool((self.stability_ >= _STABLE).all())
        self.curves_ = {
            name: {"k": k, "links": scores.links, "clarity": scores.clarity, "score": scores.score}
            for name, (k, scores) in choice.curves.items()
        }


@dataclass(frozen=True)
class Choice:
    """What was chosen for the judged rows, what was not, and the same on halves of them."""

    name: str
    labels: np.ndarray
    candidates: tuple
    best_score: float = 0.0
    gate: float = 0.0
    curves: dict = field(default_factory=dict)
    refits: tuple = ()
    white: bool = False

    def table(self):
        """Candidates as dicts."""
        fields = ("model", "k", "links", "score", "why_not")
        return [{name: getattr(one, name) for name in fields} for one in self.candidates]

    def reason(self, k, n_judged, n_rows):
        """Why this model and this number, in a sentence or two."""
        on = "" if n_judged == n_rows else f" Judged on {n_judged:,} of {n_rows:,} rows."
        if not self.curves:
            few = f"there are fewer than {FEWEST_ROWS} distinct rows" if n_judged < FEWEST_ROWS else _FEW_POINTS
            return f"{k} cluster{'s' if k > 1 else ''}: {few}.{on}"
        if self.name == ONE:
            return (
                f"One cluster: the best partition scores {self.best_score:.3f}, and rows without clusters may have "
                f"{self.gate}.{on}"
            )
        if self.name == DIPS:
            return (
                f"{k} clusters by density dips: the best partition scores {self.best_score:.3f}, below {self.gate}, "
                f"but the density dips between {k} centres.{on}"
            )
        chosen = self.candidates[0]
        rarely = f"neighbours are separated {_times(chosen)} than in rows without clusters."
        return f"{k} clusters ({self.name}): {rarely}{self._close(k)}{on}"

    def _close(self, k):
        found: dict[int, float] = {}
        for numbers, scores in self.curves.values():
            for number, score in zip(numbers.tolist(), scores.score.tolist(), strict=True):
                found[number] = max(found.get(number, 0.0), score)
        best = max(found.values())
        near = [number for number, score in found.items() if score >= _CLOSE * best and abs(number - k) > 0.15 * k]
        return f" {', '.join(map(str, sorted(near)[:3]))} was close." if near else ""


def _times(chosen):
    told = 1 - ((np.bincount(chosen.labels) / len(chosen.labels)) ** 2).sum()
    return f"{100 * min(chosen.links / told, 1.0):.0f} % less often" if told else "no less often"


def choose(rows, given, unit, rng, n_threads):
    """The choice for judged rows; ``given`` are these as they were given, in their own units."""
    nothing = np.zeros(len(rows), dtype=np.int64)
    if len(rows) < FEWEST_ROWS:
        return Choice(ONE, nothing, ())
    if has_few_points(rows):
        return _by_dips(rows, given, (), n_threads)
    judge = Judge(rows, unit, rng)
    verdict = judge.judge()
    facts = (verdict.best_score, verdict.gate, verdict.curves)
    if verdict.chosen is None:
        # Unit rows of skewed factors have dips without clusters; for tables, dips are the second opinion.
        one = Choice(ONE, nothing, verdict.candidates, *facts)
        return one if unit else _by_dips(rows, given, verdict.candidates, n_threads, *facts)
    chosen, candidates = verdict.chosen, verdict.candidates
    refits = tuple(refits_on_halves(judge, chosen, _N_SPLITS_UNIT if unit else _N_SPLITS))
    if not unit and chosen.model == SHAPES and chosen.avoided < CLEAN:
        chosen, candidates = _with_ellipses(rows, judge, chosen, candidates, n_threads)
    white = chosen.view > 0 and chosen.model != ELLIPSES
    return Choice(chosen.model, chosen.labels, candidates, *facts, refits, white)


def _by_dips(rows, given, candidates, n_threads, *facts):
    """What DPMeans finds, which tests density dips.

    It recognises one-hot columns, and sine and cosine of an angle, in the given units alone. With such columns it must
    find clusters there too.
    """
    labels = DPMeans(random_state=0, n_threads=n_threads).fit(rows).labels_.astype(np.int64)
    has_categories = bool(one_hot_groups(given)) or bool(circles_in(given))
    if has_categories and DPMeans(random_state=0, n_threads=n_threads).fit(given).n_clusters_ == 1:
        labels = np.zeros_like(labels)
    return Choice(DIPS if labels.max() else ONE, labels, candidates, *facts)


def _with_ellipses(rows, judge, chosen, candidates, n_threads):
    """Ellipses of any direction beside the candidates; they are simpler than clusters of any shape."""
    found = BayesianKMeans(random_state=0, n_threads=n_threads).fit(Components.of(rows)(rows)).labels_
    labels = np.unique(found, return_inverse=True)[1]
    links, avoided = judge.links(labels)
    ellipses = Candidate(ELLIPSES, int(labels.max()) + 1, avoided, links, 0.0, 0.0, labels)
    if links >= chosen.links - TIE:
        lost = replace(chosen, why_not="ellipses are simpler, and cut about as few links between neighbours")
        return ellipses, (ellipses, lost, *candidates[1:])
    why = f"cuts more links between neighbours: {links:.2f}, where the chosen model has {chosen.links:.2f}"
    return chosen, (*candidates, replace(ellipses, why_not=why))
