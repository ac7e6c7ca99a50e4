"""AutoCluster: the number of clusters and the kind of model, chosen by comparison with rows without clusters."""

import warnings
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from kfree.core.equal_rows import distinct
from kfree.core.fields import Count, NumberOfClusters, PerCluster, RowLabels
from kfree.core.marks import OPTIONAL, Below, OneOf, Shape, require
from kfree.core.printing import columns_in_words
from kfree.core.progress import tell
from kfree.core.stats import Floats, Index, Labels
from kfree.core.warning import warn
from kfree.estimators._auto_choice import chosen_for, not_offered
from kfree.estimators._auto_models import (
    METRICS,
    MODELS,
    PREPARATIONS,
    SCALES,
    RowFrame,
    fit_on_all,
    has_encoded_levels,
)
from kfree.estimators._base import ClusterEstimator, or_new, publish, report, require_rows
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import judging
from kfree.exceptions import DataAdvice
from kfree.explain.spread import FALSE_ALARMS
from kfree.native.threads import one_blas_thread
from kfree.search.judge.choose import FEWEST_ROWS
from kfree.search.judge.stability import interval_of, is_sure, jaccard
from kfree.search.span import first_of_equal
from kfree.validation.frames import printed_names, require_columns_of_fit
from kfree.validation.parameters import (
    TIME_BUDGET,
    VERBOSE,
    check,
    choice,
    random_generator,
    require_false_alarms,
    threads,
)
from kfree.validation.parameters import require as require_parameter
from kfree.validation.rows import validated_rows, validated_weights

CONSTRAINTS = (
    choice("metric", list(METRICS)),
    choice("scale", list(SCALES)),
    TIME_BUDGET,
    threads,
    VERBOSE,
)

# Rows that are judged: of tables and sparse rows, of unit rows. If there are more, they are a random sample.
_MOST_JUDGED, _MOST_JUDGED_UNIT = 1000, 2000
# Sparse rows of so few columns are a table.
_FEW_COLUMNS = 30
_AS_ENCODED = " Columns count as they are, because X has levels as TableEncoder encodes them."
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
        ``"auto"`` is ``"cosine"`` if rows differ in their directions and not in their lengths, as normalised
        embeddings do, or are sparse with more than 30 columns.
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
        "one cluster", "round", "shared ellipse", "ellipses", "any shape" or "density dips".
    candidates_ : list of dict
        One for each candidate, the winner first: ``model``, ``k``, ``links``, ``score`` and ``why_not``. The score is
        None where that of another candidate has decided how many clusters there are. Candidates that do not take sparse
        rows or a single column, and models of counts, zeros and ones, have None for all but the first and the last.
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
        Long clusters are found in a "graph of rows whitened within clusters".
    n_judged_ : int
        Rows that were judged.
    columns_ : ndarray of int
        The columns in which clusters were found: all that differ or, if columns of noise hide the clusters, those in
        which they are seen. ``predict`` takes all columns.
    noise_columns_ : ndarray of int
        The columns that hide the clusters and were left out; often none.
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
    noise_columns_: Annotated[Index, Shape(None), Below("f"), OPTIONAL]
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

    @property
    def columns_(self) -> Index:
        """Numbers of the columns in which clusters were found: those that differ, or fewer if others hide clusters."""
        check_is_fitted(self)
        return self._frame_.columns

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Judge a sample of the rows, and fit the model that was chosen on all of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Fewer than 24 distinct rows are one cluster, and a warning says so. Clusters of sparse rows are round;
            candidates of other shapes do not take them. Sparse rows of at most 30 columns are handled as dense ones.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Rows of weight zero are not judged. Weights count in the fit of the chosen model, but for
            clusters of any shape, where each judged row has one vote. As evidence, a row counts once however heavy it
            is.

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
        with one_blas_thread(), warnings.catch_warnings(), judging(self, _STEPS):
            warnings.simplefilter("ignore")  # by candidates: what matters of it is in reason_
            judged = self._judged_rows(framed, counting, frame.unit, rng)
            given = rows[judged][:, frame.columns]
            choice = chosen_for(framed[judged], given, frame.unit, scale != "none", rng, self.n_threads)
            noise = np.arange(0)
            if choice.columns is not None:
                noise = np.delete(frame.columns, choice.columns)
                frame, framed = frame.of_columns(choice.columns), framed[:, choice.columns]
            choice = replace(choice, models_not_tried=choice.models_not_tried + not_offered(rows[judged]))
            settings = {"unit": frame.unit, "whitening": choice.whitening, "n_threads": self.n_threads}
            tell("all rows", 0.0)
            fitted = fit_on_all(choice.name, framed, weight, judged, choice.labels, **settings)
            tell("all rows", 1.0)
        note = _AS_ENCODED if scale != self.scale == "auto" and scale == "none" and not frame.unit else ""
        named = columns_in_words(frame.columns, printed_names(X, self))
        publish(self, X, fitted_attributes(frame, choice, fitted, judged, note, named) | {"noise_columns_": noise})
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
        require_false_alarms(false_alarms)
        ready = self._ready(X)
        return self.model_.outlier_score(ready, false_alarms)

    def _ready(self, X):
        """Rows as the chosen model takes them."""
        check_is_fitted(self)
        rows = self._validated(X)
        require_columns_of_fit(self, X)
        return self._prepare_(self._frame_(rows))

    def _view(self, X):
        require_rows(X, self)
        ready = self._ready(X)
        return replace(self.model_._view(ready), columns=self._validated(X), names=printed_names(X, self))

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


def fitted_attributes(frame, choice, fitted, judged, note, named):
    """The attributes of a fit; ``note`` ends the reason, and ``named`` are the columns of the frame."""
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
        "candidates_": choice.table(named),
        "reason_": choice.reason(k, len(judged), len(fitted.labels), named) + note,
        "k_interval_": interval,
        "stability_": stability,
        "is_sure_": is_sure(interval, stability),
        "curves_": {
            name: {"k": k, "links": scores.links, "clarity": scores.clarity, "score": scores.score}
            for name, (k, scores) in choice.curves.items()
        },
        "n_judged_": len(judged),
    }
