"""GraphDPMeans: clusters of a graph by penalised normalised or ratio cuts (Kulis & Jordan 2012, §5.2)."""

from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kfree.core.fields import Count, History, Number, NumberOfClusters, PerCluster
from kfree.core.label_order import LABEL_ORDERS, published_order, ranks
from kfree.core.marks import AtLeast, Below, OneOf, Shape
from kfree.core.sparse import require_structure
from kfree.core.stats import Floats, Labels
from kfree.core.warning import warn_cut_short
from kfree.engines.graph import Graph, in_order_of_first
from kfree.estimators._base import ClusterEstimator, publish
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.explain.spread import FALSE_ALARMS
from kfree.models.nodes import node_scores, view_of_nodes
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.cut import CUTS, CutStats, NormalizedCut, shares
from kfree.search.graph.cut_staircase import CutStaircase
from kfree.search.graph.search import CutSearch
from kfree.validation.graphs import validated_graph, validated_rows_of_nodes
from kfree.validation.parameters import (
    WATCHING,
    check,
    choice,
    count,
    is_auto,
    is_number,
    require_false_alarms,
    rule,
    shown,
    whole,
)


def _below_zero(estimator):
    """Raise unless the penalty is "auto" or a number below zero."""
    lam = estimator.lam
    if is_auto(lam):
        return
    if not is_number(lam):
        raise ValueError(f"lam={shown(lam)} is not allowed; give a number below 0 or 'auto'.")
    if lam >= 0:
        raise ValueError(
            f"lam={shown(lam)} is not allowed: the whole graph cuts no links, so with a penalty ≥ 0 one "
            "cluster is always best. Give a number below 0 (with lam=-0.4 a cluster must keep 60 % of its links "
            "inside) or 'auto'."
        )


CONSTRAINTS = (
    choice("cut", list(CUTS)),
    choice("label_order", LABEL_ORDERS),
    choice("engine", IMPLEMENTATIONS),
    count("patience", or_none=True, least=0),
    count("max_iter"),
    *WATCHING,
    count("target_k", or_none=True),
    rule("target_k", lambda e: e.target_k is None or is_auto(e.lam), "None with a lam that is a number"),
    _below_zero,
)


