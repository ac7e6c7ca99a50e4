"""SpectralDPMeans: the spectral relaxation of DP-means (Kulis & Jordan 2012, §5.1)."""

from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from kfree.core.fields import NotNegative, Number, NumberOfClusters, RowLabels
from kfree.core.frame import Frame, require_differences
from kfree.core.label_order import LABEL_ORDERS
from kfree.core.marks import FINITE, Shape
from kfree.core.stats import Floats, Labels
from kfree.estimators._base import (
    ClusterEstimator,
    or_new,
    publish,
    require_rows,
    rows_like_those_of_fit,
)
from kfree.estimators._keywords import keyword_only
from kfree.explain.advice import warn_out_of_reach
from kfree.explain.spread import FALSE_ALARMS
from kfree.explain.view import view_by_distances
from kfree.models.embedding import EmbeddingModel, clustered, placed, seen, spreads_of, warn_about
from kfree.native.threads import one_blas_thread
from kfree.spectral.affinity import Affinity, Gaussian, Given, LocalGaussian, Neighbours, Products
from kfree.spectral.counts import Certificate
from kfree.spectral.spectrum import above, at_widest_step, of_number
from kfree.validation.frames import printed_names, require_names
from kfree.validation.kernels import validated_matrix
from kfree.validation.parameters import (
    check,
    choice,
    count,
    is_auto,
    is_positive_number,
    random_generator,
    require,
    rule,
    whole,
)
from kfree.validation.rows import validated_rows, validated_weights

# Affinity → whether it is divided by the square roots of both degrees if ``normalize`` is None.
AFFINITIES = {"rbf": True, "nearest_neighbors": True, "precomputed": False, "linear": False}
KINDS: dict[str, tuple[type[Affinity], ...]] = {
    "rbf": (LocalGaussian, Gaussian),
    "nearest_neighbors": (Neighbours,),
    "precomputed": (Given,),
    "linear": (Products,),
}
# The largest number of rows of which "auto" takes all affinities. benchmarks/kernel_spectral.py compares both.
MOST_DENSE = 1000
CONSTRAINTS = (
    rule("lam", lambda e: is_auto(e.lam) or is_positive_number(e.lam), "a finite number > 0, or 'auto'"),
    count("target_k", or_none=True),
    rule("target_k", lambda e: e.target_k is None or is_auto(e.lam), "None with a lam that is a number"),
    choice("affinity", ["auto", *AFFINITIES]),
    choice("label_order", LABEL_ORDERS),
    rule("gamma", lambda e: e.gamma is None or is_positive_number(e.gamma), "a finite number > 0 or None"),
    rule(
        "gamma",
        lambda e: e.gamma is None or e.affinity in ("auto", "rbf"),
        lambda e: f"None with affinity={e.affinity!r}",
    ),
    count("n_neighbors"),
    rule("normalize", lambda e: e.normalize in (None, True, False), "True, False or None"),
)

# One number per eigenvalue for each row of the fit.
PerEigenvalue = Annotated[Floats, Shape("n", "eigenvalues"), FINITE]


