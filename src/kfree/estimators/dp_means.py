"""DPMeans: k-means with a penalty per cluster instead of k (Kulis & Jordan 2012)."""

from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kfree.core.fields import (
    Centres,
    ClusterIds,
    Count,
    History,
    NotNegative,
    Number,
    NumberOfClusters,
    NumberOfCoordinates,
    PerCluster,
    RowLabels,
)
from kfree.core.marks import OPTIONAL
from kfree.core.sphere import SQ_EARTH_RADIUS
from kfree.engines.registry import open_engine
from kfree.estimators import _by_centres
from kfree.estimators._base import ClusterEstimator, report
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.estimators._opening import data_of, opened_for_passes, starting_centres
from kfree.estimators._stability import stability
from kfree.explain.advice import advise, spread_over
from kfree.explain.spread import outlier_scores_of
from kfree.models.centres import CentreModel
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.bregman import BREGMAN_OBJECTIVES
from kfree.objectives.dp_means import PLACED_OBJECTIVES
from kfree.search.bregman import BregmanSearch
from kfree.search.fit import fit_by_summary
from kfree.search.noise import without_noise
from kfree.search.path.staircase import Staircase
from kfree.search.penalised import PenalisedSearch
from kfree.search.span import is_wide, searched_in_span
from kfree.validation.parameters import (
    NOISE,
    TIME_BUDGET,
    WATCHING,
    check,
    choice,
    count,
    is_positive_number,
    random_seed,
    require,
    rule,
    whole,
)
from kfree.validation.tensors import in_memory

# Constraints of the penalty and of its search, which KernelDPMeans shares.
PENALISED = (
    rule(
        "lam",
        lambda e: _is_named(e.lam) or is_positive_number(e.lam),
        "a finite number > 0 (the penalty of a cluster in squared-distance units), 'auto' or 'farthest-first'",
    ),
    count("target_k", or_none=True),
    rule("target_k", lambda e: e.target_k is None or _is_named(e.lam), "None with a lam that is a number"),
    rule(
        "target_k",
        lambda e: e.target_k is not None or e.lam != "farthest-first",
        "the number of clusters to aim at with lam='farthest-first'",
    ),
    choice("order", ["given", "random"]),
    rule(
        "order",
        lambda e: e.search == "sweep" or e.order == "given",
        "'given', or search='sweep', which uses an order",
    ),
    count("patience", least=0),
    rule(
        "patience",
        lambda e: e.search != "sweep" or not e.patience,
        "0 with search='sweep', which makes no random splits",
    ),
    TIME_BUDGET,
    rule("time_budget", lambda e: e.search != "sweep" or e.time_budget is None, "None with search='sweep'"),
    count("max_clusters", or_none=True),
    rule(
        "max_clusters",
        lambda e: None in (e.max_clusters, e.target_k) or e.max_clusters >= e.target_k,
        lambda e: f"None or at least target_k={e.target_k}",
    ),
    *WATCHING,
)


def penalised(estimator, kind, family, lam, **more):
    """The search that these parameters ask for, of DPMeans or KernelDPMeans."""
    return kind(
        type(estimator).__name__,
        family,
        lam,
        target_k=whole(estimator.target_k),
        sweep=estimator.search == "sweep",
        patience=whole(estimator.patience),
        time_budget=estimator.time_budget,
        order=estimator.order,
        max_iter=whole(estimator.max_iter),
        max_clusters=whole(estimator.max_clusters),
        random_state=estimator.random_state,
        **more,
    )


def _euclidean_or(holds):
    """A constraint that divergences alone must fulfil."""
    return lambda e: e.metric not in BREGMAN_OBJECTIVES or holds(e)


_DIVERGENCES = f"'euclidean' or 'cosine'; {', '.join(map(repr, BREGMAN_OBJECTIVES))} are for rows in memory"
# Divergences have no lam path, and passes in this process alone.
BREGMAN = (
    rule(
        "lam",
        _euclidean_or(lambda e: e.lam != "auto" or e.target_k is not None),
        lambda e: f"a number, or target_k, with metric={e.metric!r}: the tests of the lam path are for distances",
    ),
    rule(
        "engine",
        _euclidean_or(lambda e: e.engine in IMPLEMENTATIONS),
        lambda e: f"one of {', '.join(map(repr, IMPLEMENTATIONS))} with metric={e.metric!r}",
    ),
    rule(
        "search",
        _euclidean_or(lambda e: e.search != "summary"),
        lambda e: f"'auto', 'split-merge' or 'sweep' with metric={e.metric!r}",
    ),
)
ROWS = _by_centres.constraints([*PLACED_OBJECTIVES, *BREGMAN_OBJECTIVES])
CONSTRAINTS = (
    *ROWS,
    *BREGMAN,
    choice("search", ["auto", "split-merge", "summary", "sweep"]),
    *PENALISED,
    NOISE,
    rule("init", lambda e: not isinstance(e.init, str), "centres of shape (k, n_features) or None"),
)


