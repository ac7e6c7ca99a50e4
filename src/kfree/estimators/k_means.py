"""KMeans: Lloyd's algorithm on kfree's engine, for a known k and for comparison (Lloyd 1982)."""

from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kfree.core.fields import Centres, Count, History, Number, NumberOfClusters, NumberOfCoordinates, RowLabels
from kfree.core.label_order import LABEL_ORDERS
from kfree.core.marks import OPTIONAL
from kfree.core.sphere import degrees_of
from kfree.core.warning import warn
from kfree.engines.registry import open_engine
from kfree.estimators import _by_centres
from kfree.estimators._base import ClusterEstimator
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.estimators._opening import data_of, opened_for_passes, starting_centres
from kfree.models.centres import CentreModel
from kfree.objectives.dp_means import PLACED_OBJECTIVES
from kfree.search.centres.seeding import greedy_k_means_plus_plus, random_rows
from kfree.search.fit import fit_by_summary
from kfree.search.lloyd import LloydSearch, given
from kfree.search.noise import without_noise
from kfree.validation.parameters import (
    NOISE,
    ON_INTERRUPT,
    check,
    choice,
    count,
    random_seed,
    require,
    require_count,
    rule,
    whole,
)
from kfree.validation.tensors import in_memory

# Where to start, by name, and how often with n_init="auto": a random start is worth less than one by k-means++.
SEEDS = {"k-means++": greedy_k_means_plus_plus, "random": random_rows}
RANDOM_STARTS = 10


def _n_init(estimator):
    if estimator.n_init != "auto":
        require_count("n_init", estimator.n_init)


