"""BayesianKMeans: hard clusters with uncertain parameters, and their number (Kurihara & Welling 2009)."""

from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from kfree.core.fields import (
    Centres,
    Count,
    Covariances,
    Number,
    NumberOfClusters,
    NumberOfCoordinates,
    PerCluster,
    RowLabels,
)
from kfree.core.label_order import LABEL_ORDERS, published_order, ranks
from kfree.core.marks import OPTIONAL, Shape
from kfree.core.stats import Floats
from kfree.core.warning import warn_cut_short, warn_full
from kfree.estimators import _by_posterior
from kfree.estimators._base import ClusterEstimator, publish
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.models.bayesian_rows import DATA, require_prior
from kfree.models.posterior import PosteriorModel
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.native.threads import one_blas_thread
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.mixtures import MIXTURES
from kfree.search.evidence.bayesian import bayesian_k_means
from kfree.search.evidence.hard_labels import relabelled
from kfree.search.evidence.published import published_search
from kfree.search.span import ended
from kfree.validation.frames import require_names
from kfree.validation.parameters import (
    WATCHING,
    check,
    choice,
    count,
    random_generator,
    require_count,
    threads,
    whole,
)

SEARCHES = {"auto": bayesian_k_means, "published": published_search}
CONSTRAINTS = (
    choice("model", list(DATA)),
    choice("mixture", list(MIXTURES)),
    choice("label_order", LABEL_ORDERS),
    lambda e: require_prior(e.prior),
    choice("search", list(SEARCHES)),
    choice("algorithm", ["auto", "kd-tree", "brute"]),
    count("max_iter"),
    *WATCHING,
    count("max_clusters", or_none=True),
    choice("engine", IMPLEMENTATIONS),
    threads,
)


