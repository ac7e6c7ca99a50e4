"""AgglomerativeBayes: a full tree of clusters, cut where the evidence is highest (Kurihara & Welling 2009, §7)."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kfree.core.fields import Centres, Count, Covariances, Number, NumberOfClusters, NumberOfCoordinates, RowLabels
from kfree.core.label_order import LABEL_ORDERS, published_order, ranks
from kfree.core.marks import OPTIONAL, Shape
from kfree.core.stats import Floats, Labels
from kfree.estimators import _by_posterior
from kfree.estimators._base import ClusterEstimator, digest_of, publish, report, require_rows
from kfree.estimators._keywords import keyword_only
from kfree.models.bayesian_rows import DATA
from kfree.models.posterior import PosteriorModel
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.native.threads import one_blas_thread, thread_count
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.mixtures import MIXTURES
from kfree.objectives.priors import by_neighbours, for_merging
from kfree.search.evidence.tree import Tree, grow, merging_passes, refined
from kfree.validation.frames import require_names
from kfree.validation.parameters import check, choice, random_generator, require, require_count, rule, threads

# How the hyper-parameters of Gaussians are estimated from the data.
PRIORS = {"neighbours": by_neighbours, "data": for_merging}
CONSTRAINTS = (
    choice("model", list(DATA)),
    choice("mixture", list(MIXTURES)),
    rule(
        "prior",
        lambda e: isinstance(e.prior, dict) or (isinstance(e.prior, str) and e.prior in PRIORS),
        "'neighbours', 'data' or a dict: single rows need a proper prior",
    ),
    choice("label_order", LABEL_ORDERS),
    choice("closest_pairs", ["plain", "conga-line"]),
    choice("engine", IMPLEMENTATIONS),
    threads,
)


class AgglomerativeBayes(ClusterEstimator):
    """Bayesian agglomerative clustering: a tree from single rows to one cluster, cut where the evidence is highest.

    Each merge is the one that lowers the free energy −log p(rows, labels) most, or raises it least. The tree is cut
    where the free energy is lowest (Kurihara & Welling 2009, §7). Unlike linkage by distances, this needs no threshold.
    It models clusters of any Gaussian shape, counts, and zeros and ones.

    Parameters
    ----------
    model : {"gaussian", "multinomial", "bernoulli"}, default="gaussian"
        How the rows of a cluster are distributed: by a Gaussian with a full covariance matrix; as counts of events,
        such as words; or as zeros and ones, each column on its own.
    mixture : {"finite", "dirichlet-process"}, default="finite"
        The prior of cluster sizes.
    prior : {"neighbours", "data"} or dict, default="neighbours"
        Hyper-parameters. For Gaussians, ``"neighbours"`` takes the scale from the median distance between nearest rows,
        ``"data"`` from the smallest distances, as the paper does (Eq. 22), which finds worse trees. Both have the
        paper's ψ0 = ω0 = 0.1 for the other models. A dict has some of the keys ``xi0, m0, eta0, B0, phi0`` (Gaussian),
        ``psi0, phi0`` (multinomial) or ``omega0, phi0`` (Bernoulli); the others are as with ``"neighbours"``.
    closest_pairs : {"plain", "conga-line"}, default="plain"
        How the next pair is found: each cluster stores its best partner, or Eppstein's conga lines as in the paper.
        Both give the same tree and need memory in proportion to the number of rows. Plain search is faster.
    engine : {"auto", "native", "reference"}, default="auto"
        The implementation: compiled code, or the reference implementation in NumPy, which keeps a table of all pairs.
    n_threads : int or None, default=None
        Number of threads; None uses all available ones. The result does not depend on it.
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the largest first, ties in the order of their first rows; or all in the order of
        their first rows.
    random_state : int, RandomState or None, default=None
        Seed for the rows whose neighbours the prior looks for, 0 if None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Clusters where the free energy is lowest.
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    n_clusters_ : int
    free_energy_ : float
        −log p(rows, labels), in nats.
    free_energy_path_ : ndarray of shape (n_samples,)
        The free energy after 0, 1, … merges: that of k clusters is ``free_energy_path_[-k]``.
    merge_deltas_ : ndarray of shape (n_samples - 1,)
        The change of the free energy by each merge. It may be negative and need not be monotone.
    linkage_ : ndarray of shape (n_samples - 1, 4)
        The tree in the format of ``scipy.cluster.hierarchy``, which requires non-negative heights that never fall: the
        running maximum of ``merge_deltas_`` minus the smallest of them.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Posterior means: of the centre, of the probabilities of events, or of ones.
    covariances_ : ndarray of shape (n_clusters_, n_features, n_features)
        For Gaussians: the inverse of each cluster's mean precision.
    prior_ : dict
    n_pairs_ : int
        Number of pairs of clusters that were evaluated.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    There are no sample weights, because a leaf of the tree is one row. Give a row that counts twice two times, for
    example with ``np.repeat(X, counts, axis=0)``, or use :class:`BayesianKMeans`, which takes weights.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import AgglomerativeBayes, metrics
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) * [4, 0.2] + [0, 6]])
    >>> tree = AgglomerativeBayes().fit(X)
    >>> tree.n_clusters_, np.bincount(tree.cut(n_clusters=2)).tolist()
    (2, [60, 60])
    >>> round(metrics.dendrogram_purity(tree.linkage_, np.repeat([0, 1], 60)), 3)
    1.0
    """

    labels_: RowLabels
    n_clusters_: NumberOfClusters
    free_energy_: Number
    free_energy_path_: Annotated[Floats, Shape("n")]
    merge_deltas_: Annotated[Floats, Shape("n-1")]
    linkage_: Annotated[Floats, Shape("n-1", 4)]
    cluster_centers_: Centres
    covariances_: Annotated[Covariances, OPTIONAL]
    prior_: dict[str, Any]
    n_pairs_: Count
    n_features_in_: NumberOfCoordinates
    _model_: PosteriorModel
    _tree_: Tree
    _labels_of_: Annotated[str, OPTIONAL]

    @keyword_only
    def __init__(
        self,
        model: str = "gaussian",
        *,
        mixture: str = "finite",
        prior: Any = "neighbours",
        closest_pairs: str = "plain",
        engine: str = "auto",
        n_threads: int | None = None,
        label_order: str = "size",
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.mixture = mixture
        self.prior = prior
        self.closest_pairs = closest_pairs
        self.engine = engine
        self.n_threads = n_threads
        self.label_order = label_order
        self.random_state = random_state

    _constraints_of_methods = CONSTRAINTS
    report = report
    predict, _distances = _by_posterior.predict, _by_posterior.distances_to_clusters

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the tree of the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse rows for ``model="multinomial"`` and ``"bernoulli"`` only.
        y : ignored

        Returns
        -------
        self : AgglomerativeBayes
        """
        check(self, CONSTRAINTS)
        data = DATA[self.model](X, self)
        require_names(X)
        rng = random_generator(self.random_state, if_none=0)
        informed = PRIORS[self.prior if isinstance(self.prior, str) else "neighbours"]
        with one_blas_thread():
            model, phi0 = data.model(self.prior, rng, informed)
            objective = FreeEnergy(model, MIXTURES[self.mixture](phi0))
            engine, passes, conga = self._open(data), merging_passes(self.engine), self.closest_pairs == "conga-line"
            tree = grow(data.rows, engine, objective, passes, conga, thread_count(self.n_threads))
            found = self._found(data, engine, objective, tree) | {"prior_": data.prior_of(model, phi0)}
        return publish(self, X, found)

    def cut(self, n_clusters: int | None = None, *, free_energy: float | None = None) -> Labels:
        """Labels of the rows where the tree is cut.

        Parameters
        ----------
        n_clusters : int or None, default=None
            Cut into this many clusters.
        free_energy : float or None, default=None
            Cut into the fewest clusters whose free energy is at most this, for example ``free_energy_ + 10``. Without
            both parameters the cut has the lowest free energy.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Numbered by the rule ``label_order``.
        """
        check_is_fitted(self)
        one = n_clusters is None or free_energy is None
        require(one, "free_energy", free_energy, "n_clusters or free_energy, not both")
        require_count("n_clusters", n_clusters, or_none=True)
        if free_energy is not None:
            lowest = self.free_energy_
            require(free_energy >= lowest, "free_energy", free_energy, f"a number ≥ {lowest!r}, the lowest on the path")
            n_clusters = self._tree_.fewest_clusters(free_energy)
        k, n_rows = self.n_clusters_ if n_clusters is None else n_clusters, self._tree_.merges.n_start
        require(k <= n_rows, "n_clusters", k, f"at most {n_rows}, the number of rows")
        return self._numbered(self._tree_, k)

    def refine(self, X: Any, labels: Any = None) -> Any:
        """Move rows between clusters after a cut, as in :class:`BayesianKMeans`, while that lowers the free energy.

        A tree cannot undo a merge, so a cut can almost always be improved.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of ``fit``.
        labels : array-like of shape (n_samples,) or None, default=None
            What :meth:`cut` returned; ``labels_`` by default.

        Returns
        -------
        refinement : Refinement
            ``labels``, ``n_clusters``, ``free_energy``, and ``gained``, by how much that is lower than before.
        """
        data = _by_posterior.rows_like_those_of_fit(self, X)
        n_rows = self._tree_.merges.n_start
        labels = np.unique(self.labels_ if labels is None else labels, return_inverse=True)[1].astype(np.int32)
        if not data.rows.shape[0] == len(labels) == n_rows:
            raise ValueError(
                f"X has {data.rows.shape[0]} rows and labels {len(labels)}; the tree has {n_rows}. Give the rows "
                "of fit and labels from cut."
            )
        return refined(labels, self._open(data), self._model_.objective)

    def plot_dendrogram(self, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw the tree, with the clusters of ``labels_`` in colour.

        Parameters
        ----------
        names : sequence of str or None, default=None
            A name for each row, written below its leaf where there are few enough of them.
        ax : matplotlib axes, default=None
            Where to draw; a new figure if None. These axes are returned.
        """
        return self.plot(kind="dendrogram", names=names, ax=ax)

    def _open(self, data):
        return data.open(self.engine, "brute", self.n_threads)

    def _numbered(self, tree, n_clusters):
        """Labels of a cut; the tree numbers clusters in the order of their first rows."""
        labels = tree.merges.labels(n_clusters)
        return ranks(published_order(self.label_order, labels, np.bincount(labels)))[labels]

    def _found(self, data, engine, objective, tree):
        """The fitted attributes by name."""
        labels = self._numbered(tree, tree.best_k)
        stats = engine.stats_of(engine.assignment(labels, tree.best_k))
        rank = np.arange(tree.best_k, dtype=np.int32)
        model = PosteriorModel.of(self.model, data, objective, stats, None, rank, labels)
        covariances = {} if model.covariances is None else {"covariances_": model.covariances}
        return covariances | {
            "_model_": model,
            "_tree_": tree,
            "labels_": labels,
            "_labels_of_": digest_of(data.rows),
            "cluster_centers_": model.centres,
            "n_clusters_": tree.best_k,
            "free_energy_path_": tree.free_energies,
            "free_energy_": float(tree.free_energies.min()),
            "merge_deltas_": tree.deltas,
            "linkage_": tree.linkage,
            "n_pairs_": tree.n_pairs,
        }

    def _view(self, X):
        require_rows(X, self)
        data, labels_of = _by_posterior.rows_like_those_of_fit(self, X), self.__dict__.get("_labels_of_")
        if data.rows.shape[0] == len(self.labels_) and labels_of not in (None, digest_of(data.rows)):
            raise ValueError("X holds other rows than fit, and only rows of fit have a place in the tree; give these.")
        return _by_posterior.view_of(self, X, self.labels_)

    def __sklearn_tags__(self):
        return _by_posterior.posterior_tags(super().__sklearn_tags__(), self.model)