def _not_swept_or(holds):
    """A constraint that sweeps on workers alone must fulfil."""
    return lambda e: (e.engine, e.search) != ("dask", "sweep") or holds(e)


SWEPT_ON_WORKERS = (
    rule("lam", _not_swept_or(lambda e: is_positive_number(e.lam)), "a number with search='sweep' on workers"),
    rule("order", _not_swept_or(lambda e: e.order == "given"), "'given' on workers: rows are visited as they lie"),
    rule("noise", _not_swept_or(lambda e: e.noise == 0), "0 with search='sweep' on workers"),
)


def _on_summary(allowed):
    """What is allowed where a summary is searched, and why it is."""
    asked, needed = f"{allowed} with search='summary'", f"{allowed} for rows that do not fit in memory"
    return lambda e: asked if e.search == "summary" else needed


ON_SUMMARY = (
    rule("metric", _euclidean_or(lambda e: False), _DIVERGENCES),
    rule("search", lambda e: e.search != "sweep", "'auto' or 'summary' for rows that do not fit in memory"),
    rule("lam", lambda e: e.lam != "farthest-first", _on_summary("'auto' or a number")),
    rule("noise", lambda e: e.noise == 0, _on_summary("0")),
    rule("time_budget", lambda e: e.time_budget is None, _on_summary("None")),
)


def _is_named(lam):
    return isinstance(lam, str) and lam in ("auto", "farthest-first")


class DPMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterEstimator):
    """DP-means: k-means with a penalty ``lam`` per cluster, which determines the number of clusters.

    Minimises J = Σ w·‖x − centre‖² + lam·k over clusterings with any number k of clusters
    (Kulis & Jordan 2012).

    Parameters
    ----------
    lam : float > 0, "auto" or "farthest-first", default="auto"
        The penalty of a cluster, in units of squared distance. Split-merge search keeps a cluster if it lowers the
        inertia by more than ``lam``. That amount grows with the number of rows, and so does the best ``lam``. With
        ``search="sweep"`` a row that is farther than √lam from every centre opens a cluster. ``"auto"`` uses the
        penalty best supported by the data, validated on held-out rows (:func:`kfree.lambda_path`). ``"farthest-first"``
        uses the penalty at which a sweep opens about ``target_k`` clusters (:func:`kfree.farthest_first_lambda`).
    target_k : int or None, default=None
        The number of clusters to aim at. With ``lam="auto"``, ``fit`` starts from the penalty that the path has for
        this number and tries a few more if necessary. If no penalty makes this number the best, it keeps the best
        clustering with so many clusters that it finds, and says so: ``lam_`` is then the penalty at which fewer and
        more clusters cost the same. With ``search="sweep"`` it uses the penalty of ``"farthest-first"``.
    search : {"auto", "split-merge", "summary", "sweep"}, default="auto"
        ``"split-merge"`` searches all rows in memory. It stops when none of these moves lowers the cost: merging two
        clusters, splitting one by 2-means, opening a cluster at a row, exchanging rows, removing a cluster (its rows
        join the second-nearest centres), and over-splitting up to three tenths of the clusters followed by pruning.
        ``"summary"`` searches micro-clusters of the rows in the same way and refines the result in passes over all
        rows. ``"auto"`` is ``"summary"`` for rows that do not fit in ``memory`` and for more than 524,288 rows, and
        ``"split-merge"`` for all others. ``"sweep"`` is the published algorithm: rows are visited in order and means
        are recomputed after each sweep. With ``engine="dask"`` workers visit their rows in turn and pass on the
        clusters that they open, with the same result. ``search_`` says which one ran.
    patience : int, default=0
        For split-merge: continue with random splits; stop after this many in a row fail to lower the cost.
    time_budget : float or None, default=None
        For split-merge: the number of seconds, counted from when the penalty is known, after which no further move is
        started. The search starts on samples of the rows, which are copied. When the time is up, the best state so far
        is returned. Remaining time is spent on random splits, until ``patience`` of them fail if it is given. With
        ``noise`` it is the time of all searches; the last one spends what remains. Results may differ from run to run.
    order : {"given", "random"}, default="given"
        The order in which ``search="sweep"`` visits the rows; its result depends on it. ``"random"`` draws one
        permutation for the whole fit.
    metric : {"euclidean", "cosine", "haversine", "kl", "itakura-saito", "logistic"}, default="euclidean"
        ``"cosine"`` scales rows to unit length; squared distances are then 2 − 2 cos and centres unit vectors. The
        last three are divergences in place of squared distances, for counts and shares, spectra, and zeros and ones
        (`docs/counts.md`); they need ``lam`` as a number or ``target_k``, and rows in memory. ``"haversine"`` is for
        two columns, latitude and longitude in degrees, in memory: centres are in degrees, distances are arcs in km, and
        costs and ``lam`` are in km² (`docs/places.md`).
    max_iter : int, default=300
        Maximum number of sweeps, or of moves that split-merge search tries.
    max_clusters : int or None, default=None
        Maximum number of clusters. ``fit`` warns if the limit was reached.
    init : array-like of shape (k, n_features) or None, default=None
        Centres to start from; None starts from one cluster at the mean.
    engine : {"auto", "native", "reference", "gpu", "dask"}, default="auto"
        The implementation: compiled code, or the reference implementation in NumPy. The result is the same.
        ``"gpu"`` runs the passes on a CUDA device, for arrays and for tensors, which stay where they are.
        ``"dask"`` runs the passes on the workers of the current Dask client, for rows of files, Dask arrays and Dask
        dataframes.
    n_threads : int or None, default=None
        Number of threads; None uses all available ones. The result does not depend on it.
    memory : int, str or None, default=None
        The memory that a fit may take beyond X and the libraries: bytes, or a text such as ``"2GB"``. With
        ``search="auto"``, rows that fit are searched as with None, and a summary of more rows is searched, then all
        rows in at most 22 passes (`docs/scale.md`). The result does not depend on whether the rows are in an array or
        in files. None means ``"1GB"`` for files and for arrays of more than 524,288 rows; of more than 524,288 rows,
        in an array or in files, no more than what a search on so many takes. ``search="auto"`` searches smaller arrays
        as a whole, sparse rows, and rows with ``lam="farthest-first"``, ``patience``, ``noise`` or ``time_budget``.
    checkpoint : str, path or None, default=None
        A file for the results of the passes over rows that do not fit in ``memory``. The next fit with the same file,
        data and parameters repeats the search without these passes, so that it goes on where the last one was
        interrupted, with the same result. Delete the file when it is no longer needed.
    noise : float, default=0
        The share of rows to leave out of the fit: those with the highest outlier scores get the label −1 and do not
        count. The search is repeated without them until the same rows are left out twice, at most ten times;
        a warning says if more than a tenth of them still changed then. ``lam="auto"`` chooses the number of clusters
        on all rows; that of the remaining rows replaces it only where all its density dips are clear, and those of all
        rows are not.
    verbose : {0, 1}, default=0
        1 shows the progress of the lam path and then, while the search runs, the cost, the number of clusters and the
        share of ``max_iter`` done, of the summary first where there is one; it needs rich. With scikit-learn 1.9 or
        later, ``set_callbacks`` adds callbacks that receive the same values after every move or pass.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during the search. ``"raise"`` raises KeyboardInterrupt and leaves the estimator unchanged.
        ``"keep"`` ends the search after the current move and keeps the best state so far; a second Ctrl-C raises.
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the heaviest first, ties in the order of their first rows; or the oldest first.
    random_state : int, RandomState or None, default=None
        Seed for ``order="random"``, for ``patience``, for the path of ``lam="auto"`` and for the sample of a summary;
        the latter two have the seed 0 if None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        A Dask array for a Dask collection, with ``engine="dask"``; none if X is rows of files.
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    exemplars_ : ndarray of shape (n_clusters_,), int64
        The row of ``fit`` nearest to each centre, computed likewise.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features), float64
    cluster_ids_ : ndarray of shape (n_clusters_,)
        Numbers that clusters keep from when they are opened; missing numbers belong to removed clusters.
    n_clusters_ : int
    lam_ : float
        The penalty that was used.
    path_ : Staircase or None
        The path that ``lam="auto"`` chose from; None if ``lam`` is a number or ``target_k`` was given.
    inertia_ : float
        Weighted squared distances of the rows to their centres.
    cost_ : float
        J, that is inertia_ + lam_·n_clusters_.
    cost_history_ : ndarray
        J after every sweep, or after every move that lowered it; where a summary was searched, after every pass over
        all rows that did. Never rises; the last value is ``cost_``.
    n_iter_ : int
        Number of sweeps, or of moves tried; where a summary was searched, of passes over all rows after that.
    converged_ : bool
        Whether the search stopped because no sweep or move lowers J; where a summary was searched, because a pass over
        all rows lowered it by less than 0.01 %.
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "time_budget", "interrupt" or "callback"; "passes" where the
        limit of passes over streamed rows was reached.
    search_ : str
        The search that ran: "split-merge", "summary" or "sweep".
    n_passes_ : int
        Number of passes over all rows, those that made the summary included; for fits on files, with ``memory`` or with
        a summary.
    summary_cost_ : float
        The cost of the micro-clusters' search, an upper bound of what its clusters cost; for the same fits.
    summary_n_iter_ : int
        Number of moves tried on the summary, where there was one.
    n_distances_ : int
        Number of distances between a row and a centre that passes over all rows computed. No other result differs
        between instruction sets.
    engine_ : str
        The engine used and, if compiled, its instruction set and the number of threads.
    k_interval_ : tuple of int
        The smallest and the largest number of clusters found on halves of the rows; set by :meth:`stability`.
    stability_ : ndarray of shape (n_clusters_,)
        For each cluster the mean Jaccard index with the most similar cluster found on halves; set by :meth:`stability`.
    is_sure_ : bool
        Whether all halves show the same number of clusters, and all clusters are stable (at least 0.75); set by
        :meth:`stability`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    With ``sample_weight``, J treats weights as repeated rows. The sweep does not: a row opens a cluster when
    weight·squared distance exceeds lam, and one row of weight 3 may do so where three rows of weight 1 do not.

    With ``lam="auto"`` a :class:`kfree.exceptions.DataAdvice` warns about data for which the result may mislead:
    columns of very different scale, row numbers, coarse lattices, groups that other columns hide, angles,
    longitudes on both sides of the date line, few rows, a path that was too short.

    Beyond X a fit with the native engine takes at most 160 bytes per row, and 64 with ``search="sweep"``. The summary
    of more than 524,288 rows takes at most 1 GB more.
    Arrays of float32 and float64 are used without a copy, with any strides. Other types are converted to float64.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import DPMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0], [0.0, 9.0]])
    >>> model = DPMeans(lam=10.0).fit(X)
    >>> model.n_clusters_, model.labels_.tolist()
    (3, [0, 0, 1, 1, 2])
    >>> model.cost_ == model.inertia_ + 3 * 10.0
    True
    >>> model.predict([[9.0, 8.6], [50.0, 50.0]], allow_new=True).tolist()
    [1, -1]
    """

    labels_: Annotated[RowLabels, OPTIONAL]
    cluster_centers_: Centres
    cluster_ids_: ClusterIds
    n_clusters_: NumberOfClusters
    lam_: NotNegative
    path_: Staircase | None
    inertia_: Number
    cost_: Number
    cost_history_: History
    n_iter_: Count
    converged_: bool
    stop_reason_: str
    search_: str
    n_passes_: Annotated[Count, OPTIONAL]
    summary_cost_: Annotated[Number, OPTIONAL]
    summary_n_iter_: Annotated[Count, OPTIONAL]
    n_distances_: Count
    engine_: str
    n_features_in_: NumberOfCoordinates
    _model_: CentreModel
    _noise_of_: Annotated[str, OPTIONAL]
    k_interval_: Annotated[tuple[int, int], OPTIONAL]
    stability_: Annotated[PerCluster, OPTIONAL]
    is_sure_: Annotated[bool, OPTIONAL]

    @keyword_only
    def __init__(
        self,
        *,
        lam: float | str = "auto",
        target_k: int | None = None,
        search: str = "auto",
        patience: int = 0,
        time_budget: float | None = None,
        order: str = "given",
        metric: str = "euclidean",
        max_iter: int = 300,
        max_clusters: int | None = None,
        init: Any = None,
        engine: str = "auto",
        n_threads: int | None = None,
        memory: int | str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        noise: float = 0,
        verbose: int = 0,
        on_interrupt: str = "raise",
        label_order: str = "size",
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.target_k = target_k
        self.search = search
        self.patience = patience
        self.time_budget = time_budget
        self.order = order
        self.metric = metric
        self.max_iter = max_iter
        self.max_clusters = max_clusters
        self.init = init
        self.engine = engine
        self.n_threads = n_threads
        self.memory = memory
        self.checkpoint = checkpoint
        self.noise = noise
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.label_order = label_order
        self.random_state = random_state

    _constraints_of_methods = ROWS
    fit_predict = _by_centres.fit_predict
    predict, transform, score = _by_centres.predict, _by_centres.transform, _by_centres.score
    _view, _distances = _by_centres.view_of, _by_centres.distances_of
    duplicates = _by_centres.duplicates
    stability = stability
    report = report

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows of files by :func:`kfree.open_rows`
            With ``engine="dask"`` rows of files, a Dask array or a Dask dataframe.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. A row of weight zero gets a label and changes nothing else. A row that weighs less than 1e-16
            of its cluster counts in the cost but does not move the centre. The search ignores gains below 1e-12 of the
            cost.

        Returns
        -------
        self : DPMeans
        """
        check(self, (*CONSTRAINTS, *SWEPT_ON_WORKERS))
        # Random splits need all rows.
        data = data_of(self, X, sample_weight, ON_SUMMARY, summarise_large=not self.patience)
        search, left_out = self._search(data.n_columns), None
        with monitored(self) as monitor:
            if data.plan is not None:
                seed = random_seed(self.random_state)
                rows = opened_for_passes(self, data, seed, monitor)
                if search.sweep:
                    result = search.swept_elsewhere(rows, data.plan.sample_rows, seed, monitor)
                else:
                    result = fit_by_summary(rows, search, data.plan, seed, self.n_threads, monitor)
            elif self.noise:

                def again(first, n_left_out):
                    return partial(self._searched, data, search.after(first, n_left_out), monitor)

                found = partial(self._searched, data, replace(search, is_last=False), monitor)
                result, left_out = without_noise(self.noise, data.source.n_rows, data.weight, found, again)
            else:
                result = self._searched(data, search, monitor, data.weight)
        lam, uids = result.objective.lam, result.state.sites.uids
        path = result.path.times(search.sq_unit) if result.path and self.metric == "haversine" else result.path
        _by_centres.publish_centres(
            self, X, data, result, left_out, lam_=lam, path_=path, search_=search.name_of(result)
        )
        self.cluster_ids_ = uids[self._model_.order]
        if result.path is not None and self.metric == "euclidean":
            self._advise(data, result, left_out)
        return self

    def _search(self, n_features):
        """The search that the parameters ask for."""
        init = None if self.init is None else starting_centres(self.init, n_features, self.metric)
        require(
            init is None or self.max_clusters is None or len(init) <= self.max_clusters,
            "max_clusters",
            self.max_clusters,
            f"at least the {0 if init is None else len(init)} centres of init",
        )
        sq_unit = SQ_EARTH_RADIUS if self.metric == "haversine" else 1.0
        kind = BregmanSearch if self.metric in BREGMAN_OBJECTIVES else PenalisedSearch
        lam = float(self.lam) / sq_unit if is_positive_number(self.lam) else self.lam
        return penalised(self, kind, self._family, lam, init=init, sq_unit=sq_unit)

    @property
    def _family(self):
        """From a penalty to the objective."""
        return {**PLACED_OBJECTIVES, **BREGMAN_OBJECTIVES}[self.metric]

    def _searched(self, data, search, monitor, weight):
        """The result on rows in memory with these weights; few rows of many columns are searched in their span."""
        divergence = self._family.divergence
        place = {"unit": data.unit, "n_threads": self.n_threads, "divergence": divergence}
        rows = open_engine(self.engine, data.X, weight=weight, **place)
        if search.sweep or search.init is not None or divergence is not None or not is_wide(data.X):
            return search(rows, monitor)
        return searched_in_span(search, monitor, in_memory(data.X), weight, rows, self.n_threads)

    def _advise(self, data, result, left_out):
        """Warn about what may mislead a fit with an automatic penalty, from some of the rows."""
        some, labels = None, None
        rows = data.X if result.summary is None else result.summary.sample.given()
        if not sp.issparse(rows):
            kept = None if left_out is None else np.flatnonzero(~left_out)
            places = spread_over(rows.shape[0] if kept is None else len(kept))
            places = places if kept is None else kept[places]
            some = np.asarray(in_memory(rows, places), dtype=np.float64)
            if result.summary is None:
                own = self._model_.rank[result.labels_of(places)]
            else:
                assert self._model_.sample is not None  # spreads are those of the summary's sample
                own = self._model_.sample.labels[places]
            # Rows far from every cluster say nothing about its shape.
            distances = self._model_.distances(some, self.engine, self.n_threads)
            near = outlier_scores_of(distances, self._model_.spreads.limits()) <= 1
            keep = near if near.any() else np.ones(len(near), dtype=bool)
            some, labels = some[keep], own[keep]
        names = getattr(self, "feature_names_in_", None)
        advise(data.source.n_rows, some, names, labels, self.n_clusters_, self.path_)
