"""GraphDPMeans: clusters of a graph by penalised normalised or ratio cuts (Kulis & Jordan 2012, §5.2)."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kfree.engines.graph import Graph, in_order_of_first
from kfree.estimators._explained import Explained
from kfree.estimators._graphs import validated_graph, validated_rows_of_nodes, view_of_nodes
from kfree.estimators._order import LABEL_ORDERS, published_order, ranks
from kfree.estimators._validation import is_number, require, require_choice, require_count, shown
from kfree.estimators._warnings import warn
from kfree.estimators._watching import Watched, with_callbacks
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.cut import CUTS, CutStats, shares
from kfree.search.graph.cut_path import cut_path
from kfree.search.graph.multilevel import grown, search
from kfree.search.graph.target import nearest_to

# The penalty of a graph without links.
_ANY_PENALTY = -0.5


class GraphDPMeans(Watched, Explained, ClusterMixin, BaseEstimator):
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
        at which the search ends with this number. It warns if it finds none.
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
        The nodes in the order of ``labels_``: as networkx, igraph or the list of edges names them, else 0, 1, …
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

    def __init__(
        self,
        lam="auto",
        *,
        target_k=None,
        cut="normalized",
        patience=None,
        max_iter=1000,
        engine="auto",
        verbose=0,
        on_interrupt="raise",
        label_order="size",
        random_state=0,
    ):
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
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        return tags

    @with_callbacks
    def fit(self, A, y=None):
        """Cluster the nodes of a graph.

        Parameters
        ----------
        A : {array, sparse matrix} of shape (n_nodes, n_nodes), edges of shape (m, 2 or 3), networkx or igraph graph
            Weights ≥ 0, 0 where there is no link. In a list of edges the third column holds weights, nodes are numbers
            or texts, and equal edges add up. A data frame of two or three columns is a list of edges; a square array of
            numbers is always a matrix. Directed graphs are made symmetric.
        y : ignored

        Returns
        -------
        self : GraphDPMeans
        """
        self._check_parameters()
        adjacency, names = validated_graph(A)
        linked = np.flatnonzero(np.diff(adjacency.indptr))
        graph = Graph.of(sp.csr_array(adjacency[linked][:, linked]), self.engine) if len(linked) else None
        lam, path, descent = self._search(graph, adjacency.shape[0] - len(linked))
        self._publish(adjacency, names, linked, lam, path, descent)
        return self

    def predict_nodes(self, new_rows, allow_new=False):
        """Assign each new node to the cluster for which J rises least.

        Parameters
        ----------
        new_rows : array-like or sparse matrix of shape (n_new, n_nodes)
            The links of each new node with the nodes of the fit.
        allow_new : bool, default=False
            Label a node −1 if a cluster of its own would cost less.

        Returns
        -------
        labels : ndarray of shape (n_new,), int32
            −1 for a node without links.
        """
        check_is_fitted(self)
        rows = validated_rows_of_nodes(new_rows, len(self.labels_))
        members = sp.csr_array((np.ones(len(self.labels_)), (np.arange(len(self.labels_)), self.labels_)))
        links = (rows @ members).toarray()
        rises, alone = self._objective_.joining_deltas(self._clusters_, links)
        labels = rises.argmin(axis=1).astype(np.int32)
        labels[~links.any(axis=1) | (allow_new & (alone < rises.min(axis=1)))] = -1
        return labels

    def _usual_picture(self, A):
        return "graph"

    def _view(self, A):
        check_is_fitted(self)
        if A is not None and validated_graph(A)[0].shape != self.adjacency_.shape:
            raise ValueError(f"A is another graph; give the graph of fit, with {len(self.labels_)} nodes, or none.")
        return view_of_nodes(self.adjacency_, self.labels_, self.node_names_, self.shares_)

    def _check_parameters(self):
        require_choice("cut", self.cut, list(CUTS))
        require_choice("label_order", self.label_order, LABEL_ORDERS)
        require_choice("engine", self.engine, list(IMPLEMENTATIONS))
        require_count("patience", self.patience, or_none=True, least=0)
        require_count("max_iter", self.max_iter)
        self._check_watching()
        is_auto = isinstance(self.lam, str) and self.lam == "auto"
        require_count("target_k", self.target_k, or_none=True)
        require(self.target_k is None or is_auto, "target_k", self.target_k, "None with a lam that is a number")
        if is_auto:
            return
        if not is_number(self.lam):
            raise ValueError(f"lam={shown(self.lam)} is not allowed; give a number below 0 or 'auto'.")
        if self.lam >= 0:
            raise ValueError(
                f"lam={shown(self.lam)} is not allowed: the whole graph cuts no links, so with a penalty ≥ 0 one "
                "cluster is always best. Give a number below 0 (with lam=-0.4 a cluster must keep 60 % of its links "
                "inside) or 'auto'."
            )

    def _search(self, graph, n_alone):
        """The penalty, the staircase that it was chosen from (or None), and the result of the search."""
        if graph is None or not graph.out.any():
            return (_ANY_PENALTY if self.lam == "auto" else float(self.lam)), None, None
        cut, rng = CUTS[self.cut], check_random_state(self.random_state)
        patience = _usual_patience(graph) if self.patience is None else self.patience
        path = cut_path(graph, cut, rng) if self.lam == "auto" else None
        with self._watching() as watch:

            def search_at(lam, start=None):
                start, watched = grown(graph, cut(lam)) if start is None else start, (watch.may_go_on, watch.report)
                return search(start, graph, cut(lam), rng, patience, self.max_iter, *watched)

            if path is None:
                lam, staircase = float(self.lam), None
                self._require_penalty_above(cut(lam).lowest_lam(graph))
                descent = search_at(lam)
            elif self.target_k is None:
                staircase = path.staircase
                lam = staircase.suggest().lam
                descent = search_at(lam, path.start)
            else:
                staircase, wished = None, self.target_k - n_alone
                lam = self._penalty_for(path.staircase, wished, n_alone)
                lam, descent = nearest_to(wished, lam, cut(lam).lowest_lam(graph), search_at, watch.may_go_on)
                self._warn_unless_found(descent.state.clusters.n_nodes + n_alone, lam)
        descent.stop_reason = self._stop_reason(descent, watch)
        return lam, staircase, descent

    def _penalty_for(self, staircase, wished, n_alone):
        """The penalty at which the staircase has the number to aim at, or the end of the staircase if that number is
        larger."""
        least, most = int(staircase.k[0]), int(staircase.k[-1])
        allowed = f"at least {least + n_alone}, the number of unconnected parts"
        require(wished >= least, "target_k", self.target_k, allowed)
        return staircase.at(k=min(wished, most)).lam

    def _warn_unless_found(self, n_found, lam):
        if n_found != self.target_k:
            warn(
                f"GraphDPMeans found no penalty at which target_k={self.target_k} clusters are best; lam_={lam:g} "
                f"gives {n_found}.",
                UserWarning,
            )

    def _require_penalty_above(self, lowest):
        if self.lam <= lowest:
            raise ValueError(
                f"lam={shown(self.lam)} is not allowed: no merge lowers the cut by more than {-lowest:g}, so that with "
                f"a penalty of {lowest:g} or less single nodes are always best. Give a number between {lowest:g} and 0"
                + (", better above -1." if self.cut == "normalized" else ".")
            )

    def _publish(self, adjacency, names, linked, lam, path, descent):
        """Set all fitted attributes; called only after the fit has succeeded."""
        n = adjacency.shape[0]
        labels = np.arange(n, dtype=np.int32)
        if descent is not None:
            labels += len(linked)  # nodes without links follow all clusters of the search
            labels[linked] = descent.state.labels
            self._warn_unless(descent.stop_reason != "max_iter")
        labels = in_order_of_first(labels)
        labels = ranks(published_order(self.label_order, labels, np.bincount(labels)))[labels]
        objective, clusters = CUTS[self.cut](lam), CutStats.of(adjacency, labels)
        self.labels_, self.n_clusters_ = labels, len(clusters.size)
        self.lam_, self.path_ = lam, path
        self.cut_, self.shares_ = objective.cut(clusters), shares(clusters)
        self.cost_ = objective.cost(clusters)
        earlier = np.array(descent.cost_history[:-1] if descent else []) + lam * (n - len(linked))
        self.cost_history_ = np.append(earlier, self.cost_)
        self.n_iter_ = descent.n_iter if descent else 1
        self.converged_ = descent.converged if descent else True
        self.stop_reason_ = descent.stop_reason if descent else "converged"
        self.node_names_, self.adjacency_, self.n_features_in_ = names, adjacency, n
        self._objective_, self._clusters_ = objective, clusters

    def _warn_unless(self, within_limit):
        if not within_limit:
            warn(
                f"GraphDPMeans did not converge within max_iter={self.max_iter} moves; the clustering is valid but "
                "more of them may improve it. Raise max_iter.",
                ConvergenceWarning,
            )


def _usual_patience(graph):
    n_links = max(len(graph.weight) // 2, 1)
    return int(np.clip(50_000 // n_links, 8, 40))
