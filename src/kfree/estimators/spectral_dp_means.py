"""SpectralDPMeans: the spectral relaxation of DP-means (Kulis & Jordan 2012, §5.1)."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.core.frame import Frame
from kfree.engines.kernel.gram import blocks
from kfree.estimators._explained import Judging, column_names, require_rows, spreads_by, view_by_distances
from kfree.estimators._far import warn_out_of_reach
from kfree.estimators._kernels import validated_matrix
from kfree.estimators._order import LABEL_ORDERS, published_order
from kfree.estimators._validation import is_positive_number, require, require_choice, require_count, validated_rows
from kfree.estimators._warnings import warn
from kfree.estimators.k_means import KMeans
from kfree.spectral.affinity import Gaussian, Given, LocalGaussian, Neighbours, Products
from kfree.spectral.spectrum import above, at_widest_step, of_number

# The distance of a row to a cluster is that to this nearest neighbour in it.
_NEIGHBOUR = 5
# Affinity → whether it is divided by the square roots of both degrees if ``normalize`` is None.
AFFINITIES = {"rbf": True, "nearest_neighbors": True, "precomputed": False, "linear": False}


class SpectralDPMeans(Judging, ClusterMixin, BaseEstimator):
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

    def fit(self, X, y=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or, if precomputed, (n_samples, n_samples)
        y : ignored

        Returns
        -------
        self : SpectralDPMeans
        """
        self._check_parameters()
        rows = self._validated(X)
        frame = self._frame(rows)
        affinity = self._affinity(self._seen(rows, frame))
        normalised = AFFINITIES[self.affinity] if self.normalize is None else self.normalize
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        matrix, degrees = affinity.matrix(normalised, rng)
        spectrum = self._spectrum(matrix, normalised)
        self._warn(spectrum, matrix)
        self._publish(X, rows, affinity, degrees, matrix, spectrum)
        self._frame_ = frame
        return self

    def predict(self, X, allow_new=False):
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
        check_is_fitted(self)
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        labels = np.zeros(rows.shape[0], dtype=np.int32)
        if self._rows_model_ is None:
            return self._or_new(labels, X, allow_new)
        largest = np.empty(rows.shape[0])
        for places, embedded, largest[places] in self._embedded(rows):
            labels[places] = self._rows_model_.predict(embedded)
        if self.affinity == "rbf" and not allow_new:
            warn_out_of_reach(largest, np.finfo(np.float64).tiny, self)
        return self._or_new(labels, X, allow_new)

    def _embedded(self, rows):
        """Places of validated rows in the embedding, and their largest affinities, block by block."""
        rows = self._seen(rows, self._frame_)
        for places in blocks(rows.shape[0], len(self.embedding_)):
            values = self._affinity_.to_new(rows[places])
            largest = np.asarray(
                abs(values).max(axis=1).todense() if sp.issparse(values) else values.max(axis=1)
            ).ravel()
            if self._degrees_ is not None:
                values = _normalised(values, self._degrees_)
            yield places, _unit_rows(values @ (self.eigenvectors_ / self.eigenvalues_)), largest

    def _distances(self, X):
        """Distances of rows to their fifth neighbour in each cluster, block by block."""
        if self.affinity == "precomputed":
            raise ValueError(
                "affinity='precomputed' has no distances between rows, so that outliers are not defined; use another "
                "affinity, with rows as X."
            )
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        return _to_neighbours(rows, self._rows_, self.labels_, self.n_clusters_)

    def _view(self, X):
        require_rows(X, self)
        labels = self.predict(X)
        rows = validated_rows(X, self)
        told = {"distance": "Euclidean distance to the centre in the embedding"}
        if self.affinity != "precomputed":
            told |= {"columns": rows, "names": column_names(X, self)}
        if self._rows_model_ is None:  # one cluster, which is all of the embedding
            parts, centres = iter([(slice(None), np.zeros((len(labels), 1)))]), np.zeros((1, 1))
        else:
            parts = ((places, self._rows_model_.transform(embedded)) for places, embedded, _ in self._embedded(rows))
            centres = self._rows_model_.cluster_centers_
        return view_by_distances(parts, labels, centres, **told)

    def _check_parameters(self):
        is_auto = isinstance(self.lam, str) and self.lam == "auto"
        require(is_auto or is_positive_number(self.lam), "lam", self.lam, "a finite number > 0, or 'auto'")
        require_count("target_k", self.target_k, or_none=True)
        require(self.target_k is None or is_auto, "target_k", self.target_k, "None with a lam that is a number")
        require_choice("affinity", self.affinity, list(AFFINITIES))
        require_choice("label_order", self.label_order, LABEL_ORDERS)
        require(
            self.gamma is None or is_positive_number(self.gamma), "gamma", self.gamma, "a finite number > 0 or None"
        )
        require(
            self.gamma is None or self.affinity == "rbf", "gamma", self.gamma, f"None with affinity={self.affinity!r}"
        )
        require_count("n_neighbors", self.n_neighbors)
        is_flag = self.normalize is None or isinstance(self.normalize, (bool, np.bool_))
        require(is_flag, "normalize", self.normalize, "True, False or None")

    def _validated(self, X):
        rows = validated_matrix(X, "affinity", self) if self.affinity == "precomputed" else validated_rows(X, self)
        validate_data(BaseEstimator(), X, skip_check_array=True)  # column names that _publish could not keep
        return rows.astype(np.float64, copy=False)

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

    def _affinity(self, rows):
        if self.affinity == "rbf":
            return LocalGaussian(rows) if self.gamma is None else Gaussian(rows, self.gamma)
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

    def _warn(self, spectrum, matrix):
        if self.target_k is not None and len(spectrum.values) != self.target_k:
            warn(
                f"SpectralDPMeans found no penalty with target_k={self.target_k} eigenvalues above it, as some are "
                f"equal; lam_={spectrum.lam:g} gives {max(1, len(spectrum.values))}.",
                UserWarning,
            )
        if not len(spectrum.values):
            largest = float(matrix.leading(1)[0][0])
            warn(
                f"lam={spectrum.lam:g} is not below the largest eigenvalue, {largest:g}, so that all rows are one "
                "cluster; give a smaller lam, or 'auto'.",
                UserWarning,
            )
        certificate = spectrum.certificate
        if certificate.risk > 1e-6 or certificate.n_above != len(spectrum.values):
            warn(
                f"it could not be proved that {len(spectrum.values)} eigenvalue(s) are all above lam={spectrum.lam:g} "
                f"(certificate_: {certificate}). Others may be very close to it. Try another lam.",
                UserWarning,
            )

    def _publish(self, X, rows, affinity, degrees, matrix, spectrum):
        """Set all fitted attributes; called only after the fit has succeeded."""
        embedding = _unit_rows(spectrum.vectors)
        rows_model = _clustered(embedding, self.label_order) if embedding.shape[1] > 1 else None
        labels = np.zeros(len(embedding), dtype=np.int32) if rows_model is None else rows_model.labels_
        n_clusters, spreads = max(1, embedding.shape[1]), None
        if self.affinity != "precomputed":
            spreads = spreads_by(_to_neighbours(rows, rows, labels, n_clusters), labels, None)
        validate_data(self, X, skip_check_array=True, reset=True)
        self._affinity_, self._degrees_, self._rows_model_ = affinity, degrees, rows_model
        self._rows_, self._spreads_ = None if spreads is None else rows, spreads
        self.labels_, self.n_clusters_ = labels, n_clusters
        self.lam_ = spectrum.lam
        self.eigenvalues_, self.eigenvectors_, self.embedding_ = spectrum.values, spectrum.vectors, embedding
        self.relaxed_bound_ = float((spectrum.values - spectrum.lam).sum())
        self.trace_ = matrix.trace
        self.certificate_ = spectrum.certificate