ROWS = _by_centres.constraints(list(PLACED_OBJECTIVES), ["auto", *LABEL_ORDERS])
CONSTRAINTS = (
    *ROWS,
    choice("search", ["auto", "lloyd", "summary"]),
    count("n_clusters"),
    _n_init,
    NOISE,
    ON_INTERRUPT,
    rule("verbose", lambda e: isinstance(e.verbose, Integral) and int(e.verbose) >= 0, "a whole number ≥ 0"),
    rule(
        "tol",
        lambda e: isinstance(e.tol, Real) and not isinstance(e.tol, bool) and 0 <= float(e.tol) < np.inf,
        "a finite number ≥ 0",
    ),
    rule(
        "init",
        lambda e: not isinstance(e.init, str) or e.init in SEEDS,
        "'k-means++', 'random', centres of shape (n_clusters, n_features) or a function that returns them",
    ),
)
# A search on a summary.
ON_SUMMARY = (
    rule("init", lambda e: not callable(e.init), "a name or centres for rows that do not fit in memory"),
    rule("noise", lambda e: e.noise == 0, "0 for rows that do not fit in memory"),
)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterEstimator):
    """K-means for a given number of clusters.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "random"}, callable or array-like of shape (n_clusters, n_features), default="k-means++"
        Greedy k-means++ seeding; different rows drawn at random, in proportion to their weights; centres to start from;
        or a function ``init(X, n_clusters, random_state=…)`` that returns them, for rows in memory.
    n_init : int or "auto", default="auto"
        Number of starts; the result with the lowest inertia is kept. ``"auto"`` is 10 for ``init="random"`` and for a
        function, else 1. Given centres are started from once; a larger number gets a warning.
    search : {"auto", "lloyd", "summary"}, default="auto"
        ``"lloyd"`` iterates over all rows in memory. ``"summary"`` finds the centres on micro-clusters of the rows and
        refines them in passes over all rows. ``"auto"`` is ``"summary"`` for rows that do not fit in ``memory``, and
        ``"lloyd"`` for all others. ``search_`` says which one ran.
    max_iter : int, default=300
        The most iterations. As in scikit-learn an iteration assigns all rows and then moves the centres, and the
        assignment to the last centres is not counted.
    tol : float ≥ 0, default=1e-4
        Stop when the summed squared shift of the centres is below this share of the mean variance of the columns; 0
        iterates until no label changes.
    metric : {"euclidean", "cosine", "haversine"}, default="euclidean"
        ``"cosine"`` is spherical k-means. ``"haversine"`` is for two columns, latitude and longitude in degrees, as in
        :class:`kfree.DPMeans`.
    engine : {"auto", "native", "reference", "gpu", "dask"}, default="auto"
        ``"gpu"`` runs the passes on a CUDA device, for arrays and for tensors, which stay where they are.
        ``"dask"`` runs the passes on the workers of the current Dask client, for rows of files, Dask arrays and Dask
        dataframes. The result is the same.
    n_threads : int or None, default=None
    memory : int, str or None, default=None
        The memory that a fit may take beyond X and the libraries: bytes, or a text such as ``"2GB"``. With
        ``search="auto"``, rows that fit are searched as with None, and a summary of more rows is searched, then all
        rows in at most 22 passes (`docs/scale.md`). The result does not depend on whether the rows are in an array or
        in files. None means ``"1GB"`` for files. Arrays are then searched as a whole; with a ``checkpoint`` None means
        ``"1GB"``, but no more than what a search on 524,288 rows takes.
    checkpoint : str, path or None, default=None
        A file for the results of the passes over rows that do not fit in ``memory``. The next fit with the same file,
        data and parameters repeats the search without these passes, so that it goes on where the last one was
        interrupted, with the same result. Delete the file when it is no longer needed.
    noise : float, default=0
        The share of rows to leave out of the fit: those with the highest outlier scores get the label −1 and do not
        count. The search is repeated without them until the same rows are left out twice, at most ten times;
        a warning says if more than a tenth of them still changed then.
    verbose : int, default=0
        1 or more shows the cost, the number of clusters and the share of ``max_iter`` done while the search runs,
        which needs rich. With scikit-learn 1.9 or later, ``set_callbacks`` adds callbacks that receive the same values
        after every move.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during the search. ``"raise"`` raises KeyboardInterrupt and leaves the estimator unchanged.
        ``"keep"`` ends the search after the current move and keeps the best state so far; a second Ctrl-C raises.
    label_order : {"auto", "size", "found"}, default="auto"
        How clusters are numbered. ``"size"`` is the heaviest first, ties in the order of their first rows; ``"found"``
        is the order of the starting centres. ``"auto"`` is ``"found"`` for centres that ``init`` gives, else
        ``"size"``.
    random_state : int, RandomState or None, default=None
        Seed for the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        A Dask array for a Dask collection, with ``engine="dask"``; none if X is rows of files.
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
    n_clusters_ : int
    inertia_, cost_ : float
        Weighted squared distances of the rows to their centres; for k-means this is the whole cost.
    cost_history_ : ndarray
        Inertia after every iteration; never rises, ends with ``cost_``.
    n_iter_ : int
        Number of iterations; where a summary was searched, of passes over all rows after that.
    converged_ : bool
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "interrupt" or "callback"; "passes" where the limit of passes
        over streamed rows was reached.
    search_ : str
        The search that ran: "lloyd" or "summary".
    n_passes_ : int
        Number of passes over all rows, those that made the summary included; for fits on files or with ``memory``.
    summary_cost_ : float
        The cost of the micro-clusters' search, an upper bound of what its clusters cost; for the same fits.
    summary_n_iter_ : int
        Number of iterations on the summary, where there was one.
    n_distances_ : int
        Number of distances between a row and a centre that were computed, seeding included. No other result
        differs between instruction sets.
    engine_ : str
        The engine used and, if compiled, its instruction set and the number of threads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    A cluster that loses all its rows is moved to the row that lies farthest from its centre, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import KMeans
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.ravel().tolist()), model.inertia_
    ([0.5, 9.5], 1.0)
    """

    labels_: Annotated[RowLabels, OPTIONAL]
    cluster_centers_: Centres
    n_clusters_: NumberOfClusters
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

    @keyword_only
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        search: str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        metric: str = "euclidean",
        engine: str = "auto",
        n_threads: int | None = None,
        memory: int | str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        noise: float = 0,
        verbose: int = 0,
        on_interrupt: str = "raise",
        label_order: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.search = search
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
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

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X into ``n_clusters`` clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows of files by :func:`kfree.open_rows`
            With ``engine="dask"`` rows of files, a Dask array or a Dask dataframe.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0; a row of weight zero gets a label and changes nothing else. A row that weighs less than 1e-16
            of its cluster counts in the cost but does not move the centre.

        Returns
        -------
        self : KMeans
        """
        check(self, CONSTRAINTS)
        data = data_of(self, X, sample_weight, ON_SUMMARY, summarise_large=False)
        search, left_out = self._search(data.n_columns), None
        with monitored(self) as monitor:
            if data.plan is not None:
                seed = random_seed(self.random_state)
                rows = opened_for_passes(self, data, seed, monitor)
                result = fit_by_summary(rows, search, data.plan, seed, self.n_threads, monitor)
            elif self.noise:
                found = partial(self._searched, data, search, monitor)
                result, left_out = without_noise(self.noise, data.source.n_rows, data.weight, found)
            else:
                result = self._searched(data, search, monitor, data.weight)
        search.warn_of_limits(result.descent)
        search_ = "summary" if result.summary else "lloyd"
        return _by_centres.publish_centres(self, X, data, result, left_out, search_=search_)

    def _search(self, n_features):
        """The search that the parameters ask for."""
        limits = self._n_starts(), whole(self.max_iter), self.tol, self.random_state
        return LloydSearch(PLACED_OBJECTIVES[self.metric], whole(self.n_clusters), self._seeds(n_features), *limits)

    def _n_starts(self):
        """How often the search starts."""
        if callable(self.init) or isinstance(self.init, str):
            few = self.init == "k-means++"
            return (1 if few else RANDOM_STARTS) if self.n_init == "auto" else whole(self.n_init)
        if self.n_init not in ("auto", 1):
            warn(f"init holds centres, so that KMeans starts once and not n_init={self.n_init} times.", RuntimeWarning)
        return 1

    def _seeds(self, n_features):
        """A function that gives the centres of a start."""
        if isinstance(self.init, str):
            return SEEDS[self.init]
        if not callable(self.init):
            return given(self._checked(self.init, n_features))

        def called(rows, n_clusters, rng):
            given_rows = in_memory(rows.given())
            given_rows = degrees_of(given_rows) if self.metric == "haversine" else given_rows
            centres = self.init(given_rows, n_clusters, random_state=rng)
            return rows.frame.placed(self._checked(centres, n_features))

        return called

    def _checked(self, init, n_features):
        """As many centres as clusters."""
        centres = starting_centres(init, n_features, self.metric)
        allowed = f"the number of centres in init, {len(centres)}"
        require(len(centres) == self.n_clusters, "n_clusters", self.n_clusters, allowed)
        return centres

    def _searched(self, data, search, monitor, weight):
        """The result on rows in memory with these weights."""
        rows = open_engine(self.engine, data.X, weight=weight, unit=data.unit, n_threads=self.n_threads)
        return search(rows, monitor)
