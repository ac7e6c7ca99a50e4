"""KMeans: Lloyd's algorithm on kfree's engine, for a known k and for comparison (Lloyd 1982)."""

from functools import partial
from numbers import Real
from typing import Annotated

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kfree.core.fields import Centres, Count, History, Number, NumberOfClusters, NumberOfCoordinates, RowLabels
from kfree.core.marks import OPTIONAL
from kfree.engines.registry import open_engine
from kfree.estimators import _by_centres
from kfree.estimators._base import ClusterEstimator
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.estimators._opening import data_of, opened_for_passes, starting_centres
from kfree.models.centres import CentreModel
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.fit import fit_by_summary
from kfree.search.lloyd import LloydSearch
from kfree.search.noise import without_noise
from kfree.validation.parameters import NOISE, WATCHING, check, choice, count, random_seed, require, rule

CONSTRAINTS = (
    *_by_centres.CONSTRAINTS,
    choice("search", ["auto", "lloyd", "summary"]),
    count("n_clusters"),
    count("n_init"),
    NOISE,
    *WATCHING,
    rule(
        "tol",
        lambda e: isinstance(e.tol, Real) and not isinstance(e.tol, bool) and 0 <= float(e.tol) < np.inf,
        "a finite number ≥ 0",
    ),
    rule(
        "init",
        lambda e: not isinstance(e.init, str) or e.init == "k-means++",
        "'k-means++' or centres of shape (n_clusters, n_features)",
    ),
    rule(
        "n_init",
        lambda e: isinstance(e.init, str) or e.n_init == 1,
        "1 with given centres, since every start would be the same",
    ),
)
# A search on a summary.
STREAMABLE = (rule("noise", lambda e: e.noise == 0, "0 for rows that do not fit in memory"),)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterEstimator):
    """K-means for a given number of clusters.

    Parameters
    ----------
    n_clusters : int, default=8
    init : "k-means++" or array-like of shape (n_clusters, n_features), default="k-means++"
        Greedy k-means++ seeding, or centres to start from.
    n_init : int, default=1
        Number of seedings; the result with the lowest inertia is kept. Must be 1 for given centres.
    search : {"auto", "lloyd", "summary"}, default="auto"
        ``"lloyd"`` iterates over all rows in memory. ``"summary"`` finds the centres on micro-clusters of the rows and
        refines them in passes over all rows. ``"auto"`` is ``"summary"`` for rows that do not fit in ``memory``, and
        ``"lloyd"`` for all others. ``search_`` says which one ran.
    max_iter : int, default=300
        The most assignments of all rows to centres; the one to the first centres counts.
    tol : float ≥ 0, default=1e-4
        Stop when the summed squared shift of the centres is below this share of the mean variance of the columns; 0
        iterates until no label changes.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"`` is spherical k-means.
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
    verbose : {0, 1}, default=0
        1 shows the cost, the number of clusters and the share of ``max_iter`` done while the search runs, which needs
        rich. With scikit-learn 1.9 or later, ``set_callbacks`` adds callbacks that receive the same values after every
        move.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during the search. ``"raise"`` raises KeyboardInterrupt and leaves the estimator unchanged.
        ``"keep"`` ends the search after the current move and keeps the best state so far; a second Ctrl-C raises.
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the heaviest first, ties in the order of their first rows; or in the order of the
        seeds.
    random_state : int, RandomState or None, default=None
        Seed for k-means++.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        A Dask array if X is a Dask collection; none if X is rows of files.
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
    n_clusters_ : int
    inertia_, cost_ : float
        Weighted squared distances of the rows to their centres; for k-means this is the whole cost.
    cost_history_ : ndarray
        Inertia after every iteration; never rises, ends with ``cost_``.
    n_iter_ : int
        Number of iterations over all rows.
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
        Number of distances between a row and a centre that were computed, seeding included. Of all results this alone
        may differ between instruction sets.
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
        n_clusters=8,
        *,
        init="k-means++",
        n_init=1,
        search="auto",
        max_iter=300,
        tol=1e-4,
        metric="euclidean",
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

    _constraints = _by_centres.CONSTRAINTS
    predict, transform, score = _by_centres.predict, _by_centres.transform, _by_centres.score

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
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
        data = data_of(self, X, sample_weight, STREAMABLE, summarise_large=False)
        search, left_out = self._search(data.source.n_features), None
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
        init = None if isinstance(self.init, str) else starting_centres(self.init, n_features, self.metric)
        require(
            init is None or len(init) == self.n_clusters,
            "n_clusters",
            self.n_clusters,
            f"the number of centres in init, {0 if init is None else len(init)}",
        )
        family = OBJECTIVES[self.metric]
        return LloydSearch(family, self.n_clusters, init, self.n_init, self.max_iter, self.tol, self.random_state)

    def _searched(self, data, search, monitor, weight):
        """The result on rows in memory with these weights."""
        unit = self.metric == "cosine"
        return search(open_engine(self.engine, data.X, weight=weight, unit=unit, n_threads=self.n_threads), monitor)

    def _view(self, X):
        return _by_centres.view_of(self, X)

    def _distances(self, X):
        return _by_centres.distances_of(self, X)

    @property
    def _n_features_out(self):
        return self.n_clusters_

    def __sklearn_tags__(self):
        return _by_centres.sparse_tags(super().__sklearn_tags__())
