"""HardHDP: clusters shared between groups of rows, with a penalty per local and per global cluster."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from kfree.engines.local.grouped import GroupedRows
from kfree.estimators._feature_space import feature_space
from kfree.estimators._groups import is_list, refuse_groups_as_y, renumbered, require_further, stacked, stacked_weights
from kfree.estimators._hdp_search import SharedSearch
from kfree.estimators._sharing import SharedClusterer
from kfree.estimators._span import ended, lifted_groups
from kfree.estimators._validation import validated_weights
from kfree.estimators._watching import with_callbacks


class HardHDP(SharedSearch, SharedClusterer):
    """Hard HDP: clusters shared between groups, with a penalty per global cluster and per use of one by a group.

    Minimises J = Σ w·‖x − centre‖² + lam_local·(number of local clusters) + lam_global·(number of global clusters),
    where a local cluster is a group together with one of the global clusters that its rows are in
    (Kulis & Jordan 2012, §4).

    Parameters
    ----------
    lam_local : float > 0 or "auto", default="auto"
        The penalty for each global cluster that a group uses, in units of squared distance. ``"auto"`` finds penalties
        that are consistent with the clusters they lead to.
    lam_global : float > 0 or "auto", default="auto"
        The penalty of a global cluster, which counts once for all groups.
    target_k : int or None, default=None
        The number of global clusters to aim at. The penalties that are ``"auto"`` are scaled until the search ends with
        this number. ``fit`` warns if it finds no such scale.
    kernel : None, str or callable, default=None
        With a kernel (scikit-learn's names, a function of two rows, or ``"precomputed"``), clusters are those of its
        feature space. That takes all kernel values between the rows, 8·n² bytes and some n³ operations.
    gamma, degree, coef0, kernel_params : default=None, 3, 1, None
        Parameters of the kernel, as in :class:`KernelDPMeans`.
    search : {"split-merge", "sweep"}, default="split-merge"
        ``"sweep"`` is the published algorithm (Algorithm 2). ``"split-merge"`` adds moves: a group chooses the clusters
        that it uses for all its rows together, and global clusters are split, merged, removed and opened and exchange
        rows and local clusters while that lowers the cost.
    patience : int, default=0
        For split-merge: continue with random splits; stop after this many in a row fail to lower the cost.
    max_iter : int, default=300
        Maximum number of sweeps, or of moves that split-merge search tries.
    engine : {"auto", "native", "reference"}, default="auto"
    n_threads : int or None, default=None
        Number of threads; None uses all available ones. The result does not depend on it.
    verbose : {0, 1}, default=0
        1 shows the cost, the number of clusters and the share of ``max_iter`` done while the search runs, which needs
        rich. With scikit-learn 1.9 or later, ``set_callbacks`` adds callbacks that receive the same values after every
        move.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during the search. ``"raise"`` raises KeyboardInterrupt and leaves the estimator unchanged.
        ``"keep"`` ends the search after the current move and keeps the best state so far; a second Ctrl-C raises.
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the heaviest first, ties in the order of their first rows; or the oldest first. In
        ``partial_fit`` old clusters come first, in the order that they had.
    random_state : int, RandomState or None, default=None
        Seed for ``patience`` and for the sample of more than 20,000 rows from which ``"auto"`` penalties are found; the
        latter has the seed 0 if None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        The global cluster of each row; after ``partial_fit``, of each row of the last groups.
    local_labels_ : ndarray of shape (n_samples,), int32
        The same, numbered from 0 within each group.
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    groups_ : ndarray of shape (n_groups,)
        Names of the groups in order of their first rows; a list of arrays has 0, 1, …
    n_global_clusters_, n_clusters_ : int
        The number of global clusters, under both names.
    n_local_clusters_ : ndarray of shape (n_groups,)
        How many global clusters each group uses.
    cluster_centers_ : ndarray of shape (n_global_clusters_, n_features), float64
        With a kernel, in coordinates of an orthonormal basis of what the images of the rows span.
    lam_local_, lam_global_ : float
        The penalties that were used.
    cost_ : float
        J, the sum of the next three.
    inertia_, local_cost_, global_cost_ : float
        Weighted squared distances to the centres, lam_local_ times local clusters, lam_global_ times global clusters.
    cost_history_ : ndarray
        J after every sweep, or after every move that lowered it. Never rises; the last value is ``cost_``.
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "interrupt" or "callback".
    n_distances_ : int
    engine_ : str
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    With one group this is DP-means with the penalty lam_local + lam_global.

    Beyond X a fit takes about 100 bytes per row, and a byte for each pair of a group and a global cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import HardHDP
    >>> monday = [[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]]
    >>> tuesday = [[5.0, 5.0], [5.1, 5.1], [9.0, 0.0], [9.1, 0.1]]
    >>> model = HardHDP(lam_local=0.5, lam_global=1.0).fit([monday, tuesday])
    >>> model.n_global_clusters_, model.n_local_clusters_.tolist()
    (3, [2, 2])
    >>> bool(model.labels_[2] == model.labels_[4]), model.local_labels_.tolist()
    (True, [1, 1, 0, 0, 0, 0, 1, 1])
    >>> model.predict([[5.0, 4.9], [0.2, 0.2]], groups=["wednesday"] * 2).tolist() == model.labels_[[2, 0]].tolist()
    True
    """

    def __init__(
        self,
        lam_local="auto",
        lam_global="auto",
        *,
        target_k=None,
        kernel=None,
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        search="split-merge",
        patience=0,
        max_iter=300,
        engine="auto",
        n_threads=None,
        verbose=0,
        on_interrupt="raise",
        label_order="size",
        random_state=None,
    ):
        self.lam_local = lam_local
        self.lam_global = lam_global
        self.target_k = target_k
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.search = search
        self.patience = patience
        self.max_iter = max_iter
        self.engine = engine
        self.n_threads = n_threads
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.label_order = label_order
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y=None, groups=None, sample_weight=None):
        """Cluster the rows of all groups together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of such
            A list holds one array per group.
        y : ignored
            Ignored. ``fit`` raises if y holds names and warns if y holds repeated whole numbers: pass these as
            ``groups``.
        groups : array-like of shape (n_samples,), default=None
            The name or number of each row's group, in any order of the rows. Without it all rows are one group, or
            each array of a list is one.
        sample_weight : array-like of shape (n_samples,), or a list like X, default=None
            Weights ≥ 0. A row of weight zero gets a label and changes nothing else. A row that weighs less than 1e-16
            of its cluster counts in the cost but does not move the centre. The search ignores gains below 1e-12 of the
            cost.

        Returns
        -------
        self : HardHDP
        """
        refuse_groups_as_y(y, groups)
        self._check_parameters()
        rows, names = stacked(X, groups, self)
        validate_data(BaseEstimator(), rows if is_list(X) else X, skip_check_array=True)  # names that cannot be kept
        distinct, group = renumbered(names)
        weight = validated_weights(stacked_weights(sample_weight, X), rows.shape[0])
        space = feature_space(self, rows, weight)
        points = rows if space is None else space.fitted
        engine = GroupedRows.open(self.engine, points, group, weight=weight, n_threads=self.n_threads)
        where = engine if space is not None else self._in_span(rows, group, weight, engine)
        found = self._found(where)
        if where.n_features != engine.n_features:
            state = lifted_groups(found.state, where, engine, found.objective)
            found.descent.cost_history = ended(found.descent.cost_history, state.cost)
            found = replace(found, engine=engine, state=state)
        self._publish(rows if is_list(X) else X, points, weight, found)
        self.groups_, self._unnamed_, self._space_ = distinct, groups is None, space
        self._used_, self._weights_ = found.state.stats.used, found.state.stats.n
        self._describe(group)
        return self._remember(X)

    def partial_fit(self, X, y=None, groups=None, sample_weight=None):
        """Add further groups, with the penalties of the first ones. Old clusters may move and merge, and new ones may
        open.

        The rows seen so far are not needed again: each global cluster represents its rows by their mean and weight.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of such
            Groups in a list, or rows without ``groups``, are named by the next free numbers.
        y : ignored
        groups : array-like of shape (n_samples,), default=None
            Names that no group of an earlier call has.
        sample_weight : array-like of shape (n_samples,), or a list like X, default=None

        Returns
        -------
        self : HardHDP
        """
        refuse_groups_as_y(y, groups)
        if not hasattr(self, "_sites_"):
            return self.fit(X, groups=groups, sample_weight=sample_weight)
        if self.kernel is not None:
            raise ValueError(
                f"partial_fit cannot go on with kernel={self.kernel!r}; call fit with all rows of all groups."
            )
        self._check_parameters()
        if groups is None and self.groups_.dtype.kind not in "iu":
            self._ask_for_groups()
        rows, names = stacked(X, groups, self)
        validate_data(self, rows if is_list(X) else X, skip_check_array=True, reset=False)
        distinct, group = renumbered(names)
        distinct = distinct if groups is not None else self.groups_.max(initial=-1) + 1 + distinct
        require_further(distinct, self.groups_)
        weight = validated_weights(stacked_weights(sample_weight, X), rows.shape[0])
        engine, sites = self._with_old_clusters(rows, group, weight)
        found = self._search(engine, self._objective_, sites)
        self._publish_further(rows, engine, found.state, found.descent)
        self.groups_ = np.concatenate([self.groups_, distinct])
        self._describe(group)
        return self._remember(X)