class SpectralDPMeans(ClusterEstimator):
    """Spectral DP-means: clusters of any shape, as many as an affinity matrix has eigenvalues above ``lam``.

    With K a kernel matrix, DP-means maximises tr(YᵀKY) − lam·k over normalised indicators Y of k clusters. Over all
    orthonormal Y, the maximum is at the eigenvectors of K with eigenvalues above lam (Kulis & Jordan 2012, Theorem
    5.2). k-means then divides the rows of these eigenvectors into as many clusters.

    Parameters
    ----------
    lam : float > 0 or "auto", default="auto"
        The penalty of a cluster, in units of eigenvalues. A normalised affinity has eigenvalues up to one, and about as
        many close to one as there are clusters. ``"auto"`` uses the middle of the widest gap of the spectrum.
    target_k : int or None, default=None
        The number of clusters to aim at. With ``lam="auto"`` the penalty is between the eigenvalue of this rank and the
        next.
    affinity : {"auto", "rbf", "nearest_neighbors", "precomputed", "linear"}, default="auto"
        The affinity of two rows:

        - ``"auto"``: ``"nearest_neighbors"`` above 1,000 rows, else ``"rbf"``; ``"rbf"`` wherever ``gamma`` or weights
          are given, which neighbours do not have. ``affinity_`` is the one that was used.
        - ``"rbf"``: exp(−gamma·‖x − y‖²); if gamma is None, exp(−2·‖x − y‖²/(σ_x·σ_y))/(σ_x·σ_y)², where σ is the
          distance of a row to its 10th neighbour.
        - ``"nearest_neighbors"``: 1/(σ_x·σ_y)² if both are among the ``n_neighbors`` of each other, half of that if
          only one is, else 0; σ is the distance to the last of them. Sparse; use it for many rows.
        - ``"precomputed"``: X itself, dense or sparse.
        - ``"linear"``: XXᵀ of the rows as given, which is never formed.
    gamma : float or None, default=None
        For ``"rbf"``.
    n_neighbors : int, default=10
        For ``"nearest_neighbors"``.
    normalize : bool or None, default=None
        Divide affinities by the square roots of the sums of both rows (Ng, Jordan & Weiss 2002). None means True for
        ``"rbf"`` and ``"nearest_neighbors"``, else False.
    label_order : {"size", "found"}, default="size"
        How clusters are numbered: the largest first, ties in the order of their first rows; or all in the order of
        their first rows.
    random_state : int, RandomState or None, default=None
        Seed for certificates that need a random start; 0 if None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit``, computed at first access, while these rows are still in memory.
    n_clusters_ : int
        The number of eigenvalues above ``lam_``, or 1.
    affinity_ : str
        The affinity that was used.
    lam_ : float
        The penalty that was used.
    eigenvalues_ : ndarray
        All eigenvalues above ``lam_``, falling.
    eigenvectors_ : ndarray of shape (n_samples, number of eigenvalues)
    embedding_ : ndarray of the same shape
        Rows of the eigenvectors, scaled to unit length unless ``affinity="linear"``; k-means clusters these.
    relaxed_bound_ : float
        Σ(eigenvalue − lam_): an upper bound on tr(YᵀKY) − lam_·k for every clustering. So no clustering has a DP-means
        cost below ``trace_`` − ``relaxed_bound_``.
    trace_ : float
        Sum of the diagonal of K.
    certificate_ : Certificate
        Evidence that no eigenvalue above ``lam_`` is missing: ``method``; ``n_above``, their number as counted without
        any eigensolver; ``risk``, the probability that there are more, 0 for a proof; ``margin``, how near to lam_ an
        eigenvalue would have to lie for rounding to matter.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    Eigenvalues above lam_ are counted by Sylvester's law of inertia from a factorisation of lam_·I − K, dense up to
    4,096 rows, sparse as long as that has less than 3·10⁷ numbers. Else, Lanczos from a random start bounds what is
    left when the found ones are taken out (Kuczyński & Woźniakowski 1992). For ``"linear"`` the whole spectrum is
    computed from the smaller of XᵀX and XXᵀ.

    Dense affinities are kept up to 11,585 rows (1 GiB) if they take at most half of the available memory, which is not
    asked for up to 4,096 rows (128 MiB). Others are computed anew in blocks of 16 MiB for every product with a vector.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import SpectralDPMeans
    >>> angle = np.linspace(0, 6.2, 200)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.vstack([circle, 2 * circle])
    >>> model = SpectralDPMeans().fit(X)
    >>> model.n_clusters_, len(set(model.labels_[:200])), len(set(model.labels_[200:]))
    (2, 1, 1)
    >>> model.certificate_.method, model.certificate_.n_above
    ('inertia (dense LDLᵀ)', 2)
    """

    labels_: RowLabels
    n_clusters_: NumberOfClusters
    lam_: NotNegative
    eigenvalues_: Annotated[Floats, Shape("eigenvalues"), FINITE]
    eigenvectors_: PerEigenvalue
    embedding_: PerEigenvalue
    relaxed_bound_: Number
    trace_: Number
    certificate_: Certificate
    _model_: EmbeddingModel

    @keyword_only
    def __init__(
        self,
        *,
        lam: float | str = "auto",
        target_k: int | None = None,
        affinity: str = "auto",
        gamma: float | None = None,
        n_neighbors: int = 10,
        normalize: bool | None = None,
        label_order: str = "size",
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.target_k = target_k
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.normalize = normalize
        self.label_order = label_order
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or, if precomputed, (n_samples, n_samples)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0: a row of weight 2 counts as two equal rows, in degrees, in the spectrum and in k-means. A row
            of weight zero gets a label and changes nothing else. Not for ``affinity="nearest_neighbors"``, where equal
            rows are each other's neighbours and leave no links to others.

        Returns
        -------
        self : SpectralDPMeans
        """
        check(self, CONSTRAINTS)
        all_rows = self._validated(X)
        rows, weight, counts = self._counted(all_rows, sample_weight)
        name = self._name_of_affinity(rows, weight)
        frame = _frame(name, rows)
        affinity = self._affinity(name, seen(rows, frame), weight)
        normalised = AFFINITIES[name] if self.normalize is None else self.normalize
        rng = random_generator(self.random_state, if_none=0)
        with one_blas_thread():  # of 3,000 rows, two threads take the same time and twice that of processors
            matrix, degrees = affinity.matrix(normalised, rng, weight)
            spectrum = self._spectrum(matrix, normalised)
        warn_about(spectrum, matrix, self.target_k)
        # Eigenvectors of repeated rows: each of w equal rows has 1/√w of the entry.
        vectors = spectrum.vectors if weight is None else spectrum.vectors / np.sqrt(weight)[:, None]
        embedding, n_clusters = placed(vectors, affinity), max(1, spectrum.vectors.shape[1])
        by_centres, labels = None, np.zeros(len(embedding), dtype=np.int32)
        if n_clusters > 1:
            by_centres, labels = clustered(embedding, weight, self.label_order)
        spreads = None if self.affinity == "precomputed" else spreads_of(rows, labels, n_clusters)
        kept = None if spreads is None else rows
        places = vectors, spectrum.values, degrees, weight, counts
        model = EmbeddingModel(affinity, frame, *places, by_centres, n_clusters, kept, labels, spreads)
        labels, vectors = (labels, vectors) if counts is None else _with_others(model, all_rows, labels)
        found = {
            "_model_": model,
            "labels_": labels,
            "n_clusters_": n_clusters,
            "lam_": spectrum.lam,
            "eigenvalues_": spectrum.values,
            "eigenvectors_": vectors,
            "embedding_": placed(vectors, affinity),
            "relaxed_bound_": float((spectrum.values - spectrum.lam).sum()),
            "trace_": matrix.trace,
            "certificate_": spectrum.certificate,
        }
        return publish(self, X, found)

    @property
    def affinity_(self):
        check_is_fitted(self)
        return next(name for name, kinds in KINDS.items() if isinstance(self._model_.affinity, kinds))

    def predict(self, X: Any, allow_new: bool = False) -> Labels:
        """Labels for new rows, by Nyström's formula; on the data of ``fit`` this is ``labels_``.

        Their place in the embedding is K(new, fitted)·V/λ, as it is for the rows of ``fit``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            If precomputed, affinities between these rows and those of ``fit``.
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1: its fifth neighbour in every cluster is farther than
            that of all but one in a thousand rows of that cluster. Not for precomputed affinities.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        rows = rows_like_those_of_fit(self, X)
        labels, largest = self._model_.labels(rows)
        if self.affinity_ == "rbf" and not allow_new:
            warn_out_of_reach(largest, np.finfo(np.float64).tiny, type(self).__name__)
        return or_new(self, labels, X, allow_new)

    def outlier_score(self, X: Any, false_alarms: float = FALSE_ALARMS) -> Floats:
        """The distance of each row to its fifth neighbour in a cluster, relative to those of the cluster's rows.

        This is the distance over the one that a share of ``false_alarms`` of the cluster's rows exceeds, the least over
        all clusters; above 1, the row belongs to no cluster. Not for precomputed affinities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        false_alarms : float, default=0.001
            The share of rows of a cluster with a score above 1, if the distances have a Pareto tail. Of Gaussian
            clusters with 60 to 2,000 rows and 1 to 10 columns, up to two in a thousand rows score above 1 at the
            default.

        Returns
        -------
        scores : ndarray of shape (n_samples,)

        Notes
        -----
        The tail is fitted to the median and the 90 % quantile of the distances in each cluster, so that far rows among
        those of ``fit`` raise the limit unless they are few. Clusters of fewer than five rows are ignored. Rows count
        once, whatever their weight.
        """
        return super().outlier_score(X, false_alarms)

    def _validated(self, X):
        rows = validated_matrix(X, "affinity", self) if self.affinity == "precomputed" else validated_rows(X, self)
        require_names(X)
        return rows.astype(np.float64, copy=False)

    def _counted(self, rows, sample_weight):
        """The rows of positive weight, their weights, and which rows these are, None for all."""
        refused = sample_weight is not None and self.affinity == "nearest_neighbors"
        require(not refused, "sample_weight", "[…]", "None with affinity='nearest_neighbors'; use affinity='rbf'")
        weight = validated_weights(sample_weight, rows.shape[0])
        if weight is None or (weight > 0).all():
            return rows, weight, None
        counts = weight > 0
        rows = rows[counts]
        return rows[:, counts] if self.affinity == "precomputed" else rows, weight[counts], counts

    def _name_of_affinity(self, rows, weight):
        """The affinity that "auto" stands for: that of neighbours for many rows, where neighbours will do."""
        if self.affinity != "auto":
            return self.affinity
        neighbours_do = self.gamma is None and weight is None
        return "nearest_neighbors" if neighbours_do and rows.shape[0] > MOST_DENSE else "rbf"

    def _affinity(self, name, rows, weight):
        if name == "rbf":
            return LocalGaussian.of(rows, weight) if self.gamma is None else Gaussian(rows, self.gamma)
        if name == "nearest_neighbors":
            return Neighbours.of(rows, whole(self.n_neighbors))
        return Given(rows) if name == "precomputed" else Products(rows)

    def _spectrum(self, matrix, normalised):
        """The eigenvalues above the penalty that was given, chosen for ``target_k`` or found."""
        if self.lam != "auto":
            return above(matrix, float(self.lam))
        if self.target_k is None:
            return at_widest_step(matrix, normalised)
        require(self.target_k <= matrix.n_rows, "target_k", self.target_k, f"at most the {matrix.n_rows} rows of X")
        return of_number(matrix, whole(self.target_k), normalised)

    def _view(self, X):
        require_rows(X, self)
        labels, rows = self.predict(X), rows_like_those_of_fit(self, X)
        told = {"distance": "Euclidean distance to the centre in the embedding"}
        if not self._model_.is_precomputed:
            told |= {"columns": rows, "names": printed_names(X, self)}
        return view_by_distances(self._model_.distances(rows), labels, self._model_.public_centres, **told)

    def _distances(self, X):
        return self._model_.neighbours(rows_like_those_of_fit(self, X))


def _frame(affinity, rows):
    """Where affinities depend on distances alone, coordinates around the mean of dense rows."""
    if affinity not in ("rbf", "nearest_neighbors"):
        return None
    if sp.issparse(rows):
        require_differences(rows)
        return None
    return Frame.about(rows)


def _with_others(model, all_rows, labels):
    """Labels and eigenvectors of all rows; those of rows of weight zero are by Nyström's formula."""
    counts, k = model.counts, model.vectors.shape[1]
    everywhere, vectors = np.zeros(len(counts), dtype=np.int32), np.empty((len(counts), k))
    everywhere[counts], vectors[counts] = labels, model.vectors
    others = np.flatnonzero(~counts)
    for places, found, _ in model.embedded(all_rows[others]):
        vectors[others[places]] = found
    if model.by_centres is not None:
        everywhere[others] = model.by_centres.labels(placed(vectors[others], model.affinity), "auto", None)
    return everywhere, vectors
