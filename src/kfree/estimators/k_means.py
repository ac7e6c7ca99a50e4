"""KMeans: Lloyd's algorithm on kfree's engine, for a known k and for comparison (Lloyd 1982)."""

from numbers import Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree.core.sites import Sites
from kfree.core.warning import warn
from kfree.estimators._any_size import AnySize, Located
from kfree.estimators._centres import CentreClusterer
from kfree.estimators._found import Found
from kfree.estimators._noise import require_noise, without_noise
from kfree.estimators._watching import Watched, with_callbacks
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.moves import Lloyd
from kfree.search.centres.seeding import greedy_k_means_plus_plus
from kfree.search.centres.state import one_cluster
from kfree.search.loop import descend
from kfree.search.summary.exact import means
from kfree.search.summary.micro import summarised
from kfree.validation.parameters import random_generator, require, require_count


class KMeans(AnySize, Watched, CentreClusterer):
    """K-means for a given number of clusters.

    Parameters
    ----------
    n_clusters : int, default=8
    init : "k-means++" or array-like of shape (n_clusters, n_features), default="k-means++"
        Greedy k-means++ seeding, or centres to start from.
    n_init : int, default=1
        Number of seedings; the result with the lowest inertia is kept. Must be 1 for given centres.
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
        The memory that a fit may take beyond X and the libraries: bytes, or a text such as ``"2GB"``. Rows that fit
        are searched as with None. Of more rows, micro-clusters are searched, then all rows in at most 22 passes
        (`docs/scale.md`); the result does not depend on whether the rows are in an array or in files. None means
        ``"1GB"`` for files. It searches arrays as a whole; with a ``checkpoint`` it means ``"1GB"``, but
        no more than what a search on 524,288 rows takes.
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
    converged_ : bool
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "interrupt" or "callback"; "passes" where the limit of passes
        over streamed rows was reached.
    n_passes_ : int
        Number of passes over all rows; for fits on files or with ``memory``.
    summary_cost_ : float
        The cost of the micro-clusters' search, an upper bound of what its clusters cost; for the same fits.
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

    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-means++",
        n_init=1,
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
        self._check_parameters()
        if self._has_any_size(X):
            return self._fit_any_size(X, sample_weight)
        return self._fit_arrays(X, *self._opened(X, sample_weight))._remember(X)

    def _fit_arrays(self, X, rows, weight):
        """The fit on validated rows in memory."""
        found, left_out = without_noise(self.noise, rows, weight, self._found, self._distances_of(rows))
        self._warn(found.descent)
        self._publish(X, rows, weight, found, left_out)
        return self

    def _found(self, rows, weight):
        """The best of the descents from all starts."""
        engine, objective = self._engine_of(rows, weight), OBJECTIVES[self.metric](0.0)
        with self._watching() as watch:
            best = self._best_descent(engine, objective, watch)
        return Found(engine, objective, best.state, best)

    def _best_descent(self, engine, objective, watch):
        near_enough = self._stopping_rule(engine, objective)
        lloyd, descents = Lloyd(), []
        for centres in self._starts(engine):
            start, watched = lloyd.start(Sites.of(centres), engine, objective), (watch.may_go_on, watch.report)
            descents.append(descend(start, [lloyd], engine, objective, self.max_iter, near_enough, *watched))
            descents = [min(descents, key=lambda descent: descent.state.cost)]
            if not watch.may_go_on():
                break
        (best,) = descents
        best.stop_reason = self._stop_reason(best, watch)
        return best

    def _require_streamable(self):
        """Raise unless the parameters are those of a fit on streamed rows."""
        require(self.noise == 0, "noise", self.noise, "0 for rows that do not fit in memory")

    def _summarised(self, engine, plan, seed):
        require(
            2 * self.n_clusters <= plan.most_micro,
            "memory",
            self.memory,
            f"more memory for n_clusters={self.n_clusters}; {plan.most_micro // 2} fit in it",
        )
        objective = OBJECTIVES[self.metric](0.0)
        return summarised(engine, objective, plan, self.n_clusters, seed, self.n_threads, is_known=True)

    def _located(self, summary, watch):
        objective, watch.has_state = OBJECTIVES[self.metric](0.0), True
        best = self._best_descent(summary.engine, objective, watch)
        return Located(best.state, objective, best, means)

    def _publish_search(self, located, found, n_rows, sampled, labels):
        self._warn(found)

    def _check_parameters(self):
        self._check_shared_parameters()
        require_count("n_clusters", self.n_clusters)
        require_count("n_init", self.n_init)
        require_noise(self.noise)
        self._check_watching()
        is_tol = isinstance(self.tol, Real) and not isinstance(self.tol, bool) and 0 <= float(self.tol) < np.inf
        require(is_tol, "tol", self.tol, "a finite number ≥ 0")
        require(
            not isinstance(self.init, str) or self.init == "k-means++",
            "init",
            self.init,
            "'k-means++' or centres of shape (n_clusters, n_features)",
        )
        require(
            isinstance(self.init, str) or self.n_init == 1,
            "n_init",
            self.n_init,
            "1 with given centres, since every start would be the same",
        )

    def _starts(self, engine):
        if engine.n_rows < self.n_clusters:
            raise ValueError(
                f"n_samples={engine.n_rows} should be >= n_clusters={self.n_clusters}; give more rows or "
                "a smaller n_clusters."
            )
        if not isinstance(self.init, str):
            centres = self._starting_centres(self.init, engine)
            require(
                len(centres) == self.n_clusters,
                "n_clusters",
                self.n_clusters,
                f"the number of centres in init, {len(centres)}",
            )
            yield centres
            return
        rng = random_generator(self.random_state)
        for _ in range(self.n_init):
            yield greedy_k_means_plus_plus(engine, self.n_clusters, rng)

    def _stopping_rule(self, engine, objective):
        """Whether two states count as equal: no label has changed, or the centres have moved by less than ``tol``."""
        if self.tol == 0:
            return None
        spread = engine.nearest(one_cluster(engine, objective)).stats
        with np.errstate(over="ignore"):
            limit = self.tol * spread.sse[0] / (spread.n[0] * engine.n_features)

        def near_enough(old, new):
            with np.errstate(over="ignore"):
                moved = ((new.sites.centres - old.sites.centres) ** 2).sum()
            return moved <= limit or old.same_partition(new)

        return near_enough

    def _warn(self, descent):
        if descent.stop_reason == "max_iter":
            warn(
                f"KMeans did not converge within max_iter={self.max_iter} iterations. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        n_distinct = int((descent.state.stats.n > 0).sum())
        if n_distinct < self.n_clusters:
            warn(
                f"KMeans found {n_distinct} clusters with rows, not n_clusters={self.n_clusters}: X has too few "
                "distinct rows.",
                ConvergenceWarning,
            )
