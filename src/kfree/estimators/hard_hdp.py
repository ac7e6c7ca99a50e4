"""HardHDP: clusters shared between groups of rows, with a penalty per local and per global cluster."""

from typing import Annotated, Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kfree.core.fields import Centres, Count, History, NotNegative, Number, NumberOfClusters, RowLabels
from kfree.core.frame import require_differences
from kfree.core.label_order import LABEL_ORDERS
from kfree.core.marks import OPTIONAL, AtLeast, Shape
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.local.grouped import GroupedRows
from kfree.estimators._base import (
    ClusterEstimator,
    digest_of,
    or_new,
    publish,
    remember,
    require_rows,
)
from kfree.estimators._by_centres import history_of, labels_and_spreads
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.explain.view import view_by_distances
from kfree.models.feature_space import feature_space
from kfree.models.groups import GroupModel, numbers_within
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.hdp import HDPObjective
from kfree.search.groups.search import SharedSearch, searched_in_span
from kfree.validation.frames import printed_names, require_columns_of_fit, require_names
from kfree.validation.groups import (
    refuse_groups_as_y,
    renumbered,
    require_further,
    stacked,
    stacked_weights,
    with_columns,
)
from kfree.validation.parameters import WATCHING, check, choice, count, is_positive_number, rule, shown, threads, whole
from kfree.validation.rows import validated_weights

_BY_RULE = "farthest-first"


def _is_penalty(lam):
    return is_positive_number(lam) or (isinstance(lam, str) and lam in ("auto", _BY_RULE))


_PENALTY = "a finite number > 0 (the penalty of a cluster in squared-distance units), 'auto' or 'farthest-first'"
# What predict and score look at besides the rows.
ROWS = (choice("engine", IMPLEMENTATIONS), choice("label_order", LABEL_ORDERS), threads)
CONSTRAINTS = (
    *ROWS,
    rule("lam_local", lambda e: _is_penalty(e.lam_local), _PENALTY),
    rule("lam_global", lambda e: _is_penalty(e.lam_global), _PENALTY),
    count("target_k", or_none=True),
    rule(
        "target_k",
        lambda e: e.target_k is None or "auto" in (e.lam_local, e.lam_global) or e.lam_global == _BY_RULE,
        "None with penalties that do not depend on it: numbers, and lam_local='farthest-first'",
    ),
    rule(
        "target_k",
        lambda e: e.target_k is not None or e.lam_global != _BY_RULE,
        "the number of global clusters to aim at with lam_global='farthest-first'",
    ),
    count("target_k_local", or_none=True),
    rule(
        "target_k_local",
        lambda e: (e.target_k_local is not None) == (e.lam_local == _BY_RULE),
        "the number of clusters of a group to aim at with lam_local='farthest-first', else None",
    ),
    choice("search", ["split-merge", "sweep"]),
    count("patience", least=0),
    rule(
        "patience",
        lambda e: e.search != "sweep" or not e.patience,
        "0 with search='sweep', which makes no random splits",
    ),
    count("max_iter"),
    *WATCHING,
)


def _penalty(lam):
    """A penalty for the search: a number, the name of the published rule, or None if it is to be found."""
    return float(lam) if is_positive_number(lam) else None if lam == "auto" else lam


