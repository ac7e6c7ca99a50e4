"""SpectralDPMeans: the spectral relaxation of DP-means (Kulis & Jordan 2012, §5.1)."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from kfree.core.frame import Frame
from kfree.estimators._embedding import InEmbedding, clustered, to_neighbours_within, unit_rows, warn_about
from kfree.estimators._order import LABEL_ORDERS
from kfree.explain.spread import neighbour_spreads
from kfree.spectral.affinity import Gaussian, Given, LocalGaussian, Neighbours, Products
from kfree.spectral.spectrum import above, at_widest_step, of_number
from kfree.validation.kernels import validated_matrix
from kfree.validation.parameters import is_positive_number, random_generator, require, require_choice, require_count
from kfree.validation.rows import validated_rows, validated_weights

# Affinity → whether it is divided by the square roots of both degrees if ``normalize`` is None.
AFFINITIES = {"rbf": True, "nearest_neighbors": True, "precomputed": False, "linear": False}


class SpectralDPMeans(InEmbedding, ClusterMixin, BaseEstimator):
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
    affinity : {"rbf", "nearest_neighbors", "precomputed", "linear"}, default="rbf"
        The affinity of two rows:

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
    lam_ : float
        The penalty that was used.
    eigenvalues_ : ndarray
        All eigenvalues above ``lam_``, falling.
    eigenvectors_ : ndarray of shape (n_samples, number of eigenvalues)
    embedding_ : ndarray of the same shape
        Rows of the eigenvectors, scaled to unit length; k-means clusters these.
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

    Dense affinities are kept up to 4,096 rows (128 MiB), and computed anew in blocks of 16 MiB for every product with a
    vector beyond that.

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

    def __init__(
        self,
        lam="auto",
        *,
        target_k=None,
        affinity="rbf",
        gamma=None,
        n_neighbors=10,
        normalize=None,
        label_order="size",
        random_state=None,
    ):
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
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags

    def fit(self, X, y=None, sample_weight=None):
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
        self._check_parameters()
        all_rows = self._validated(X)
        rows, weight, counts = self._counted(all_rows, sample_weight)
        frame = self._frame(rows)
        affinity = self._affinity(self._seen(rows, frame), weight)
        normalised = AFFINITIES[self.affinity] if self.normalize is None else self.normalize
        rng = random_generator(0 if self.random_state is None else self.random_state)
        matrix, degrees = affinity.matrix(normalised, rng, weight)
        spectrum = self._spectrum(matrix, normalised)
        warn_about(spectrum, matrix, self.target_k)
        self._publish(X, rows, weight, counts, frame, affinity, degrees, matrix, spectrum)
        if counts is not None:
            self._label_others(all_rows, counts)
        return self._remember(X)

    def _check_parameters(self):
        is_auto = isinstance(self.lam, str) and self.lam == "auto"
        require(is_auto or is_positive_number(self.lam), "lam", self.lam, "a finite number > 0, or 'auto'")
        require_count("target_k", self.target_k, or_none=True)
        require(self.target_k is None or is_auto, "target_k", self.target_k, "None with a lam that is a number")
        require_choice("affinity", self.affinity, list(AFFINITIES))
        require_choice("label_order", self.label_order, LABEL_ORDERS)
        given = self.gamma is not None
        require(not given or is_positive_number(self.gamma), "gamma", self.gamma, "a finite number > 0 or None")
        require(not given or self.affinity == "rbf", "gamma", self.gamma, f"None with affinity={self.affinity!r}")
        require_count("n_neighbors", self.n_neighbors)
        require(self.normalize in (None, True, False), "normalize", self.normalize, "True, False or None")

    def _validated(self, X):
        rows = validated_matrix(X, "affinity", self) if self.affinity == "precomputed" else validated_rows(X, self)
        validate_data(BaseEstimator(), X, skip_check_array=True)  # column names that _publish could not keep
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

    @staticmethod
    def _seen(rows, frame):
        """Rows in coordinates around their mean, so that a large offset loses no digits of their distances."""
        if frame is None:
            return rows
        return frame.inward(rows.toarray() if sp.issparse(rows) else rows)

    def _frame(self, rows):
        """Where affinities depend on distances alone, coordinates around the mean of dense rows."""
        of_distances = self.affinity in ("rbf", "nearest_neighbors")
        return Frame.about(rows) if of_distances and not sp.issparse(rows) else None

    def _affinity(self, rows, weight):
        if self.affinity == "rbf":
            return LocalGaussian(rows, weight) if self.gamma is None else Gaussian(rows, self.gamma)
        if self.affinity == "nearest_neighbors":
            return Neighbours(rows, self.n_neighbors)
        return Given(rows) if self.affinity == "precomputed" else Products(rows)

    def _spectrum(self, matrix, normalised):
        """The eigenvalues above the penalty that was given, chosen for ``target_k`` or found."""
        if self.lam != "auto":
            return above(matrix, float(self.lam))
        if self.target_k is None:
            return at_widest_step(matrix, normalised)
        require(self.target_k <= matrix.n_rows, "target_k", self.target_k, f"at most the {matrix.n_rows} rows of X")
        return of_number(matrix, self.target_k, normalised)

    def _publish(self, X, rows, weight, counts, frame, affinity, degrees, matrix, spectrum):
        """Set all fitted attributes; called only after the fit has succeeded."""
        # Eigenvectors of repeated rows: each of w equal rows has 1/√w of the entry.
        vectors = spectrum.vectors if weight is None else spectrum.vectors / np.sqrt(weight)[:, None]
        embedding = unit_rows(vectors)
        rows_model = clustered(embedding, weight, self.label_order) if embedding.shape[1] > 1 else None
        labels = np.zeros(len(embedding), dtype=np.int32) if rows_model is None else rows_model.labels_
        n_clusters, spreads = max(1, embedding.shape[1]), None
        if self.affinity != "precomputed":
            spreads = neighbour_spreads(labels, to_neighbours_within(rows, labels, n_clusters), n_clusters)
        validate_data(self, X, skip_check_array=True, reset=True)
        self._affinity_, self._degrees_, self._rows_model_, self._frame_ = affinity, degrees, rows_model, frame
        self._weight_, self._counts_, self._vectors_ = weight, counts, vectors
        self._rows_, self._row_labels_, self._spreads_ = None if spreads is None else rows, labels, spreads
        self.labels_, self.n_clusters_ = labels, n_clusters
        self.lam_ = spectrum.lam
        self.eigenvalues_, self.eigenvectors_, self.embedding_ = spectrum.values, vectors, embedding
        self.relaxed_bound_ = float((spectrum.values - spectrum.lam).sum())
        self.trace_ = matrix.trace
        self.certificate_ = spectrum.certificate
