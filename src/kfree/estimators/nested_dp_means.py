"""NestedDPMeans: clusters of clusters, with a penalty per node of every level (Maurer 2015, §4)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kfree.core.fields import (
    Centres,
    Count,
    History,
    NotNegative,
    Number,
    NumberOfClusters,
    NumberOfCoordinates,
    RowLabels,
)
from kfree.core.label_order import order_by_rule, ranks
from kfree.core.marks import OPTIONAL
from kfree.core.stats import Labels, totals
from kfree.engines.registry import open_engine
from kfree.estimators import _by_centres
from kfree.estimators._base import ClusterEstimator, report, require_rows, rows_like_those_of_fit
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.estimators._opening import data_of, opened_for_passes
from kfree.explain.summary import summary_of
from kfree.explain.table import Summary
from kfree.models.centres import CentreModel
from kfree.models.cluster_tree import ClusterTree, TreeCost
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.fit import fit_by_summary
from kfree.search.nested.levels import LevelChoice
from kfree.search.nested.search import NestedSearch
from kfree.search.path.staircase import Staircase
from kfree.search.penalised import PenalisedSearch
from kfree.search.span import is_wide, searched_in_span
from kfree.validation.parameters import (
    WATCHING,
    check,
    choice,
    count,
    is_auto,
    is_positive_number,
    random_seed,
    require,
    rule,
    whole,
)
from kfree.validation.tensors import in_memory, placed_like

GROUP_WEIGHTS = ["clusters", "rows"]
# Beyond these, tau changes nothing, and its products with weights of several levels may overflow or become zero.
LEAST_TAU, MOST_TAU = 1e-50, 1e50


def _numbers(value):
    """A parameter that is a number for each level, or one for all, as a tuple; None if it is something else."""
    if is_positive_number(value):
        return (float(value),)
    listed = isinstance(value, (tuple, list, np.ndarray)) and len(value) and all(map(is_positive_number, value))
    return tuple(map(float, value)) if listed else None


def _are_levels(levels):
    """Whether these are numbers of nodes by level, each larger than the one before."""
    if not isinstance(levels, (tuple, list, np.ndarray)) or not len(levels):
        return False
    whole = [isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in levels]
    return all(whole) and all(a < b for a, b in pairwise(levels))


def _n_levels_above(e):
    """The number of levels above the finest where it is given, else None."""
    if e.levels is not None:
        return len(e.levels) - 1
    return None if is_auto(e.lam_group) else len(_numbers(e.lam_group))


ROWS = _by_centres.constraints(list(OBJECTIVES))
CONSTRAINTS = (
    *ROWS,
    rule(
        "levels",
        lambda e: e.levels is None or _are_levels(e.levels),
        "whole numbers ≥ 1 that rise strictly, coarsest level first, such as (5, 40), or None",
    ),
    rule(
        "lam",
        lambda e: is_auto(e.lam) or is_positive_number(e.lam),
        "a finite number > 0 (the penalty of a cluster in squared-distance units) or 'auto'",
    ),
    rule(
        "lam_group",
        lambda e: is_auto(e.lam_group) or _numbers(e.lam_group) is not None,
        "a finite number > 0 (the penalty of a group), such numbers for several levels, coarsest first, or 'auto'",
    ),
    rule("lam", lambda e: e.levels is None or is_auto(e.lam), "'auto' with levels, which set the number of clusters"),
    rule(
        "lam_group",
        lambda e: e.levels is None or is_auto(e.lam_group),
        "'auto' with levels, which set the number of groups",
    ),
    rule(
        "tau",
        lambda e: is_auto(e.tau) or all(LEAST_TAU <= tau <= MOST_TAU for tau in _numbers(e.tau) or (0.0,)),
        f"a number from {LEAST_TAU:g} to {MOST_TAU:g}, such numbers for several levels, coarsest first, or 'auto'",
    ),
    rule(
        "tau",
        lambda e: is_auto(e.tau) or len(_numbers(e.tau)) == 1 or len(_numbers(e.tau)) == _n_levels_above(e),
        "one number, or one for each level above the finest that levels or lam_group ask for",
    ),
    choice("group_weight", GROUP_WEIGHTS),
    count("max_levels"),
    choice("search", ["auto", "split-merge", "summary", "sweep"]),
    rule(
        "search",
        lambda e: e.search != "sweep" or not (is_auto(e.lam) or is_auto(e.lam_group) or is_auto(e.tau)),
        "'auto' or 'split-merge', or numbers for lam, lam_group and tau with 'sweep'",
    ),
    *WATCHING,
)
# A search on a summary.
ON_SUMMARY = (rule("search", lambda e: e.search != "sweep", "'auto' or 'summary' for rows that do not fit in memory"),)


class NestedDPMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterEstimator):
    """Clusters of clusters: DP-means at every level, strictly nested, with the number of levels found.

    Minimises J = Σ w·‖x − μ‖² + tau·Σ ‖μ − ν‖² + lam·(number of clusters) + lam_group·(number of groups) over nested
    clusterings, where μ is the centre of a row's cluster and ν that of the cluster's group; further levels add the same
    two terms. It is the small-variance limit of the model that Maurer (2015) proposed, μ ~ N(ν, σI).

    Parameters
    ----------
    levels : sequence of int or None, default=None
        Numbers of nodes by level, coarsest first: ``(5, 40)`` for five groups and forty clusters inside them. None
        finds the levels and their numbers; clusters without groups get one level.
    lam : float > 0 or "auto", default="auto"
        The penalty of a cluster, in units of squared distance, as in :class:`kfree.DPMeans`. ``"auto"`` uses the
        penalty best supported by the data.
    lam_group : float > 0, sequence of such or "auto", default="auto"
        The penalty of a group; of several levels, coarsest first. ``"auto"`` takes, level by level, the widest step of
        the staircase of the level below, if it is clearly wider than that of nodes without groups.
    tau : float > 0, sequence of such or "auto", default="auto"
        How strongly a group pulls its clusters, in units of weight: as much as so many rows at the group's centre. With
        ``group_weight="rows"`` it is relative to the weight of a cluster. ``"auto"`` is a hundredth of the mean weight
        of a node of the level below, times the variance inside these nodes over that of their centres, so that the pull
        adds about a hundredth to J and centres stay among their rows. It is the same at every scale of X, and grows
        with repeats of all rows as their distances do. A number lies between 1e-50 and 1e50.
    group_weight : {"clusters", "rows"}, default="clusters"
        ``"clusters"``: each cluster counts once for its group, as in Maurer's model; one that is lighter than tau
        counts by its rows. ``"rows"``: clusters count by their rows.
    max_levels : int, default=4
        The most levels that ``"auto"`` may find, the finest included.
    search : {"auto", "split-merge", "summary", "sweep"}, default="auto"
        ``"split-merge"`` searches all rows in memory, then the levels above, and ends when no move lowers J: rows to
        other clusters, merging and splitting clusters, moving them to other groups, opening and closing groups.
        ``"summary"`` and ``"auto"`` as in :class:`kfree.DPMeans`. ``"sweep"`` visits rows, then clusters, in order, as
        a Gibbs sampler does in the limit; it needs lam, lam_group and tau as numbers.
    metric : {"euclidean", "cosine"}, default="euclidean"
    max_iter : int, default=300
        Maximum number of moves, or sweeps.
    engine : {"auto", "native", "reference", "gpu", "dask"}, default="auto"
    n_threads : int or None, default=None
    memory : int, str or None, default=None
        The memory that a fit may take beyond X, as in :class:`kfree.DPMeans`.
    checkpoint : str, path or None, default=None
        A file for the results of passes over rows that do not fit in ``memory``, as in :class:`kfree.DPMeans`.
    verbose : {0, 1}, default=0
    on_interrupt : {"raise", "keep"}, default="raise"
    label_order : {"size", "found"}, default="size"
        How the nodes of each level are numbered: the heaviest first, or the oldest.
    random_state : int, RandomState or None, default=None
        Seed of the path and of the judge of levels; 0 if None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Labels of the finest level. A Dask array for a Dask collection, with ``engine="dask"``; none if X is rows of
        files.
    level_labels_ : list of ndarray of shape (n_samples,), int32
        Labels of every level, coarsest first; none where ``labels_`` is a Dask array or X is rows of files.
    levels_ : tuple of int
        Numbers of nodes by level, coarsest first.
    tree_ : ClusterTree
        ``parents``, ``sizes`` and ``centres`` of all nodes; ``to_newick()``, ``to_frame()`` and ``linkage_``.
    n_clusters_ : int
        Number of clusters of the finest level.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features), float64
        Centres of the finest level, which are pulled to those of their groups.
    lam_ : float
    lam_group_, tau_ : tuple of float
        One number for each level above the finest, coarsest first.
    evidence_ : tuple of float
        For each level that ``"auto"`` looked for, finest first: standard deviations by which the widest step exceeds
        those of nodes without groups. A level needs 3, so that the last number may be that of a level that was refused.
    path_ : Staircase or None
        The path that ``lam="auto"`` chose from.
    inertia_, cost_, cost_history_, n_iter_, converged_, stop_reason_, search_, n_passes_, summary_cost_, \