class HardHDP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterEstimator):
    """Hard HDP: clusters shared between groups, with a penalty per global cluster and per use of one by a group.

    Minimises J = Σ w·‖x − centre‖² + lam_local·(number of local clusters) + lam_global·(number of global clusters),
    where a local cluster is a group together with one of the global clusters that its rows are in
    (Kulis & Jordan 2012, §4).

    Parameters
    ----------
    lam_local : float > 0, "auto" or "farthest-first", default="auto"
        The penalty for each global cluster that a group uses, in units of squared distance. ``"auto"`` finds penalties
        that are consistent with the clusters they lead to. ``"farthest-first"`` is the published rule: the mean over
        groups of the penalty at which a sweep of their rows opens about ``target_k_local`` clusters.
    lam_global : float > 0, "auto" or "farthest-first", default="auto"
        The penalty of a global cluster, which counts once for all groups. ``"farthest-first"`` is the published rule:
        ``target_k`` times, the farthest row of the group that is farthest from all rows taken so far, by the sum of its
        squared distances, is taken; the penalty is the last of these sums.
    target_k : int or None, default=None
        The number of global clusters to aim at. The penalties that are ``"auto"`` are scaled until the search ends with
        this number. If no scale makes it the best, the best clustering with this number that was found is kept, with a
        warning and the penalties at which fewer and more clusters cost the same; ``search="sweep"`` keeps the nearest
        number. With ``lam_global="farthest-first"`` it is the number of rows that this rule takes.
    target_k_local : int or None, default=None
        The number of clusters of a group that ``lam_local="farthest-first"`` aims at.
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

    labels_: RowLabels
    local_labels_: Annotated[Labels, Shape("n"), AtLeast(0)]
    groups_: Annotated[NDArray[Any], Shape("groups")]
    n_clusters_: NumberOfClusters
    n_global_clusters_: NumberOfClusters
    n_local_clusters_: Annotated[Index, Shape("groups"), AtLeast(0)]
    cluster_centers_: Centres
    lam_local_: NotNegative
    lam_global_: NotNegative
    cost_: Number
    inertia_: Number
    local_cost_: Number
    global_cost_: Number
    cost_history_: History
    n_iter_: Count
    converged_: bool
    stop_reason_: str
    n_distances_: Count
    engine_: str
    _model_: GroupModel
    _unnamed_: bool
    _labels_of_: Annotated[str, OPTIONAL]

    @keyword_only
    def __init__(
        self,
        *,
        lam_local: float | str = "auto",
        lam_global: float | str = "auto",
        target_k: int | None = None,
        target_k_local: int | None = None,
        kernel: Any = None,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        search: str = "split-merge",
        patience: int = 0,
        max_iter: int = 300,
        engine: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
        label_order: str = "size",
        random_state: Any = None,
    ) -> None:
        self.lam_local = lam_local
        self.lam_global = lam_global
        self.target_k = target_k
        self.target_k_local = target_k_local
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
    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
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
            cost. Penalties that are ``"auto"`` take a weight of 2 for two rows: weights that add up to 1 are the
            evidence of a single row.

        Returns
        -------
        self : HardHDP
        """
        refuse_groups_as_y(y, groups)
        check(self, CONSTRAINTS)
        rows, names = stacked(X, groups, self)
        columns = with_columns(X)
        require_names(columns)
        distinct, group = renumbered(names)
        weight = validated_weights(stacked_weights(sample_weight, X), rows.shape[0])
        require_differences(rows, power=4)
        space, points = feature_space(self, rows, weight)
        opened = GroupedRows.open(self.engine, points, group, weight=weight, n_threads=self.n_threads)
        search = self._search()
        with monitored(self) as monitor:
            if space is None:
                result = searched_in_span(search, rows, opened, self.n_threads, monitor)
            else:
                result = search(opened, monitor)
        labels, order, sample = labels_and_spreads(self.label_order, weight, result)
        state = result.state
        model = GroupModel(
            result.rows.frame,
            state.sites.centres,
            order,
            cast(HDPObjective, result.objective),
            sample,
            used=state.stats.users,
            weights=state.stats.n,
            groups=distinct,
            space=space,
        )
        found = history_of(result) | {"labels_": labels, "_labels_of_": digest_of(rows), "_unnamed_": groups is None}
        found |= _described(model, group, labels)
        publish(self, X, found, columns)
        return self

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
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
        if not hasattr(self, "_model_"):
            return self.fit(X, groups=groups, sample_weight=sample_weight)
        if self.kernel is not None:
            raise ValueError(
                f"partial_fit cannot go on with kernel={self.kernel!r}; call fit with all rows of all groups."
            )
        check(self, CONSTRAINTS)
        if groups is None and self.groups_.dtype.kind not in "iu":
            self._ask_for_groups()
        rows, names = self._like_those_of_fit(X, groups)
        distinct, group = renumbered(names)
        distinct = distinct if groups is not None else self.groups_.max(initial=-1) + 1 + distinct
        require_further(distinct, self.groups_)
        weight = validated_weights(stacked_weights(sample_weight, X), rows.shape[0])
        opened, sites = self._model_.with_old_clusters(rows, group, weight, self.engine, self.n_threads)
        with monitored(self) as monitor:
            result = self._search().from_sites(opened, self._model_.objective, sites, monitor)
        self._publish_further(rows, group, distinct, result)
        return remember(self, X)

    def predict(self, X: Any, groups: Any = None, allow_new: bool = False) -> Labels:
        """The global cluster of each row; on the data of ``fit`` this is ``labels_``.

        A row of a known group goes to the nearest of the clusters that its group uses. The rows of a new group choose
        together which of the clusters they use, each at the penalty lam_local_.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of such
        groups : array-like of shape (n_samples,), default=None
            Names as in ``fit``; others are new groups. May be left out where ``fit`` had none.
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1: it is farther from every centre than all but one in
            a thousand rows of a cluster.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        opened, done = self._assigned(X, groups, None)
        return or_new(self, self._model_.rank[opened.labels(done.assignment)], X, allow_new)

    def score(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of these rows under this model, local and global clusters included.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of such
        y : ignored
        groups : array-like of shape (n_samples,), default=None
        sample_weight : array-like of shape (n_samples,), or a list like X, default=None

        Returns
        -------
        score : float
        """
        done = self._assigned(X, groups, sample_weight)[1]
        if self._model_.space is not None and not self._model_.space.knows_lengths:
            raise ValueError(
                "score needs κ(x, x) of every row, which kernel='precomputed' lacks. Use a named kernel or a function."
            )
        return -self._model_.objective.cost(done.stats)

    def transform(self, X: Any) -> Floats:
        """Distances of each row to all centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, number of clusters)
        """
        check_is_fitted(self)
        check(self, ROWS)
        return np.concatenate([distances for _, distances in self._distances(X)])

    def _search(self):
        """The search that the parameters ask for."""
        penalties = _penalty(self.lam_local), _penalty(self.lam_global)
        targets = whole(self.target_k), whole(self.target_k_local)
        limits = whole(self.patience), whole(self.max_iter)
        return SharedSearch(*penalties, *targets, self.search == "sweep", *limits, self.random_state)

    def _publish_further(self, rows, group, names, result):
        """Set the fitted attributes after a search over old clusters and further rows."""
        k, old = len(self._model_.weights), self._model_
        model = old.extended(rows, names, result, self.engine, self.n_threads)
        labels, inertia = model.rank[result.labels[k:]], self.inertia_ + result.state.inertia
        n_local, n_global = model.used.sum(), len(model.order)
        cost = float(inertia + (model.objective.lam_local * n_local + model.objective.lam * n_global))
        found = history_of(result) | {"labels_": labels, "_labels_of_": digest_of(rows)}
        found |= _described(model, group, labels)
        found |= {"inertia_": inertia, "cost_": cost, "engine_": self.engine_}
        found["cost_history_"] = found["cost_history_"] + (cost - result.state.cost)
        for name, value in found.items():
            setattr(self, name, value)

    def _assigned(self, X, groups, sample_weight):
        """New rows, and the pass that assigns them."""
        check_is_fitted(self)
        check(self, ROWS)
        rows, names = self._like_those_of_fit(X, groups)
        if groups is None and not self._unnamed_:
            self._ask_for_groups()
        distinct, group = renumbered(names)
        weight = validated_weights(stacked_weights(sample_weight, X), rows.shape[0])
        opened, centres = self._model_.grouped(self._model_.seen(rows), group, weight, self.engine, self.n_threads)
        return opened, self._model_.assigned(opened, centres, distinct)

    def _like_those_of_fit(self, X, groups):
        """Validated rows with the columns of the fit, and the name of each row's group."""
        rows, names = stacked(X, groups, self)
        require_columns_of_fit(self, with_columns(X))
        return rows, names

    def _ask_for_groups(self):
        raise ValueError(
            f"this model was fitted with {len(self.groups_)} named groups, such as {shown(self.groups_[0])}; give "
            "groups, one name per row of X. Names that were not fitted are new groups."
        )

    def _view(self, X):
        """Rows; where groups have names, those of the last fit, whose labels are known without them."""
        require_rows(X, self)
        rows, _ = self._like_those_of_fit(X, None)
        if not self._unnamed_ and self.__dict__.get("_labels_of_") != digest_of(rows):
            raise ValueError(
                f"X holds other rows than the last fit, and this model has {len(self.groups_)} named groups, such as "
                f"{shown(self.groups_[0])}. Give the rows of that fit here; predict(X, groups=…) labels others by the "
                "names of their groups, and transform(X) gives their distances to all centres."
            )
        labels, space = self.predict(X) if self._unnamed_ else self.labels_, self._model_.space
        distance = "Euclidean distance to the centre" + ("" if space is None else " in feature space")
        columns = None if space is not None and not space.knows_lengths else rows
        names = printed_names(with_columns(X), self)
        told = {"distance": distance, "columns": columns, "names": names}
        return view_by_distances(self._distances(X), labels, self.cluster_centers_, **told)

    def _distances(self, X):
        rows, _ = self._like_those_of_fit(X, None)
        return self._model_.distances(self._model_.seen(rows), self.engine, self.n_threads)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def _described(model, group, labels):
    """The attributes derived from labels, penalties and the clusters that groups use; ``group`` (n,) is per row."""
    objective, n_local = model.objective, model.used.sum(axis=0)
    n_global = len(model.order)
    return {
        "_model_": model,
        "groups_": model.groups,
        "cluster_centers_": model.public_centres,
        "n_clusters_": n_global,
        "n_global_clusters_": n_global,
        "n_local_clusters_": n_local,
        "lam_local_": objective.lam_local,
        "lam_global_": objective.lam,
        "local_cost_": objective.lam_local * int(n_local.sum()),
        "global_cost_": objective.lam * n_global,
        "local_labels_": numbers_within(group, labels, n_global),
    }
