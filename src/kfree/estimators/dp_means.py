"""DPMeans: k-means with a penalty per cluster instead of k (Kulis & Jordan 2012)."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.estimators._advice import advise, spread_over
from kfree.estimators._any_size import AnySize, Located, Rows
from kfree.estimators._centres import CentreClusterer
from kfree.estimators._noise import require_noise, without_noise
from kfree.estimators._penalised import PenalisedSearch
from kfree.estimators._span import coordinates, ended, is_wide, lifted
from kfree.estimators._watching import with_callbacks
from kfree.explain.spread import FALSE_ALARMS, outlier_scores_of
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.summary.exact import merged_means, occupied_means
from kfree.search.summary.micro import summarised
from kfree.validation.parameters import is_positive_number, random_generator, require
from kfree.validation.tensors import in_memory

# The parameters of a fit on streamed rows, by name: whether a value is allowed, and which ones are.
_STREAMABLE = {
    "search": (lambda search: search == "split-merge", "'split-merge'"),
    "lam": (lambda lam: lam != "farthest-first", "'auto' or a number"),
    "noise": (lambda noise: noise == 0, "0"),
    "time_budget": (lambda seconds: seconds is None, "None"),
}


class DPMeans(AnySize, PenalisedSearch, CentreClusterer):
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
        this number and tries a few more if necessary. It warns if none gives this number. With ``search="sweep"`` it
        uses the penalty of ``"farthest-first"``.
    search : {"split-merge", "sweep"}, default="split-merge"
        ``"split-merge"`` stops when none of these moves lowers the cost: merging two clusters, splitting one by
        2-means, opening a cluster at a row, exchanging rows, removing a cluster (its rows join the second-nearest
        centres), and over-splitting up to three tenths of the clusters followed by pruning. ``"sweep"`` is the
        published algorithm: rows are visited in order and means are recomputed after each sweep.
    patience : int, default=0
        For split-merge: continue with random splits; stop after this many in a row fail to lower the cost.
    time_budget : float or None, default=None
        For split-merge: the number of seconds, counted from when the penalty is known, after which no further move is
        started. The search starts on samples of the rows, which are copied. When the time is up, the best state so far
        is returned. Remaining time is spent on random splits, until ``patience`` of them fail if it is given. Results
        may differ from run to run.
    order : {"given", "random"}, default="given"
        The order in which ``search="sweep"`` visits the rows; its result depends on it. ``"random"`` draws one
        permutation for the whole fit.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"`` scales rows to unit length; squared distances are then 2 − 2 cos and centres unit vectors.
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
        The memory that a fit may take beyond X and the libraries: bytes, or a text such as ``"2GB"``. Rows that fit
        are searched as with None. Of more rows, micro-clusters are searched, then all rows in at most 22 passes
        (`docs/scale.md`); the result does not depend on whether the rows are in an array or in files. None means
        ``"1GB"`` for files and for arrays of more than 524,288 rows, and for these no more than what a search on
        524,288 rows takes. Smaller arrays are then searched as a whole, and so are sparse rows, and rows with
        ``search="sweep"``, ``lam="farthest-first"``, ``patience``, ``noise`` or ``time_budget``.
    checkpoint : str, path or None, default=None
        A file for the results of the passes over rows that do not fit in ``memory``. The next fit with the same file,
        data and parameters repeats the search without these passes, so that it goes on where the last one was
        interrupted, with the same result. Delete the file when it is no longer needed.
    noise : float, default=0
        The share of rows to leave out of the fit: those with the highest outlier scores get the label −1 and do not
        count. The search is repeated without them until the same rows are left out twice, at most ten times;
        a warning says if more than a tenth of them still changed then.
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
        A Dask array if X is a Dask collection; none if X is rows of files.
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
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
        Number of sweeps, or of moves tried; where a summary was searched, of moves on it and passes over all rows.
    converged_ : bool
        Whether the search stopped because no sweep or move lowers J; where a summary was searched, because a pass over
        all rows lowered it by less than 0.01 %.
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "time_budget", "interrupt" or "callback"; "passes" where the
        limit of passes over streamed rows was reached.
    n_passes_ : int
        Number of passes over all rows; for fits on files, with ``memory`` or on more than 524,288 rows.
    summary_cost_ : float
        The cost of the micro-clusters' search, an upper bound of what its clusters cost; for the same fits.
    n_distances_ : int
        Number of distances between a row and a centre that passes over all rows computed. Of all results this alone may
        differ between instruction sets.
    engine_ : str
        The engine used and, if compiled, its instruction set and the number of threads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    With ``sample_weight``, J treats weights as repeated rows. The sweep does not: a row opens a cluster when
    weight·squared distance exceeds lam, and one row of weight 3 may do so where three rows of weight 1 do not.

    With ``lam="auto"`` a :class:`kfree.exceptions.DataAdvice` warns about data for which the result may mislead:
    columns of very different scale, row numbers, coarse lattices, elongated clusters, groups that other columns hide,
    angles, few rows, a path that was too short.

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
    >>> model.predict([[8.0, 8.0], [50.0, 50.0]], allow_new=True).tolist()
    [1, -1]
    """

    def __init__(
        self,
        lam="auto",
        *,
        target_k=None,
        search="split-merge",
        patience=0,
        time_budget=None,
        order="given",
        metric="euclidean",
        max_iter=300,
        max_clusters=None,
        init=None,
        engine="auto",
        n_threads=None,
        memory=None,
        checkpoint=None,
        noise=0,
        verbose=0,
        on_interrupt="raise",
        label_order="size",
        random_state=None,
    ):
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

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
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
        self._check_parameters()
        if self._has_any_size(X):
            return self._fit_any_size(X, sample_weight)
        rows, weight = self._opened(X, sample_weight)
        if self._is_large(rows) and self._is_streamable() and not self.patience:
            return self._fit_rows(X, Rows.of_arrays(rows, weight))
        return self._fit_arrays(X, rows, weight)._remember(X)

    def _fit_arrays(self, X, rows, weight):
        """The fit on validated rows in memory."""
        found, left_out = without_noise(self.noise, rows, weight, self._found, self._distances_of(rows))
        self._publish(X, rows, weight, found, left_out)
        self.lam_, self.path_ = found.objective.lam, found.path
        self.cluster_ids_ = found.state.sites.uids[self._order_]
        self._advise(rows.shape[0], rows, in_memory(self.labels_))
        return self

    def _found(self, rows, weight):
        """The result of a search on these rows."""
        engine = self._engine_of(rows, weight)
        where = self._in_span(rows, weight, engine)
        found = self._search(where, OBJECTIVES[self.metric](0.0))
        if where is engine:
            return found
        state = lifted(found.state, where, engine, found.objective)
        found.descent.cost_history = ended(found.descent.cost_history, state.cost)
        return replace(found, engine=engine, state=state)

    def _require_streamable(self):
        """Raise unless the parameters are those of a fit on streamed rows."""
        for name, (is_allowed, allowed) in _STREAMABLE.items():
            value = getattr(self, name)
            require(is_allowed(value), name, value, f"{allowed} for rows that do not fit in memory")

    def _is_streamable(self):
        return all(is_allowed(getattr(self, name)) for name, (is_allowed, _) in _STREAMABLE.items())

    def _summarised(self, engine, plan, seed):
        given = is_positive_number(self.lam)
        objective = OBJECTIVES[self.metric](float(self.lam) if given else 0.0)
        n_clusters = None if given else self.target_k or 1
        return summarised(engine, objective, plan, n_clusters, seed, self.n_threads)

    def _located(self, summary, watch):
        found = self._search(summary.engine, OBJECTIVES[self.metric](0.0), watch)
        # A number of clusters that was asked for stays; a penalty that was given decides about merging.
        if not is_positive_number(self.lam):
            return Located(found.state, found.objective, found.descent, occupied_means, found.path)
        budget = Budget(random_generator(self.random_state), may_go_on=watch.may_go_on)

        def search(rows, objective, sites, divisible):
            return split_merge(rows, objective, sites, self.max_iter, self.max_clusters, budget, divisible).state

        return Located(found.state, found.objective, found.descent, merged_means, search=search)

    def _publish_search(self, located, found, n_rows, sampled, labels):
        self.lam_, self.path_ = located.objective.lam, located.path
        self.cluster_ids_ = self._sites_.uids[self._order_]
        self._advise(n_rows, np.asarray(sampled), labels)

    def _advise(self, n_rows, rows, labels):
        """Warn about what may mislead a fit of ``n_rows`` with an automatic penalty; ``rows`` are all or a sample."""
        if self.path_ is None or self.metric != "euclidean":
            return
        names, some = getattr(self, "feature_names_in_", None), None
        if not sp.issparse(rows):
            places = spread_over(np.flatnonzero(labels >= 0))
            some = np.asarray(in_memory(rows, places), dtype=np.float64)
            distances = self._distances_in(self._frame_, self._sites_.centres, self._order_, some)
            # Rows far from every cluster say nothing about its shape.
            near = outlier_scores_of(distances, self._limits(FALSE_ALARMS)) <= 1
            keep = near if near.any() else np.ones(len(near), dtype=bool)
            some, labels = some[keep], labels[places[keep]]
        advise(n_rows, some, names, labels, self.cluster_centers_, self.path_)

    def _check_parameters(self):
        self._check_shared_parameters()
        self._check_search_parameters()
        require_noise(self.noise)
        require(not isinstance(self.init, str), "init", self.init, "centres of shape (k, n_features) or None")

    def _in_span(self, rows, weight, engine):
        """The engine for the search; few rows of many columns are searched in coordinates of their span."""
        if self.init is not None or self.search == "sweep" or not is_wide(rows):
            return engine
        places = coordinates(in_memory(rows), engine.frame)
        if places is None:
            return engine
        if engine.frame.unit:  # once, instead of in every pass
            places /= np.linalg.norm(places, axis=1, keepdims=True)
        frame = Frame.plain(places.shape[1])
        return open_engine(self.engine, places, weight=weight, frame=frame, n_threads=self.n_threads)

    def _given_sites(self, engine):
        if self.init is None:
            return None
        centres = self._starting_centres(self.init, engine)
        require(
            self.max_clusters is None or len(centres) <= self.max_clusters,
            "max_clusters",
            self.max_clusters,
            f"at least the {len(centres)} centres of init",
        )
        return Sites.of(centres)