def _clustered(embedding, label_order):
    """As many clusters as columns: k-means from the rows least like each other (Damle, Minden & Ying 2019)."""
    k = embedding.shape[1]
    seeds = qr(embedding.T, mode="r", pivoting=True)[1][:k]
    model = KMeans(k, init=embedding[seeds], tol=0, max_iter=1000, label_order="found").fit(embedding)
    # The order of first rows does not depend on the signs of eigenvectors.
    order = np.argsort(np.unique(model.labels_, return_index=True)[1])
    if label_order == "size":
        order = published_order("size", model.labels_, np.bincount(model.labels_, minlength=k))
    return model.set_params(init=model.cluster_centers_[order]).fit(embedding)


def _to_neighbours(rows, known, labels, n_clusters):
    """Distances of rows to the fifth nearest ``known`` row of each cluster, or the last; a row itself is the first."""
    distances = np.full((rows.shape[0], n_clusters), np.inf)
    for c in range(n_clusters):
        members = np.flatnonzero(labels == c)
        if len(members):
            search = NearestNeighbors(n_neighbors=min(_NEIGHBOUR, len(members))).fit(known[members])
            distances[:, c] = search.kneighbors(rows)[0][:, -1]
    yield slice(None), distances


def _unit_rows(rows):
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def _normalised(values, degrees):
    """Affinities of new rows over the square roots of both degrees."""
    own = np.asarray(values.sum(axis=1)).ravel()
    own = 1.0 / np.sqrt(np.where(own > 0, own, 1.0))
    if sp.issparse(values):
        return sp.dia_array((own[None, :], 0), shape=(len(own),) * 2) @ values @ sp.diags_array(1.0 / np.sqrt(degrees))
    return values * own[:, None] / np.sqrt(degrees)
