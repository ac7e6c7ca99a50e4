"""AutoCluster: the number of clusters and the kind of model, chosen by comparison with rows without clusters."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from kfree.core.fields import Count, NumberOfClusters, PerCluster, RowLabels
from kfree.core.frame import Frame
from kfree.core.marks import OneOf, require
from kfree.core.one_hot import one_hot_groups
from kfree.core.progress import tell
from kfree.core.stats import Floats, Labels
from kfree.core.warning import warn
from kfree.estimators._auto_models import (
    DIPS,
    ELLIPSES,
    METRICS,
    MODELS,
    ONE,
    PREPARATIONS,
    SCALES,
    Components,
    RowFrame,
    fit_on_all,
    has_encoded_levels,
)
from kfree.estimators._base import ClusterEstimator, column_names, or_new, publish, report, require_rows
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import judging
from kfree.estimators.bayesian_k_means import BayesianKMeans
from kfree.estimators.dp_means import DPMeans
from kfree.exceptions import DataAdvice
from kfree.explain.spread import FALSE_ALARMS
from kfree.search.judge.choose import (
    BY_CENTRES,
    CLEAN,
    FEWEST_ROWS,
    ROUND,
    ROWS_GRAPH,
    SHAPES,
    SHARED,
    TIE,
    Candidate,
    Judge,
)
from kfree.search.judge.one_column import ColumnJudge
from kfree.search.judge.rows import distinct, has_few_points
from kfree.search.judge.stability import interval_of, is_sure, jaccard, refits_on_halves
from kfree.search.path.lattice import circles_in
from kfree.search.span import coordinates, first_of_equal
from kfree.validation.parameters import (
    VERBOSE,
    check,
    choice,
    is_positive_number,
    random_generator,
    require_share,
    threads,
)
from kfree.validation.parameters import require as require_parameter
from kfree.validation.rows import validated_rows, validated_weights

CONSTRAINTS = (
    choice("metric", list(METRICS)),
    choice("scale", list(SCALES)),
    lambda e: require_parameter(
        e.time_budget is None or is_positive_number(e.time_budget), "time_budget", e.time_budget, "seconds > 0 or None"
    ),
    threads,
    VERBOSE,
)

# Rows that are judged: of tables and sparse rows, of unit rows. If there are more, they are a random sample.
_MOST_JUDGED, _MOST_JUDGED_UNIT = 1000, 2000
# Sparse rows of so few columns are a table.
_FEW_COLUMNS = 30
# Random splits into halves that stability is measured on: of tables, of unit rows.
_N_SPLITS, _N_SPLITS_UNIT = 4, 2
_FEW_POINTS = "rows share few distinct points, so density dips between these decide"
_CUT = "neighbours are separated {} less often than in rows without clusters."
_MISSING = "there are {} fewer rows between clusters than one cluster would have."
_NO_VALLEYS = "nowhere are rows so few that one group of values cannot explain it"
_NO_SHAPE = "clusters of one column have no shape"
_AS_ENCODED = " Columns count as they are, because X has levels as TableEncoder encodes them."
# Not offered, with the reason (docs/theory/judge.md); both take a number of clusters.
_OF_COUNTS = ("counts", "not offered: with k clusters, DPMeans(metric='kl', target_k=k) is hardly better than round")
_OF_BITS = ("zeros and ones", "not offered: with k clusters, DPMeans(metric='logistic', target_k=k) is not better")
_NO_DIPS = "there are no density dips, which clusters in few columns have"
# In few columns, density dips say that there are more clusters than the graph shows if they avoid this share of the
# links that it avoids: 0.89 to 0.98 for round clusters that touch, 0.4 to 0.55 for pieces of rings and strips. With
# levels, they say how many if the graph's score at this number is this share of its highest, too.
_AS_CLEAN = 0.75
# Other numbers of clusters with this share of the best score are named.
_CLOSE = 0.9
# If such numbers differ by this ratio, scores of unit rows do not decide between them.
_UNDECIDED = 2.0
# Processor seconds that a judgement takes about: for each row, and for each value.
_SECONDS_PER_ROW, _SECONDS_PER_VALUE = 2.5e-3, 1e-5


# What a fit does, and which share of the time that takes.
_STEPS = {"surrogates": 0.4, "graph": 0.2, "halves": 0.3, "all rows": 0.1}


class AutoCluster(ClusterEstimator):
    """Clusters of any kind without parameters: how many, and which model shows them.

    A clustering is believed if it is better than what the same procedure finds in surrogate rows, which have the same
    columns and correlations but no clusters. The number of clusters and the model are those of the largest difference;
    `docs/choosing-k.md` explains the score.

    Parameters
    ----------
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        ``"euclidean"`` compares columns, ``"cosine"`` divides rows by their lengths.
        ``"auto"`` is ``"cosine"`` if all rows have the same length, as normalised embeddings have, or are sparse
        with more than 30 columns.
    scale : {"auto", "deviation", "none"}, default="auto"
        What columns are divided by unless the metric is cosine: their standard deviations, or nothing. Take ``"none"``
        for rows whose distances have a meaning already; they are not whitened either. ``"auto"`` is ``"none"`` if X has
        categories as :class:`TableEncoder` encodes them (one-hot columns, any two levels one apart), and ``reason_``
        says so.
    time_budget : float or None, default=None
        Seconds on one processor core that the judgement may take: fewer rows are judged where it is short. The fit of
        the chosen model on all rows comes on top.
    n_threads : int or None, default=None
        Threads of the models that are fitted on all rows. The result is the same for any number.
    random_state : int, RandomState or None, default=0
        Seed for the sample, the surrogates and the halves.
    verbose : {0, 1}, default=0
        1 shows progress, the percentage and the time left, which needs rich: ``pip install "kfree[progress]"``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    n_clusters_ : int
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    model_ : object
        The fitted winner: ``KMeans``, ``BayesianKMeans`` or ``DPMeans`` on prepared rows, or a vote of neighbours for
        clusters of any shape.
    model_name_ : str
        "one cluster", "round", "shared ellipse", "ellipses" or "any shape".
    candidates_ : list of dict
        One for each candidate, the winner first: ``model``, ``k``, ``links``, ``score`` and ``why_not``. Candidates
        that do not take sparse rows or a single column, and models of counts, zeros and ones, have None for all but the
        first and the last.
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
    feature_names_in_ : ndarray of str, where X has column names

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

    labels_: RowLabels
    n_clusters_: NumberOfClusters
    model_: Annotated[Any, OneOf(MODELS)]
    model_name_: str
    candidates_: list[dict[str, Any]]
    reason_: str
    k_interval_: tuple[int, int]
    stability_: PerCluster
    is_sure_: bool
    curves_: dict[str, dict[str, Any]]
    n_judged_: Count
    _frame_: RowFrame
    _prepare_: Annotated[Any, OneOf(PREPARATIONS)]

    @keyword_only
    def __init__(
        self, *, metric="auto", scale="auto", time_budget=None, n_threads=None, random_state=0, verbose=0
    ) -> None:
        self.metric = metric
        self.scale = scale
        self.time_budget = time_budget
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    report = report

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Judge a sample of the rows, and fit the model that was chosen on all of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Fewer than 24 distinct rows are one cluster, and a warning says so. Clusters of sparse rows are round;
            candidates of other shapes do not take them. Sparse rows of at most 30 columns are handled as dense ones.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Rows of weight zero are not judged. Weights count in the fit of the chosen model; as evidence,
            a row counts once however heavy it is.

        Returns
        -------
        self : AutoCluster
        """
        check(self, CONSTRAINTS)
        rows = self._validated(X)
        weight = validated_weights(sample_weight, rows.shape[0])
        counting = np.arange(rows.shape[0]) if weight is None else np.flatnonzero(weight > 0)
        frame, scale = self._frame_of(rows[counting])
        framed = frame(rows)
        rng = np.random.default_rng(random_generator(self.random_state).randint(2**31))
        # One thread for matrix products, so that no sum depends on the number of threads.
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings(), judging(self, _STEPS):
            warnings.simplefilter("ignore")  # by candidates: what matters of it is in reason_
            judged = self._judged_rows(framed, counting, frame.unit, rng)
            choice = chosen_for(framed[judged], rows[judged], frame.unit, scale != "none", rng, self.n_threads)
            choice = replace(choice, left_out=choice.left_out + not_offered(rows[judged]))
            settings = {"unit": frame.unit, "white": choice.white, "n_threads": self.n_threads}
            tell("all rows", 0.0)
            fitted = fit_on_all(choice.name, framed, weight, judged, choice.labels, **settings)
            tell("all rows", 1.0)
        note = _AS_ENCODED if scale != self.scale == "auto" and scale == "none" and not frame.unit else ""
        publish(self, X, published(frame, choice, fitted, judged, note))
        if len(judged) < FEWEST_ROWS:
            warn(
                f"AutoCluster judges at least {FEWEST_ROWS} distinct rows, and X has {len(judged)}, so all rows are one"
                " cluster. Give more rows, or KMeans if you know the number of clusters.",
                DataAdvice,
            )
        return self

    def predict(self, X: Any, allow_new: bool = False) -> Labels:
        """The cluster of each row of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        ready = self._ready(X)
        labels = np.asarray(self.model_.predict(ready))
        return or_new(self, labels, X, allow_new)

    def outlier_score(self, X: Any, false_alarms: float = FALSE_ALARMS) -> Floats:
        """The outlier score of ``model_``: above 1, the row belongs to no cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        false_alarms : float, default=0.001
            The share of rows of a cluster with a score above 1.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        require_share("false_alarms", false_alarms)
        ready = self._ready(X)
        return self.model_.outlier_score(ready, false_alarms)

    def _ready(self, X):
        """Rows as the chosen model takes them."""
        check_is_fitted(self)
        rows = self._validated(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return self._prepare_(self._frame_(rows))

    def _view(self, X):
        require_rows(X, self)
        ready = self._ready(X)
        return replace(self.model_._view(ready), columns=self._validated(X), names=column_names(X, self))

    def _validated(self, X):
        rows = validated_rows(X, self)
        if sp.issparse(rows) and rows.shape[1] <= _FEW_COLUMNS:
            rows = rows.toarray()
        if sp.issparse(rows) and self.metric == "euclidean":
            raise ValueError(
                "metric='euclidean' is not allowed for sparse X, whose columns cannot be centred; give metric='cosine',"
                " or reduce the columns first, for example with TruncatedSVD."
            )
        return rows.astype(np.float64, copy=False)

    def _restored(self):
        ok = self.model_.n_features_in_ == self._prepare_(self._frame_(np.zeros((1, self.n_features_in_)))).shape[1]
        require(ok, "model", "takes other columns than the frame gives")

    def _frame_of(self, rows):
        """Frame and scale; rows of TableEncoder stay as they are unless a scale is given."""
        scale = self.scale if self.scale != "auto" else "none" if has_encoded_levels(rows) else "deviation"
        return RowFrame.of(rows, self.metric, scale), scale

    def _judged_rows(self, framed, counting, unit, rng):
        """Numbers of the rows that are judged: distinct ones, at most as many as the time allows."""
        most = _MOST_JUDGED_UNIT if unit and not sp.issparse(framed) else _MOST_JUDGED
        if self.time_budget is not None:
            per_row = _SECONDS_PER_ROW + _SECONDS_PER_VALUE * framed.shape[1]
            allowed = f"at least {FEWEST_ROWS * per_row:.2f} seconds, which a judgement of {FEWEST_ROWS} rows takes"
            require_parameter(self.time_budget >= FEWEST_ROWS * per_row, "time_budget", self.time_budget, allowed)
            most = min(most, int(self.time_budget / per_row))
        some = np.sort(rng.permutation(counting)[: 2 * most])
        some = some[first_of_equal(framed[some]) if sp.issparse(framed) else distinct(framed[some])]
        return np.sort(rng.permutation(some)[:most])


def not_offered(rows):
    """Models of counts, or of zeros and ones, with the reason why they are no candidates, for rows of that kind."""
    values = rows.data if sp.issparse(rows) else rows
    if values.size == 0 or values.min() < 0 or not np.array_equal(values, np.round(values)):
        return ()
    return (_OF_BITS,) if values.max() <= 1 else (_OF_COUNTS,)


def published(frame, choice, fitted, judged, note):
    """The attributes of a fit; ``note`` ends the reason."""
    k = int(fitted.labels.max()) + 1
    interval, stability = interval_of(k, choice.refits), jaccard(fitted.labels[judged], choice.refits)
    stability = np.append(stability, np.zeros(k - len(stability)))  # clusters without judged rows
    return {
        "_frame_": frame,
        "_prepare_": fitted.prepare,
        "labels_": fitted.labels.astype(np.int32, copy=False),
        "n_clusters_": k,
        "model_": fitted.model,
        "model_name_": choice.name,
        "candidates_": choice.table(),
        "reason_": choice.reason(k, len(judged), len(fitted.labels)) + note,
        "k_interval_": interval,
        "stability_": stability,
        "is_sure_": is_sure(interval, stability),
        "curves_": {
            name: {"k": k, "links": scores.links, "clarity": scores.clarity, "score": scores.score}
            for name, (k, scores) in choice.curves.items()
        },
        "n_judged_": len(judged),
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
    # Models that do not take rows of this kind, with the reason.
    left_out: tuple = ()
    # Why clusters that score more than rows without clusters are none.
    veto: str = ""
    # What rows without clusters do more often.
    rarely: str = _CUT

    def table(self):
        """Candidates as dicts."""
        fields = ("model", "k", "links", "score", "why_not")
        rest = [dict.fromkeys(fields) | {"model": model, "why_not": why} for model, why in self.left_out]
        return [{name: getattr(one, name) for name in fields} for one in self.candidates] + rest

    def reason(self, k, n_judged, n_rows):
        """Why this model and this number, in a sentence or two."""
        on = "" if n_judged == n_rows else f" Judged on {n_judged:,} of {n_rows:,} rows."
        if not self.curves:
            few = f"there are fewer than {FEWEST_ROWS} distinct rows" if n_judged < FEWEST_ROWS else _FEW_POINTS
            return f"{k} cluster{'s' if k > 1 else ''}: {few}.{on}"
        if self.veto:
            return f"One cluster: {self.veto}.{on}"
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
        return f"{k} clusters ({self.name}): {self.rarely.format(_times(chosen))}{self._close(k)}{on}"

    def _close(self, k):
        found: dict[int, float] = {}
        # Where k-means says how many, scores of graphs do not count.
        curves = [self.curves[BY_CENTRES]] if BY_CENTRES in self.curves else self.curves.values()
        for numbers, scores in curves:
            for number, score in zip(numbers.tolist(), scores.score.tolist(), strict=True):
                found[number] = max(found.get(number, 0.0), score)
        best = max(found.values())
        near = [number for number, score in found.items() if score >= _CLOSE * best and abs(number - k) > 0.15 * k]
        return f" {', '.join(map(str, sorted(near)[:3]))} was close." if near else ""


def _times(chosen):
    told = 1 - ((np.bincount(chosen.labels) / len(chosen.labels)) ** 2).sum()
    return f"{100 * min(chosen.links / told, 1.0):.0f} %" if told else "0 %"


def chosen_for(rows, given, unit, whiten, rng, n_threads):
    """The choice for judged rows, dense or sparse; ``given`` are these as they were given, in their own units."""
    if not sp.issparse(rows):
        return choose(rows, given, unit, whiten, rng, n_threads)
    # Distances between sparse rows are kept in coordinates of what they span.
    found = choose(coordinates(rows, Frame.plain(rows.shape[1], unit=True)), None, True, False, rng, n_threads)
    others = tuple((model, "does not take sparse rows") for model in (SHARED, ELLIPSES, SHAPES))
    candidates = tuple(one for one in found.candidates if one.model != SHAPES)
    return replace(found, name=ROUND if found.name == SHAPES else found.name, candidates=candidates, left_out=others)


def choose(rows, given, unit, whiten, rng, n_threads):
    """The same for dense rows."""
    nothing = np.zeros(len(rows), dtype=np.int64)
    if len(rows) < FEWEST_ROWS:
        return Choice(ONE, nothing, ())
    if has_few_points(rows):
        return _by_dips(rows, given, (), n_threads)
    if rows.shape[1] == 1:
        return _in_one_column(rows, rng)
    # Whitened, rare values of a category would count as much as frequent ones.
    whiten = whiten and not one_hot_groups(rows)
    judge = Judge(rows, unit, rng, whiten=whiten)
    verdict = judge.judge()
    facts = (verdict.best_score, verdict.gate, verdict.curves)
    if verdict.chosen is None:
        # Unit rows of skewed factors have dips without clusters, and so have curves. For other tables, and for more
        # clusters than the graph is asked for, dips are the second opinion.
        one = Choice(ONE, nothing, verdict.candidates, *facts)
        found = one if unit else _by_dips(rows, given, verdict.candidates, n_threads, *facts)
        return one if judge.may_be_curved and found.labels.max() < max(judge.numbers) else found
    chosen, candidates = verdict.chosen, verdict.candidates
    if judge.may_be_curved:
        chosen, candidates = _with_dips(judge, chosen, candidates, n_threads)
        if chosen is None:
            return Choice(ONE, nothing, candidates, *facts, veto=_NO_DIPS)
    if unit:
        chosen, candidates = _with_path(judge, chosen, candidates, verdict.curves, n_threads)
    second = None if whiten or unit or judge.may_be_curved else _dips_beside(rows, n_threads)
    if second is not None:
        chosen, candidates = _with_levels(judge, second, chosen, candidates, verdict.curves)
    refits = tuple(refits_on_halves(judge, chosen, _N_SPLITS_UNIT if unit else _N_SPLITS, second))
    if not unit and chosen.model == SHAPES and chosen.avoided < CLEAN:
        chosen, candidates = _with_ellipses(rows, judge, chosen, candidates, n_threads)
    white = chosen.view > 0 and chosen.model != ELLIPSES
    return Choice(chosen.model, chosen.labels, candidates, *facts, refits, white)


def _in_one_column(rows, rng):
    """Clusters of one column are intervals, and rows between two of them are few."""
    judge = ColumnJudge(rows, rng)
    verdict = judge.judge()
    facts = (verdict.candidates, verdict.best_score, verdict.gate, verdict.curves)
    others = tuple((model, _NO_SHAPE) for model in (SHARED, ELLIPSES, SHAPES))
    if verdict.chosen is None:
        return Choice(ONE, np.zeros(len(rows), dtype=np.int64), *facts, left_out=others, veto=_NO_VALLEYS)
    refits = tuple(judge.refits(_N_SPLITS))
    return Choice(ROUND, verdict.chosen.labels, *facts, refits, left_out=others, rarely=_MISSING)


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


def _with_dips(judge, chosen, candidates, n_threads):
    """Density dips beside the candidates of a table of few columns, where they are seen wherever there are clusters.

    None is chosen if neither rows nor whitened rows have dips, unless hardly any link is cut. More round clusters
    than the graph has parts are chosen if they avoid about as many links.
    """
    fits = (DPMeans(random_state=0, n_threads=n_threads).fit(rows).labels_ for rows in judge.views.rows)
    view, found = next(((view, labels) for view, labels in enumerate(fits) if labels.max()), (0, None))
    if found is None and chosen.avoided >= CLEAN:
        return chosen, candidates
    if found is None:
        return None, (replace(chosen, why_not=_NO_DIPS), *candidates[1:])
    dips = _by_centres_of(found, judge, view)
    if dips.k > chosen.k and dips.avoided >= _AS_CLEAN * judge.links(chosen.labels)[1]:
        why = f"density dips show {dips.k} clusters, about as well separated"
        return dips, (dips, replace(chosen, why_not=why), *candidates[1:])
    return chosen, candidates


def _with_path(judge, chosen, candidates, curves, n_threads):
    """The number of DPMeans beside those of unit rows whose scores do not decide: topics have sub-topics."""
    numbers, scores = curves[BY_CENTRES]
    close = numbers[scores.score >= _CLOSE * scores.score.max()]
    if close.max() <= _UNDECIDED * close.min():
        return chosen, candidates
    k = DPMeans(metric="cosine", random_state=0, n_threads=n_threads).fit(judge.rows).n_clusters_
    if not close.min() <= k <= close.max():
        return chosen, candidates
    labels = judge.k_means_of(np.arange(judge.n_rows), 0, k)
    links, avoided = judge.links(labels)
    score = float(np.interp(k, numbers, scores.score))
    told = Candidate(ROUND, k, avoided, links, 0.0, score, labels)
    why = f"scores do not decide between {close.min()} and {close.max()} clusters, and density dips show {k}"
    return told, (told, replace(chosen, why_not=why), *candidates[1:])


def _with_levels(judge, second, chosen, candidates, curves):
    """Clusters of DPMeans, which recognises levels, beside those of a table with levels whose scores are close."""
    found = second(np.arange(judge.n_rows), *curves[ROWS_GRAPH])
    dips = chosen if found is None else _by_centres_of(found, judge, 0)
    if dips.k == chosen.k or dips.avoided < _AS_CLEAN * chosen.avoided:
        return chosen, candidates
    why = f"its score is not far from that of {dips.k} clusters, and density dips show these"
    return dips, (dips, replace(chosen, why_not=why), *candidates[1:])


def _dips_beside(rows, n_threads):
    """A second opinion on some of the rows: labels of DPMeans if the score of its number is not far from the best."""

    def labels(some, numbers, scores):
        possible = numbers[scores.score >= _AS_CLEAN * scores.score.max()]
        if len(possible) < 2:
            return None
        found = DPMeans(random_state=0, n_threads=n_threads).fit(rows[some]).labels_.astype(np.int64)
        return found if found.max() + 1 in possible else None

    return labels


def _by_centres_of(found, judge, view):
    """Clusters of DPMeans in one view as a candidate."""
    labels = np.asarray(found, dtype=np.int64)
    links, avoided = judge.links(labels)
    return Candidate((ROUND, SHARED)[view], int(labels.max()) + 1, avoided, links, 0.0, 0.0, labels, view)


def _with_ellipses(rows, judge, chosen, candidates, n_threads):
    """Ellipses of any direction beside the candidates; they are simpler than clusters of any shape."""
    found = BayesianKMeans(random_state=0, n_threads=n_threads).fit(Components.of(rows)(rows)).labels_
    labels = np.unique(found, return_inverse=True)[1]
    links, avoided = judge.links(labels)
    ellipses = Candidate(ELLIPSES, int(labels.max()) + 1, avoided, links, 0.0, 0.0, labels)
    if links >= chosen.links - TIE and avoided >= chosen.avoided - TIE:
        lost = replace(chosen, why_not="ellipses are simpler, and cut about as few links between neighbours")
        return ellipses, (ellipses, lost, *candidates[1:])
    why = f"cuts more links between neighbours: {links:.2f}, where the chosen model has {chosen.links:.2f}"
    return chosen, (*candidates, replace(ellipses, why_not=why))