class BayesianKMeans(DensityMixin, ClusterEstimator):
    """Bayesian k-means: clusters of any Gaussian shape, or of counts; their number maximises the evidence.

    Each row belongs to one cluster, as in k-means, but the parameters of the clusters are integrated out. ``fit``
    minimises the free energy −log p(rows, labels), so that a cluster is kept only if it lowers the free energy in spite
    of its parameters (Kurihara & Welling 2009).

    Parameters
    ----------
    model : {"gaussian", "multinomial", "bernoulli"}, default="gaussian"
        How the rows of a cluster are distributed: by a Gaussian with a full covariance matrix; as counts of events,
        such as words; or as zeros and ones, each column on its own.
    mixture : {"finite", "dirichlet-process"}, default="finite"
        The prior of cluster sizes: shares from a Dirichlet distribution, or a Dirichlet process.
    prior : {"data", "uninformative"} or dict, default="data"
        Hyper-parameters. ``"data"`` estimates those of a Gaussian from the data (Eq. 21 of the paper) and takes the
        paper's ψ0 = ω0 = 0.1 for the others; ``"uninformative"`` has means anywhere in the box of the data and any
        covariance (App. A), ψ0 = ω0 = 1 for the others. A dict has some of the keys ``xi0, m0, eta0, B0, phi0``
        (Gaussian), ``psi0, phi0`` (multinomial) or ``omega0, phi0`` (Bernoulli); the others are as with ``"data"``.
    search : {"auto", "published"}, default="auto"
        ``"published"`` is the search of the paper (the box in §6, with the rankings of App. D). ``"auto"`` goes on from
        there: clusters are split by themselves first, the splits that cost least are tried first, and several clusters
        may be split and merged at once. It ends at the same or a lower free energy in most fits.
    algorithm : {"auto", "kd-tree", "brute"}, default="auto"
        How rows are assigned to Gaussian clusters: by boxes of a kd-tree, or row by row. The labels are the same.
    max_iter : int, default=300
        Maximum number of moves (updates, splits, merges) to try.
    max_clusters : int or None, default=None
        No cluster is split beyond this number.
    engine : {"auto", "native", "reference"}, default="auto"
        The implementation of the Gaussian model: compiled code, or the reference implementation in NumPy. The labels
        are the same.
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
        How clusters are numbered: the largest first, ties in the order of their first rows; or in the order in which
        they were split off.
    random_state : int, RandomState or None, default=None
        Seed for the rows whose neighbours ``prior="data"`` looks for, 0 if None; and for ``sample``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    n_clusters_ : int
    free_energy_ : float
        −log p(rows, labels), in nats. Lower is better, also between models of the same data.
    free_energy_history_ : ndarray
        The free energy after every move that lowered it. The last value is ``free_energy_``.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Posterior means: of the centre, of the probabilities of events, or of ones.
    covariances_ : ndarray of shape (n_clusters_, n_features, n_features)
        For Gaussians: the inverse of each cluster's mean precision.
    weights_ : ndarray of shape (n_clusters_,)
        The probability of each cluster for the next row, given that the row opens no new cluster.
    prior_ : dict
        The hyper-parameters that were used.
    n_iter_ : int
        Number of moves tried.
    converged_ : bool
        Whether no split or merge lowers the free energy further.
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "interrupt" or "callback".
    n_evaluations_ : int
        Number of comparisons of a row, or a box of rows, with a cluster in passes over all rows.
    algorithm_ : str
        What ``algorithm="auto"`` chose.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import BayesianKMeans
    >>> rng = np.random.default_rng(0)
    >>> long, round_ = rng.normal(size=(2, 200, 2))
    >>> X = np.vstack([long @ [[3, 3], [0, 0.3]], round_ * 0.5 + [4, -4]])
    >>> model = BayesianKMeans().fit(X)
    >>> model.n_clusters_, np.bincount(model.labels_).tolist()
    (2, [200, 200])
    >>> model.predict_proba([[4.0, -4.0]]).round(3).tolist()
    [[0.0, 1.0]]
    """

    labels_: RowLabels
    n_clusters_: NumberOfClusters
    free_energy_: Number
    free_energy_history_: Annotated[Floats, Shape("moves")]
    cluster_centers_: Centres
    covariances_: Annotated[Covariances, OPTIONAL]
    weights_: PerCluster
    prior_: dict[str, Any]
    n_iter_: Count
    converged_: bool
    stop_reason_: str
    n_evaluations_: Count
    algorithm_: str
    n_features_in_: NumberOfCoordinates
    _model_: PosteriorModel

    @keyword_only
    def __init__(
        self,
        model: str = "gaussian",
        *,
        mixture: str = "finite",
        prior: Any = "data",
        search: str = "auto",
        algorithm: str = "auto",
        max_iter: int = 300,
        max_clusters: int | None = None,
        engine: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
        label_order: str = "size",
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.mixture = mixture
        self.prior = prior
        self.search = search
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.max_clusters = max_clusters
        self.engine = engine
        self.n_threads = n_threads
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.label_order = label_order
        self.random_state = random_state

    _constraints_of_methods = CONSTRAINTS
    predict, _distances = _by_posterior.predict, _by_posterior.distances_to_clusters

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse rows for ``model="multinomial"`` and ``"bernoulli"`` only.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0: a row of weight 2 counts as two rows, and weights that add up to 1 are the evidence of a single
            row. A row of weight zero gets a label and changes nothing else. ``prior="data"`` does not use weights for
            its scale, which is a distance between different rows.

        Returns
        -------
        self : BayesianKMeans
        """
        check(self, CONSTRAINTS)
        data = DATA[self.model](X, self, sample_weight=sample_weight)
        require_names(X)
        rng = random_generator(self.random_state, if_none=0)
        with one_blas_thread(), monitored(self) as monitor:
            model, phi0 = data.model(self.prior, rng)
            engine = data.open(self.engine, self.algorithm, self.n_threads)
            objective = FreeEnergy(model, MIXTURES[self.mixture](phi0))
            descent = self._searched(data, engine, objective, monitor)
            found = self._found(data, engine, objective, descent) | {"prior_": data.prior_of(model, phi0)}
        publish(self, X, found)
        warn_full(self, "free energy")
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the clusters for each row, by the posterior predictive distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters_)
        """
        log_joint = self._log_joint(X)
        return np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))

    def score_samples(self, X: Any) -> Floats:
        """log p(row | rows of the fit and their labels), given that the row opens no new cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_densities : ndarray of shape (n_samples,)
        """
        return logsumexp(self._log_joint(X), axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of :meth:`score_samples`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        score : float
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, n_events: int = 100) -> Any:
        """Draw rows from the posterior predictive distribution.

        Parameters
        ----------
        n_samples : int, default=1
        n_events : int, default=100
            Total of each row of counts, which the multinomial model does not define.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            The clusters that they were drawn from.
        """
        check_is_fitted(self)
        require_count("n_samples", n_samples)
        require_count("n_events", n_events, least=0)
        rng = random_generator(self.random_state)
        labels = rng.choice(self.n_clusters_, n_samples, p=self.weights_)
        return self._model_.drawn(labels.astype(np.int32), rng, n_events), labels

    def _searched(self, data, engine, objective, monitor):
        """Where a search ends: by inner products of few rows that have many columns, then updated in the columns."""
        by_gram = data.by_gram(objective.model) if self.algorithm != "kd-tree" else None
        where = (engine, objective) if by_gram is None else (by_gram[0], replace(objective, model=by_gram[1]))
        monitor.begins()
        descent = SEARCHES[self.search](*where, whole(self.max_iter), whole(self.max_clusters), monitor)
        descent.stop_reason = monitor.stop_reason(descent, self.max_iter)
        if by_gram is not None:
            descent.state = relabelled(descent.state, by_gram[0], engine, objective)
            descent.cost_history = ended(descent.cost_history, descent.state.cost)
            engine.n_evaluations += by_gram[0].n_evaluations
        return descent

    def _found(self, data, engine, objective, descent):
        """The fitted attributes by name."""
        if descent.stop_reason == "max_iter":
            warn_cut_short("BayesianKMeans", "max_iter", self.max_iter)
        state, found = descent.state, engine.labels(descent.state.assignment)
        order = published_order(self.label_order, found, state.stats.n)
        stats, rank = state.stats.take(order), ranks(order)
        # The rule keeps the order of the search, on which ties depend.
        rule = objective.labelling(state.stats) if state.rule is None else state.rule
        model = PosteriorModel.of(self.model, data, objective, stats, rule, rank, rank[found])
        covariances = {} if model.covariances is None else {"covariances_": model.covariances}
        return covariances | {
            "_model_": model,
            "labels_": rank[data.all_labels(found, rule, self.engine, self.n_threads)],
            "cluster_centers_": model.centres,
            "n_clusters_": state.n_clusters,
            "free_energy_": state.cost,
            "free_energy_history_": np.array(descent.cost_history),
            "weights_": objective.mixture.weights(stats.n),
            "n_iter_": descent.n_iter,
            "converged_": descent.converged,
            "stop_reason_": descent.stop_reason,
            "n_evaluations_": engine.n_evaluations,
            "algorithm_": getattr(engine, "algorithm", "brute"),
        }

    def _log_joint(self, X):
        """log p(row, cluster | rows of the fit), (n, k)."""
        data = _by_posterior.rows_like_those_of_fit(self, X)
        return self._model_.log_predictive(data) + np.log(self.weights_)

    def _view(self, X):
        check_is_fitted(self)
        return _by_posterior.view_of(self, X, None if X is None else self.predict(X))

    def __sklearn_tags__(self):
        return _by_posterior.posterior_tags(super().__sklearn_tags__(), self.model)
