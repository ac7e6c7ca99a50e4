"""KernelDPMeans: DP-means in the feature space of a kernel (Kulis & Jordan 2012, §5.2)."""

from functools import partial
from typing import Any, Self

import scipy.sparse as sp

from kfree.core.fields import ClusterIds, Count, History, NotNegative, Number, NumberOfClusters, RowLabels
from kfree.core.label_order import LABEL_ORDERS, published_order
from kfree.core.spaces import DUAL
from kfree.core.stats import Labels
from kfree.engines.kernel.engine import KernelRows
from kfree.engines.kernel.gram import Gram
from kfree.estimators._base import (
    ClusterEstimator,
    or_new,
    publish,
    require_rows,
    rows_like_those_of_fit,
)
from kfree.estimators._by_centres import history_of
from kfree.estimators._keywords import keyword_only
from kfree.estimators._monitoring import monitored, with_callbacks
from kfree.estimators.dp_means import PENALISED, penalised
from kfree.explain.advice import warn_out_of_reach
from kfree.explain.view import view_by_distances
from kfree.models.kernel import OUT_OF_REACH, KernelModel
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.path.staircase import Staircase
from kfree.search.penalised import PenalisedSearch
from kfree.validation.frames import printed_names, require_names
from kfree.validation.kernels import (
    require_digits,
    require_positive_semidefinite,
    require_similar_weights,
    validated_kernel,
    validated_matrix,
)
from kfree.validation.parameters import check, choice, count
from kfree.validation.rows import validated_rows, validated_weights

# Number of rows on which a kernel is checked for negative eigenvalues.
_PROBED = 200
CONSTRAINTS = (
    choice("search", ["split-merge", "sweep"]),
    *PENALISED,
    count("max_iter"),
    choice("label_order", LABEL_ORDERS),
)