class GraphDPMeans(ClusterEstimator):
    """Clusters of a graph by a penalised cut, which determines their number.

    Minimises J = Σ_c links leaving c / degree of c + lam·k over all partitions of the nodes, with any number k of
    clusters (penalised normalised cut, Kulis & Jordan 2012).

    Parameters
    ----------
    lam : float between −2 and 0 or "auto", default="auto"
        The penalty of a cluster. It is negative, because every cluster adds to the cut. A cluster lowers J if it keeps
        a share of more than 1 + lam of its links inside: with lam = −0.4, 60 %. So useful penalties are between −1 (any
        share suffices: very small clusters) and 0 (all links: connected components only). At −2 and below single nodes
        are optimal, at 0 and above one cluster is. For ``cut="ratio"`` −lam is the number of links per node that a
        cluster may cut, and lam lies between −2·largest degree and 0. ``"auto"`` uses the step of the staircase k(lam)
        whose clusters have the highest evidence (``path_``).
    target_k : int or None, default=None
        The number of clusters to aim at, nodes without links included. With ``lam="auto"``, ``fit`` looks for a penalty
        at which the search ends with this number. If there is none, the best clustering with this number that was found
        is kept, with a warning and the penalty at which fewer and more clusters cost the same.
    cut : {"normalized", "ratio"}, default="normalized"
        Whether the links that leave a cluster are divided by its degree or by its number of nodes.
    patience : int or None, default=None
        The search stops after this many random perturbations in a row (scattering nodes, or recombining pieces of
        clusters) fail to lower the cost noticeably. None means 8, and up to 40 for graphs of less than 6,000 links,
        where a perturbation is cheap.
    max_iter : int, default=1000
        Maximum number of moves that the search tries.
    engine : {"auto", "native", "reference"}, default="auto"
        The implementation: compiled code, or the reference implementation in Python. The result is the same.
    verbose : {0, 1}, default=0
        1 shows the cost, the number of clusters and the share of ``max_iter`` done while the search runs, which needs
        rich. With scikit-learn 1.9 or later, ``set_callbacks`` adds callbacks that receive the same values after every
        move.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during the search. ``"raise"`` raises KeyboardInterrupt and leaves the estimator unchanged.
        ``"keep"`` ends the search after the current move and keeps the best state so far; a second Ctrl-C raises.
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the largest first, ties in the order of their first nodes; or all in the order of
        their first nodes.
    random_state : int, RandomState or None, default=0
        Seed for the orders in which nodes are visited. The default always gives the same result.

    Attributes
    ----------
    labels_ : ndarray of shape (n_nodes,), int32
        The cluster of each node.
    confidence_ : ndarray of shape (n_nodes,)
        :meth:`confidence` of the nodes, computed at first access.
    n_clusters_ : int
    lam_ : float
        The penalty that was used.
    cut_ : float
        The cut, Σ_c links leaving c / degree of c (or number of nodes of c).
    cost_ : float
        J, that is cut_ + lam_·n_clusters_.
    cost_history_ : ndarray
        J after every move that lowered it. The last value is ``cost_``.
    shares_ : ndarray of shape (n_clusters_,)
        The share of its links that each cluster keeps inside; 1 for a node without links.
    path_ : CutStaircase or None
        The staircase that ``lam="auto"`` chose from, where ``target_k`` was not given.
    node_names_ : ndarray of shape (n_nodes,)
        The nodes in the order of ``labels_``: as networkx, igraph, the list of edges or the columns of a frame
        that holds a matrix name them, else 0, 1, …
    adjacency_ : csr_array of shape (n_nodes, n_nodes)
        The symmetric adjacency matrix that was used.
    n_iter_ : int
        Moves tried.
    converged_ : bool
        Whether the search stopped because no move lowers J.
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "interrupt" or "callback".
    n_features_in_ : int
        The number of nodes.

    Notes
    -----
    A node without links is a cluster of its own and takes no part in the search. Loops count once in the degree of
    their node and as links inside. A cluster that raises J is merged with another one, if necessary with one that it
    has no links with. At most one such cluster is left in the end.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import GraphDPMeans
    >>> edges = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dot"), ("dot", "eve"), ("eve", "fay"),
    ...          ("fay", "dot")]
    >>> model = GraphDPMeans(lam=-0.4).fit(edges)
    >>> dict(zip(model.node_names_.tolist(), model.labels_.tolist()))
    {'ann': 0, 'bob': 0, 'cid': 0, 'dot': 1, 'eve': 1, 'fay': 1}
    >>> model.shares_.round(3).tolist()
    [0.857, 0.857]
    >>> model.predict_nodes([[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1]]).tolist()
    [0, 1]
    """

    labels_: Annotated[Labels, Shape("n"), Below("k")]
    n_clusters_: NumberOfClusters
    lam_: Number
    cut_: Number
    cost_: Number
    cost_history_: History
    shares_: PerCluster
    path_: CutStaircase | None
    node_names_: Annotated[NDArray[Any], Shape("n")]
    adjacency_: Annotated[sp.csr_array, Shape("n", "n"), AtLeast(0.0)]
    n_iter_: Count
    converged_: bool
    stop_reason_: str
    _objective_: Annotated[NormalizedCut, OneOf(CUTS)]

    @keyword_only
    def __init__(
        self,
        *,
        lam: float | str = "auto",
        target_k: int | None = None,
        cut: str = "normalized",
        patience: int | None = None,
        max_iter: int = 1000,
        engine: str = "auto",
        verbose: int = 0,
        on_interrupt: str = "raise",
        label_order: str = "size",
        random_state: Any = 0,
    ) -> None:
        self.lam = lam
        self.target_k = target_k
        self.cut = cut
        self.patience = patience
        self.max_iter = max_iter
        self.engine = engine
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.label_order = label_order
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        return tags

    @with_callbacks
    def fit(self, A: Any, y: Any = None) -> Self:
        """Cluster the nodes of a graph.

        Parameters
        ----------
        A : {array, sparse matrix} of shape (n_nodes, n_nodes), edges of shape (m, 2 or 3), networkx or igraph graph
            Weights ≥ 0, 0 where there is no link. In a list of edges the third column holds weights, nodes are numbers
            or texts, and equal edges add up. A data frame of two or three columns is a list of edges; a square of
            numbers is always a matrix, also as a list or a data frame. Directed graphs are made symmetric.
        y : ignored

        Returns
        -------
        self : GraphDPMeans
        """
        check(self, CONSTRAINTS)
        adjacency, names = validated_graph(A)
        linked = np.flatnonzero(np.diff(adjacency.indptr))
        graph = Graph.of(sp.csr_array(adjacency[linked][:, linked]), self.engine) if len(linked) else None
        limits = whole(self.patience), whole(self.max_iter)
        search = CutSearch(self.lam, whole(self.target_k), self.cut, *limits, self.random_state)
        with monitored(self) as monitor:
            result = search(graph, adjacency.shape[0] - len(linked), monitor)
        return publish(self, None, self._found(adjacency, names, linked, result), columns=adjacency)

    def predict_nodes(self, new_rows: Any, allow_new: bool = False) -> Labels:
        """Assign each new node to the cluster for which J rises least.

        Parameters
        ----------
        new_rows : array-like or sparse matrix of shape (n_new, n_nodes)
            The links of each new node with the nodes of the fit.
        allow_new : bool, default=False
            Label a node −1 if its :meth:`outlier_score` is above 1. Where ``lam`` was given as a number, label it −1 if
            a cluster of its own would cost less.

        Returns
        -------
        labels : ndarray of shape (n_new,), int32
            −1 for a node without links.
        """
        check_is_fitted(self)
        rows = validated_rows_of_nodes(new_rows, self.node_names_)
        members = sp.csr_array((np.ones(len(self.labels_)), (np.arange(len(self.labels_)), self.labels_)))
        links = (rows @ members).toarray()
        rises, alone = self._objective_.joining_deltas(self._clusters_, links)
        labels = rises.argmin(axis=1).astype(np.int32)
        labels[~links.any(axis=1)] = -1
        if allow_new:
            by_links = isinstance(self.lam, str)
            labels[self.outlier_score(rows) > 1 if by_links else alone < rises.min(axis=1)] = -1
        return labels

    def outlier_score(self, new_rows: Any = None, false_alarms: float = FALSE_ALARMS) -> Floats:
        """How unusually a node's links are spread over the clusters; above 1, the node belongs to no cluster.

        A cluster keeps a share p of its links inside (``shares_``). If the links of a node are independent, the number
        of its L links that lead into its cluster is binomial. The score is log P(Binomial(L, p) ≤ number found) /
        log(false_alarms), the least over the clusters of five or more nodes. So a node with few links is no outlier. A
        node without links has an infinite score.

        Parameters
        ----------
        new_rows : array-like or sparse matrix of shape (n_new, n_nodes), default=None
            The links of each new node with the nodes of the fit; None scores the nodes of the fit.
        false_alarms : float, default=0.001
            The share of nodes of a cluster with a score above 1, if their links are independent. Links of unequal
            weight count as (Σ weight)²/Σ weight² links.

        Returns
        -------
        scores : ndarray of shape (n_new,)
        """
        check_is_fitted(self)
        require_false_alarms(false_alarms)
        rows = self._links() if new_rows is None else validated_rows_of_nodes(new_rows, self.node_names_)
        return node_scores(rows, self.labels_, self.shares_, false_alarms)

    def _view(self, A):
        check_is_fitted(self)
        links = self._links()
        if A is not None and not _are_equal(validated_graph(A)[0], links):
            raise ValueError(f"A is another graph; give the graph of fit, with {len(self.labels_)} nodes, or none.")
        return view_of_nodes(links, self.labels_, self.node_names_, self.shares_)

    def _links(self):
        """``adjacency_``; of a damaged model, SciPy would read beyond its arrays."""
        require_structure(self.adjacency_, "adjacency_")
        return self.adjacency_

    def _found(self, adjacency, names, linked, result):
        """The fitted attributes by name."""
        n, lam, descent = adjacency.shape[0], result.lam, result.descent
        labels = np.arange(n, dtype=np.int32)
        if descent is not None:
            labels += len(linked)  # nodes without links follow all clusters of the search
            labels[linked] = descent.state.labels
            if descent.stop_reason == "max_iter":
                warn_cut_short("GraphDPMeans", "max_iter", self.max_iter)
        labels = in_order_of_first(labels)
        labels = ranks(published_order(self.label_order, labels, np.bincount(labels)))[labels]
        objective, clusters = CUTS[self.cut](lam), CutStats.of(adjacency, labels)
        cost = objective.cost(clusters)
        earlier = np.array(descent.cost_history[:-1] if descent else []) + lam * (n - len(linked))
        return {
            "labels_": labels,
            "n_clusters_": len(clusters.size),
            "lam_": lam,
            "path_": result.path,
            "cut_": objective.cut(clusters),
            "shares_": shares(clusters),
            "cost_": cost,
            # The last cost is summed in another order, so that rounding may put it above the one before.
            "cost_history_": np.append(np.maximum(earlier, cost), cost),
            "n_iter_": descent.n_iter if descent else 1,
            "converged_": descent.converged if descent else True,
            "stop_reason_": descent.stop_reason if descent else "converged",
            "node_names_": names,
            "adjacency_": adjacency,
            "n_features_in_": n,
            "_objective_": objective,
            "_clusters_": clusters,
        }

    def _restored(self):
        """What is not saved."""
        self._clusters_ = CutStats.of(self.adjacency_, self.labels_)


def _are_equal(a, b):
    """Whether two graphs have the same links."""
    return a.shape == b.shape and not (a != b).nnz
