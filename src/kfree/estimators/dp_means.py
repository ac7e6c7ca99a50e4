"""DPMeans: k-means with a price per cluster instead of k (Kulis & Jordan 2012)."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kfree.engines import Sites
from kfree.estimators._centres import CentreClusterer
from kfree.estimators._validation import is_positive_number, require, require_choice, require_count
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.loop import descend
from kfree.search.moves import Sweep
from kfree.search.seeding import farthest_first
from kfree.search.state import one_cluster, settle

SEARCHES = ["sweep"]
ORDERS = ["given", "random"]


class DPMeans(CentreClusterer):
    """K-means that finds the number of clusters: each one costs ``lam``.

    Minimises J = Σ w·‖x − centre‖² + lam·k over clusterings with any number k of clusters
    (Kulis & Jordan 2012).

    Parameters
    ----------
    lam : float > 0 or "farthest-first", default="farthest-first"
        The price of a cluster, in units of squared distance: a row that is farther than √lam from every centre
        opens a cluster of its own. ``"farthest-first"`` takes the price at which about ``target_k`` clusters open
        (see :func:`kfree.farthest_first_lambda`).
    target_k : int, default=4
        The wished number of clusters, for ``lam="farthest-first"`` only.
    search : "sweep", default="sweep"
        The published algorithm: rows are visited in order, means are recomputed after each sweep.
    order : {"given", "random"}, default="given"
        The order of visits, on which the answer depends; ``"random"`` draws one permutation for the whole fit.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"`` scales rows to unit length; squared distances are then 2 − 2 cos and centres unit vectors.
    max_iter : int, default=300
        Most sweeps of a fit.
    max_clusters : int or None, default=None
        No cluster is opened beyond this number; a warning says when that was felt.
    init : array-like of shape (k, n_features) or None, default=None
        Centres to start from; None starts from one cluster at the mean.
    engine : {"auto", "native", "reference"}, default="auto"
        Who computes: compiled code, or NumPy code that says what the compiled code means. Same answer.
    n_threads : int or None, default=None
        Threads to use, all available ones by default. The answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for ``order="random"``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    cluster_centers_ : ndarray of shape (n_clusters_, n_features), float64
    cluster_ids_ : ndarray of shape (n_clusters_,)
        Numbers that clusters keep from birth on; gaps are clusters that died.
    n_clusters_ : int
    lam_ : float
        The price that was used.
    inertia_ : float
        Weighted squared distances of the rows to their centres.
    cost_ : float
        J, that is inertia_ + lam_·n_clusters_.
    cost_history_ : ndarray
        J after every sweep; never rises, ends with ``cost_``.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether another sweep would change nothing.
    n_distances_ : int
        Distances between a row and a centre that were really computed by passes over all rows; may differ between
        instruction sets, which no other result does.
    engine_ : str
        What ran: the engine and, if compiled, its instruction set and the number of threads.
        The engine that ran.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    With ``sample_weight``, J treats weights as repeated rows. The sweep does not: a row opens a cluster when
    weight·squared distance exceeds lam, and one row of weight 3 may do so where three rows of weight 1 do not.

    Beyond X a fit with the native engine takes at most 64 bytes per row. Arrays of float32 and float64 are used where
    they lie, whatever their strides; other types are converted to float64 first.

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
        lam="farthest-first",
        *,
        target_k=4,
        search="sweep",
        order="given",
        metric="euclidean",
        max_iter=300,
        max_clusters=None,
        init=None,
        engine="auto",
        n_threads=None,
        random_state=None,
    ):
        self.lam = lam
        self.target_k = target_k
        self.search = search
        self.order = order
        self.metric = metric
        self.max_iter = max_iter
        self.max_clusters = max_clusters
        self.init = init
        self.engine = engine
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0; a row of weight zero gets a label and changes nothing else.

        Returns
        -------
        self : DPMeans
        """
        self._check_parameters()
        engine = self._open(X, sample_weight)
        objective = OBJECTIVES[self.metric](self._price(engine))
        sweep = Sweep(self._visiting_order(engine), self.max_clusters)
        sites = self._starting_sites(engine, objective)
        descent = descend(sweep.start(sites, engine, objective), sweep, engine, objective, self.max_iter)
        state = self._finished(descent, engine, objective)
        self._publish(X, engine, objective, state, descent)
        self.lam_ = objective.lam
        self.cluster_ids_ = state.sites.uids
        self.n_clusters_ = len(state.sites.uids)
        return self

    def predict(self, X, allow_new=False):
        """Give each row the label of its nearest centre; on the data of ``fit`` this is ``labels_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        allow_new : bool, default=False
            Label a row −1 if it would open a cluster of its own, being farther than √lam_ from every centre.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        done = self._nearest(X)
        if allow_new:
            done.labels[done.sq_dist > self.lam_] = -1
        return done.labels

    def _check_parameters(self):
        self._check_shared_parameters()
        by_name = isinstance(self.lam, str) and self.lam == "farthest-first"
        require(
            by_name or is_positive_number(self.lam),
            "lam",
            self.lam,
            "a finite number > 0 (the price of a cluster in squared-distance units) or 'farthest-first'",
        )
        require_count("target_k", self.target_k)
        require_choice("search", self.search, SEARCHES)
        require_choice("order", self.order, ORDERS)
        require_count("max_clusters", self.max_clusters, or_none=True)
        require(not isinstance(self.init, str), "init", self.init, "centres of shape (k, n_features) or None")

    def _price(self, engine):
        if self.lam == "farthest-first":
            return farthest_first(engine, OBJECTIVES[self.metric](0.0), self.target_k)
        return float(self.lam)

    def _visiting_order(self, engine):
        rng = check_random_state(self.random_state)
        return rng.permutation(engine.n_rows) if self.order == "random" else None

    def _starting_sites(self, engine, objective):
        if self.init is None:
            return one_cluster(engine, objective)
        centres = self._starting_centres(self.init, engine)
        require(
            self.max_clusters is None or len(centres) <= self.max_clusters,
            "max_clusters",
            self.max_clusters,
            f"at least the {len(centres)} centres of init",
        )
        return Sites.of(centres)

    def _finished(self, descent, engine, objective):
        """The last state, with every row at its nearest centre even if the search was cut short."""
        state = descent.state
        if not descent.converged:
            warnings.warn(
                f"DPMeans did not converge within max_iter={self.max_iter} sweeps; the clustering is valid but "
                "another sweep may improve it. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if descent.n_refused:
            warnings.warn(
                f"max_clusters={self.max_clusters} kept {descent.n_refused} row(s) from opening a cluster, though "
                f"weight·squared distance exceeds lam={objective.lam:g} for them. Raise max_clusters, or lam.",
                UserWarning,
                stacklevel=3,
            )
        if not state.settled or not np.all(state.stats.n > 0):
            state = settle(state, engine, objective)
            descent.cost_history.append(state.cost)
        return state