class KernelDPMeans(ClusterEstimator):
    """DP-means on kernel values: clusters are compact in feature space and may have any shape in the space of X.

    Minimises J = Σ w·‖φ(x) − centre‖² + lam·k, where ⟨φ(x), φ(y)⟩ = κ(x, y) and a centre is a mean of images φ(x),
    which is never formed.

    Parameters
    ----------
    lam : float > 0, "auto" or "farthest-first", default="auto"
        The penalty of a cluster, in units of squared distance in feature space. ``"auto"`` uses the penalty best
        supported by the data, found in feature space as in :func:`kfree.lambda_path`.
    target_k : int or None, default=None
        The number of clusters to aim at, as in :class:`DPMeans`.
    kernel : str or callable, default="rbf"
        A name accepted by :func:`sklearn.metrics.pairwise.pairwise_kernels`, a function of two rows, or
        ``"precomputed"``: then X holds the kernel values between all rows.
    gamma : float or None, default=None
        Parameter of the kernels rbf, polynomial, sigmoid, laplacian and chi2. None is one over the summed variance of
        the columns for rbf, and scikit-learn's own choice for the others.
    degree : float, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=1
        The constant term of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Further arguments for a kernel that is a function.
    search : {"split-merge", "sweep"}, default="split-merge"
    patience : int, default=0
    time_budget : float or None, default=None
    order : {"given", "random"}, default="given"
    max_iter : int, default=300
    max_clusters : int or None, default=None
    verbose : {0, 1}, default=0
    on_interrupt : {"raise", "keep"}, default="raise"
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the heaviest first, ties in the order of their first rows; or the oldest first.
    random_state : int, RandomState or None, default=None
        These are the parameters of :class:`kfree.DPMeans`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    cluster_ids_ : ndarray of shape (n_clusters_,)
        Numbers that clusters keep from when they are opened; missing numbers belong to removed clusters.
    n_clusters_ : int
    lam_ : float
        The penalty that was used.
    path_ : Staircase or None
        The path that ``lam="auto"`` chose from; None if ``lam`` is a number or ``target_k`` was given.
    inertia_ : float
        Weighted squared distances of the rows to their centres, in feature space.
    cost_ : float
        J, that is inertia_ + lam_·n_clusters_.
    cost_history_ : ndarray
        J after every sweep, or after every move that lowered it. Never rises; the last value is ``cost_``.
    n_iter_ : int
    converged_ : bool
        Whether the search stopped because no sweep or move lowers J.
    stop_reason_ : str
        Why the search ended: "converged", "max_iter", "time_budget", "interrupt" or "callback".
    n_kernel_values_ : int
        Kernel values that were computed.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    Kernel values are kept up to 11,585 rows (1 GiB) if they take at most half of the available memory, which is not
    asked for up to 4,096 rows (128 MiB). Others are computed in blocks of 16 MiB whenever they are needed. Besides, a
    fit takes some ten arrays of 16 bytes per row and cluster; ``lam="auto"`` begins with a few hundred clusters.

    With ``kernel="linear"`` labels and cost are those of :class:`kfree.DPMeans`, but for ties that rounding decides.

    Examples
    --------
    A ring around a small cluster, which squared lengths tell apart though their means are the same:

    >>> import numpy as np
    >>> from kfree import KernelDPMeans
    >>> angle = np.linspace(0, 6, 60)
    >>> X = np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), np.full((20, 2), 0.1)])
    >>> model = KernelDPMeans(lam=5, kernel=lambda x, y: (x @ x) * (y @ y)).fit(X)
    >>> model.n_clusters_, len(set(model.labels_[:60])), len(set(model.labels_[60:]))
    (2, 1, 1)
    """

    labels_: RowLabels
    cluster_ids_: ClusterIds
    n_clusters_: NumberOfClusters
    lam_: NotNegative
    path_: Staircase | None
    inertia_: Number
    cost_: Number
    cost_history_: History
    n_iter_: Count
    converged_: bool
    stop_reason_: str
    n_kernel_values_: Count
    _model_: KernelModel

    @keyword_only
    def __init__(
        self,
        *,
        lam: float | str = "auto",
        target_k: int | None = None,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        search: str = "split-merge",
        patience: int = 0,
        time_budget: float | None = None,
        order: str = "given",
        max_iter: int = 300,
        max_clusters: int | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
        label_order: str = "size",
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.target_k = target_k
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.search = search
        self.patience = patience
        self.time_budget = time_budget
        self.order = order
        self.max_iter = max_iter
        self.max_clusters = max_clusters
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.label_order = label_order
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or, if precomputed, (n_samples, n_samples)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0, differing by a factor of 1e10 at most; a row of weight zero gets a label and changes nothing
            else.

        Returns
        -------
        self : KernelDPMeans
        """
        check(self, CONSTRAINTS)
        rows, weight, kernel = self._validated(X, sample_weight)
        search = penalised(self, PenalisedSearch, partial(DPMeansObjective, space=DUAL), self.lam)
        with monitored(self) as monitor:
            result = search(KernelRows(Gram(rows, kernel), weight), monitor)
        order = published_order(self.label_order, result.labels, result.state.stats.n, weight)
        model, labels = KernelModel.of(result, kernel, rows, weight, order)
        found = history_of(result) | {
            "_model_": model,
            "labels_": labels,
            "cluster_ids_": result.state.sites.uids[order],
            "n_clusters_": len(order),
            "lam_": result.objective.lam,
            "path_": result.path,
            "n_kernel_values_": result.rows.gram.n_values,
        }
        del found["n_distances_"], found["engine_"]
        return publish(self, X, found)

    def predict(self, X: Any, allow_new: bool = False) -> Labels:
        """Label each row by its nearest centre in feature space; on the data of ``fit`` this is ``labels_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            If precomputed, kernel values between these rows and those of ``fit``.
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1: it is farther from every centre than all but one in
            a thousand rows of a cluster. The same holds for rows so
            far from all rows of ``fit`` that their rbf or laplacian kernel values vanish.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        rows = rows_like_those_of_fit(self, X)
        labels, largest = self._model_.labels(rows)
        labels = or_new(self, labels, X, allow_new)
        if self._model_.fades and allow_new:
            labels[largest < OUT_OF_REACH] = -1
        elif self._model_.fades:
            warn_out_of_reach(largest, OUT_OF_REACH, type(self).__name__)
        return labels

    def _validated(self, X, sample_weight):
        """Rows, weights and kernel of a fit, in the form that rows of a kernel take."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            rows = validated_matrix(X, "kernel", self)
            rows = rows.toarray() if sp.issparse(rows) else rows
        else:
            rows = validated_rows(X, self)
        require_names(X)
        weight = validated_weights(sample_weight, rows.shape[0])
        require_similar_weights(weight)
        kernel = validated_kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params, rows, weight)
        probed = rows if kernel.precomputed else rows[:: max(1, rows.shape[0] // _PROBED)]
        values, what = kernel.between(probed, probed), f"the kernel ({self.kernel!r})"
        require_digits(values, probed, what)
        require_positive_semidefinite(values, what)
        return rows, weight, kernel

    def _view(self, X):
        require_rows(X, self)
        labels, rows = self.predict(X), rows_like_those_of_fit(self, X)
        told = {"distance": "distance to the centre in feature space"}
        if not self._model_.kernel.precomputed:
            told |= {"columns": rows, "names": printed_names(X, self)}
        return view_by_distances(self._model_.distances(rows), labels, self._model_.centre_points, **told)

    def _distances(self, X):
        return self._model_.distances(rows_like_those_of_fit(self, X))