summary_n_iter_, n_distances_, engine_, n_features_in_, feature_names_in_
        As in :class:`kfree.DPMeans`, with J of all levels as the cost.

    Notes
    -----
    Minimised over its centre, a cluster of weight n and mean x̄ adds SSE + h·‖x̄ − ν‖² with h = n·tau/(n + tau). So the
    levels above the finest are the same problem on the clusters as weighted rows, and cost no pass over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import NestedDPMeans
    >>> rng = np.random.default_rng(0)
    >>> groups = np.array([[0, 0], [200, 0], [0, 200], [200, 200]])
    >>> centres = (groups[:, None] + 12 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])).reshape(-1, 2)
    >>> X = centres[rng.integers(16, size=800)] + rng.normal(size=(800, 2))
    >>> model = NestedDPMeans().fit(X)
    >>> model.levels_
    (4, 16)
    >>> len(np.unique(model.labels_[model.level_labels_[0] == 0]))
    4
    >>> model.predict(X[:3], level=0).tolist() == model.level_labels_[0][:3].tolist()
    True
    """

    labels_: Annotated[RowLabels, OPTIONAL]
    level_labels_: Annotated[list[Labels], OPTIONAL]
    levels_: tuple[int, ...]
    tree_: ClusterTree
    n_clusters_: NumberOfClusters
    cluster_centers_: Centres
    lam_: NotNegative
    lam_group_: tuple[float, ...]
    tau_: tuple[float, ...]
    evidence_: tuple[float, ...]
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

    @keyword_only
    def __init__(
        self,
        levels: Sequence[int] | None = None,
        *,
        lam: float | str = "auto",
        lam_group: Any = "auto",
        tau: Any = "auto",
        group_weight: str = "clusters",
        max_levels: int = 4,
        search: str = "auto",
        metric: str = "euclidean",
        max_iter: int = 300,
        engine: str = "auto",
        n_threads: int | None = None,
        memory: int | str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
        label_order: str = "size",
        random_state: Any = None,
    ) -> None:
        self.levels = levels
        self.lam = lam
        self.lam_group = lam_group
        self.tau = tau
        self.group_weight = group_weight
        self.max_levels = max_levels
        self.search = search
        self.metric = metric
        self.max_iter = max_iter
        self.engine = engine
        self.n_threads = n_threads
        self.memory = memory
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.label_order = label_order
        self.random_state = random_state

    _constraints_of_methods = ROWS
    fit_predict = _by_centres.fit_predict
    transform, score = _by_centres.transform, _by_centres.score
    _distances = _by_centres.distances_of
    duplicates = _by_centres.duplicates

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X, and the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows of files by :func:`kfree.open_rows`
            With ``engine="dask"`` rows of files, a Dask array or a Dask dataframe.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. A row of weight zero gets a label and changes nothing else.

        Returns
        -------
        self : NestedDPMeans
        """
        check(self, CONSTRAINTS)
        data = data_of(self, X, sample_weight, ON_SUMMARY, summarise_large=True)
        n_rows = data.source.n_rows
        allowed = f"at most n_samples = {n_rows} on the finest level"
        require(self.levels is None or self.levels[-1] <= n_rows, "levels", self.levels, allowed)
        search = self._search()
        with monitored(self) as monitor:
            if data.plan is not None:
                seed = random_seed(self.random_state)
                rows = opened_for_passes(self, data, seed, monitor)
                found = fit_by_summary(rows, search.finest, data.plan, seed, self.n_threads, monitor)
                result = search(found, monitor)
            else:
                result = self._searched(data, search, monitor)
        search_ = "sweep" if self.search == "sweep" else search.finest.name_of(result.flat)
        self._publish(X, data, result, search_)
        return self

    def predict(
        self, X: Any, level: int | None = None, allow_new: bool = False, out: str | PathLike[str] | None = None
    ) -> Any:
        """Label each row by its nearest centre of the finest level, and by that cluster's group at a coarser level.

        On the data of ``fit`` this is ``labels_``, and ``level_labels_[level]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows of files by :func:`kfree.open_rows`
        level : int or None, default=None
            0 is the coarsest level, and so on; None the finest. Negative levels count from the finest, −1.
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1.
        out : str, path or None, default=None
            For rows of files and the finest level: the folder to write labels to, as in :meth:`kfree.DPMeans.predict`.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        check_is_fitted(self)
        level = self._level(level)
        require(out is None or level == len(self.levels_) - 1, "out", out, "None for a level that is not the finest")
        labels = _by_centres.predict(self, X, allow_new, out)
        if level == len(self.levels_) - 1:
            return labels
        if hasattr(labels, "__dask_graph__"):
            return labels.map_blocks(self.tree_.at_level, level=level, dtype=np.int32)
        return placed_like(self.tree_.at_level(in_memory(labels), level), X)

    def summary(
        self,
        X: Any = None,
        feature_names: Sequence[str] | None = None,
        encoder: Any = None,
        *,
        level: int | None = None,
    ) -> Summary:
        """A table of the nodes of a level: size, spread, nearest node, exemplars, what sets them apart from siblings.

        Parameters
        ----------
        X : the rows of ``fit``, or others
        feature_names : sequence of str or None, default=None
        encoder : a fitted TableEncoder or None, default=None
            The one that made X, so that columns have their names and means are those of the table, in its units.
        level : int or None, default=None
            0 is the coarsest level; None the finest.

        Returns
        -------
        summary : kfree.explain.Summary
            Features compare the rows of a node with those of the other nodes in its group.
        """
        return summary_of(self._view(X, level), feature_names, self.tree_.siblings(self._level(level)), encoder)

    # On the page, a group can be opened to show its clusters.
    report = report

    def _search(self):
        """The search that the parameters ask for."""
        target_k = None if self.levels is None else int(self.levels[-1])
        finest = PenalisedSearch(
            type(self).__name__,
            OBJECTIVES[self.metric],
            self.lam,
            target_k,
            max_iter=whole(self.max_iter),
            random_state=self.random_state,
            number="levels",
        )
        numbers = None if self.levels is None else [int(n) for n in self.levels[:-1]][::-1]
        lam_group = None if is_auto(self.lam_group) else _numbers(self.lam_group)[::-1]
        above, max_levels = _n_levels_above(self), whole(self.max_levels)
        tau = None if is_auto(self.tau) else _numbers(self.tau)[::-1]
        if tau is not None and len(tau) == 1:
            tau = tau * (max_levels if above is None else above)
        by_rows = self.group_weight == "rows"
        chosen = LevelChoice(self.metric, by_rows, numbers, lam_group, tau, max_levels)
        return NestedSearch(finest, chosen, self.random_state)

    def _searched(self, data, search, monitor):
        """The result on rows in memory; the finest level of few rows of many columns is searched in their span."""
        rows = open_engine(self.engine, data.X, weight=data.weight, unit=data.unit, n_threads=self.n_threads)
        if self.search == "sweep":
            return search.sweep(rows, monitor)
        if not is_wide(data.X):
            return search(search.finest(rows, monitor), monitor)
        found = searched_in_span(search.finest, monitor, in_memory(data.X), data.weight, rows, self.n_threads)
        return search(found, monitor)

    def _publish(self, X, data, result, search):
        """Set all fitted attributes."""
        flat, nested, tree = result.flat, result.objective, result.tree
        # Sizes, numbers and parents level by level, from the finest.
        n, rule = flat.state.stats.n, self.label_order
        found = {"lam_group_": nested.penalties[:0:-1], "tau_": nested.taus[::-1], "evidence_": result.evidence}
        _by_centres.publish_centres(self, X, data, flat, lam_=nested.lam, path_=flat.path, search_=search, **found)
        order, place = self._model_.order, flat.rows.frame.outward
        sizes, parents, centres = [n[order]], [], [self.cluster_centers_]
        for parent, upper in zip(tree.parents, tree.upper, strict=True):
            n = totals(parent, n, len(upper))
            above = order_by_rule(rule, n)
            parents.append(ranks(above)[parent[order]])
            sizes.append(n[above])
            centres.append(place(upper[above]))
            order = above
        self.tree_ = ClusterTree.of_levels(parents[::-1], sizes[::-1], centres[::-1])
        self.levels_ = tuple(len(size) for size in sizes[::-1])
        cost = TreeCost(nested, (flat.state.sites.centres, *tree.upper), tree.parents)
        self._model_ = replace(self._model_, objective=cost)
        labels = self.__dict__.get("labels_")
        if labels is not None and not hasattr(labels, "__dask_graph__"):
            finest = in_memory(labels)
            coarser = (self.tree_.at_level(finest, level) for level in range(len(self.levels_) - 1))
            self.level_labels_ = [*(placed_like(own, X) for own in coarser), labels]

    def _level(self, level):
        """The number of a level that exists."""
        n_levels = len(self.levels_)
        whole = isinstance(level, (int, np.integer)) and not isinstance(level, bool)
        there = ", ".join(f"{j} ({n} nodes)" for j, n in enumerate(self.levels_))
        ok = level is None or (whole and -n_levels <= level < n_levels)
        require(ok, "level", level, f"one of the {n_levels} level(s) of this model: {there}; or None for the finest")
        return n_levels - 1 if level is None else int(level) % n_levels

    def _view(self, X, level=None):
        require_rows(X, self)
        level, view = self._level(level), _by_centres.view_of(self, X)
        if level == len(self.levels_) - 1:
            return view
        nodes, rows = self.tree_.nodes(level), rows_like_those_of_fit(self, X)
        centres = self._model_.frame.placed(self.tree_.centres[nodes])
        model = replace(self._model_, centres=centres, order=np.arange(len(nodes)))
        labels = self.tree_.at_level(view.labels, level)
        return model.view(rows, labels, view.names, self.engine, self.n_threads)
