"""DPMeans: k-means with a penalty per cluster instead of k (Kulis & Jordan 2012)."""

import numpy as np

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.estimators._advice import advise
from kfree.estimators._centres import CentreClusterer, Found
from kfree.estimators._noise import require_noise, without_noise
from kfree.estimators._penalised import PenalisedSearch
from kfree.estimators._span import coordinates, ended, is_wide, lifted
from kfree.estimators._validation import require
from kfree.estimators._watching import with_callbacks
from kfree.objectives.dp_means import OBJECTIVES


class DPMeans(PenalisedSearch, CentreClusterer):
    """K-means that finds the number of clusters: each one costs ``lam``.

    Minimises J = Σ w·‖x − centre‖² + lam·k over clusterings with any number k of clusters
    (Kulis & Jordan 2012).

    Parameters
    ----------
    lam : float > 0, "auto" or "farthest-first", default="auto"
        The penalty of a cluster, in units of squared distance. With split-merge search it is what a cluster must save
        to exist; as the saving grows with the rows, so does the best lam. With ``search="sweep"`` a row that is farther
        than √lam from every centre opens a cluster of its own. ``"auto"`` takes the penalty that the data speak for
        (:func:`kfree.lambda_path`), ``"farthest-first"`` the one at which a sweep opens about ``target_k`` clusters
        (:func:`kfree.farthest_first_lambda`).
    target_k : int or None, default=None
        A wished number of clusters: with ``lam="auto"``, a penalty at which a search ends with that many. It begins
        with the path's penalty, and if need be a few more penalties are tried; if none gives that number, a warning
        says so. With ``search="sweep"``, the penalty of ``"farthest-first"``.
    search : {"split-merge", "sweep"}, default="split-merge"
        ``"split-merge"`` ends where no merge of two clusters, no cut of one by 2-means, no birth, no exchange of rows
        and no death, its rows going to the next centres as they are, lowers the cost; nor cutting up to three in ten
        clusters in two and pruning them out. ``"sweep"`` is the published algorithm: rows are visited in order, means
        are recomputed after each sweep.
    patience : int, default=0
        For split-merge: go on with random cuts until so many in a row were in vain.
    time_budget : float or None, default=None
        For split-merge: seconds, from when the penalty is known, after which no move is begun. The search then begins
        with samples of the rows, which are copied, and ends where it stands when the time is up. If time is left over,
        it goes to random cuts, without end unless there is a ``patience``. Answers may differ from run to run.
    order : {"given", "random"}, default="given"
        The order of visits, on which the answer of ``search="sweep"`` depends; ``"random"`` draws one permutation for
        the whole fit.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"`` scales rows to unit length; squared distances are then 2 − 2 cos and centres unit vectors.
    max_iter : int, default=300
        Most sweeps of a fit, or moves that split-merge search tries.
    max_clusters : int or None, default=None
        No cluster is opened beyond this number; a warning says when that was felt.
    init : array-like of shape (k, n_features) or None, default=None
        Centres to start from; None starts from one cluster at the mean.
    engine : {"auto", "native", "reference"}, default="auto"
        Who computes: compiled code, or NumPy code that says what the compiled code means. Same answer.
    n_threads : int or None, default=None
        Threads to use, all available ones by default. The answer does not depend on it.
    noise : float, default=0
        The share of rows to leave out of the fit: those with the highest outlier scores get the label −1 and do not
        count. The search is repeated without them until the same rows are left out twice, at most ten times.
    verbose : {0, 1}, default=0
        1 shows the cost, the number of clusters and the share of ``max_iter`` done while the search runs, which needs
        rich. With scikit-learn 1.9 or later, ``set_callbacks`` adds callbacks that hear the same after every move.
    on_interrupt : {"raise", "keep"}, default="raise"
        Whether Ctrl-C during the search raises KeyboardInterrupt and leaves the estimator as it was, or ends the search
        after the move under way and keeps what it has found. A second Ctrl-C raises.
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the largest first, by weight, and among equals by their first rows; or the oldest
        first.
    random_state : int, RandomState or None, default=None
        Seed for ``order="random"``, for ``patience`` and for the path of ``lam="auto"``, which has the seed 0 if None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    cluster_centers_ : ndarray of shape (n_clusters_, n_features), float64
    cluster_ids_ : ndarray of shape (n_clusters_,)
        Numbers that clusters keep from birth on; gaps are clusters that died.
    n_clusters_ : int
    lam_ : float
        The penalty that was used.
    path_ : Staircase or None
        The path that ``lam="auto"`` chose from, where nobody gave ``target_k``.
    inertia_ : float
        Weighted squared distances of the rows to their centres.
    cost_ : float
        J, that is inertia_ + lam_·n_clusters_.
    cost_history_ : ndarray
        J after every sweep, or after every move that helped; never rises, ends with ``cost_``.
    n_iter_ : int
        Number of sweeps, or of moves tried.
    converged_ : bool
        Whether no other sweep or move would change anything.
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "time_budget", "interrupt" or "callback".
    n_distances_ : int
        Distances between a row and a centre that were really computed by passes over all rows; may differ between
        instruction sets, which no other result does.
    engine_ : str
        What ran: the engine and, if compiled, its instruction set and the number of threads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    With ``sample_weight``, J treats weights as repeated rows. The sweep does not: a row opens a cluster when
    weight·squared distance exceeds lam, and one row of weight 3 may do so where three rows of weight 1 do not.

    With ``lam="auto"`` a :class:`kfree.exceptions.DataAdvice` warns of data for which the answer may mislead: columns
    of very unlike scale, row numbers, coarse lattices, clusters longer than wide, few rows, a path that was too short.

    Beyond X a fit with the native engine takes at most 160 bytes per row, and 64 with ``search="sweep"``.
    Arrays of float32 and float64 are used where they lie, whatever their strides; other types are converted to float64
    first.

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
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0; a row of weight zero gets a label and changes nothing else. A row that weighs less than 1e-16
            of its cluster pays for its distance but does not move the centre, and the search does not look for gains
            below 1e-12 of the cost.

        Returns
        -------
        self : DPMeans
        """
        self._check_parameters()
        rows, weight = self._opened(X, sample_weight)
        found, left_out = without_noise(self.noise, rows, weight, self._found, self._distances_of(rows))
        self._publish(X, rows, weight, found, left_out)
        self.lam_, self.path_ = found.objective.lam, found.path
        self.cluster_ids_ = found.state.sites.uids[self._order_]
        if found.path is not None and self.metric == "euclidean":
            names, inside = getattr(self, "feature_names_in_", None), self.labels_ >= 0
            if found.path.n_outliers:  # rows far from every cluster say nothing about its shape
                inside &= self.outlier_score(X) <= 1
            kept = rows if inside.all() else rows[inside]
            advise(kept, names, self.labels_[inside], self.cluster_centers_, found.path, stacklevel=2)
        return self

    def _found(self, rows, weight):
        """What a search of these rows ends with."""
        engine = self._engine_of(rows, weight)
        where = self._in_span(rows, weight, engine)
        lam, path, kept = self._penalty(where, OBJECTIVES[self.metric](0.0))
        objective, descent, state = self._searched(where, OBJECTIVES[self.metric](lam), path, kept)
        if where is not engine:
            state = lifted(state, where, engine, objective)
            descent.cost_history = ended(descent.cost_history, state.cost)
        return Found(engine, objective, state, descent, path)

    def _check_parameters(self):
        self._check_shared_parameters()
        self._check_search_parameters()
        require_noise(self.noise)
        require(not isinstance(self.init, str), "init", self.init, "centres of shape (k, n_features) or None")

    def _in_span(self, rows, weight, engine):
        """The engine to search with: one for coordinates in the span of few rows that have many columns."""
        if self.init is not None or self.search == "sweep" or not is_wide(rows):
            return engine
        places = coordinates(rows, engine.frame)
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
