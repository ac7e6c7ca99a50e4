"""Where rows lie in the embedding of spectral clustering, and the clusters there."""

from collections.abc import Callable, Iterable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.core.frame import Frame
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Labels, totals
from kfree.core.warning import warn
from kfree.engines.kernel.gram import blocks
from kfree.estimators._explained import Judging, column_names, require_rows, view_by_distances
from kfree.estimators._far import warn_out_of_reach
from kfree.estimators._order import published_order
from kfree.estimators.k_means import KMeans
from kfree.explain.spread import FALSE_ALARMS
from kfree.spectral.affinity import Affinity
from kfree.validation.rows import validated_rows

# The distance of a row to a cluster is that to this nearest neighbour in it.
_NEIGHBOUR = 5


class InEmbedding(Judging):
    """For :class:`kfree.SpectralDPMeans`: labels of new rows by their place in the embedding."""

    affinity: str
    labels_: Labels
    n_clusters_: int
    eigenvalues_: Floats
    eigenvectors_: Floats
    embedding_: Floats
    _affinity_: Affinity
    _rows_model_: KMeans | None
    _frame_: Frame | None
    _rows_: ArrayOrCSR | None
    _row_labels_: Labels
    _vectors_: Floats
    _degrees_: Floats | None
    _weight_: Floats | None
    _counts_: NDArray[np.bool_] | None
    _seen: Callable[[ArrayOrCSR, Frame | None], ArrayOrCSR]

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
        for places, vectors, largest[places] in self._embedded(rows):
            labels[places] = self._rows_model_.predict(unit_rows(vectors))
        if self.affinity == "rbf" and not allow_new:
            warn_out_of_reach(largest, np.finfo(np.float64).tiny, self)
        return self._or_new(labels, X, allow_new)

    def outlier_score(self, X, false_alarms=FALSE_ALARMS):
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

    def _embedded(self, rows):
        """Nyström's formula for validated rows, and their largest affinities, block by block."""
        rows = self._seen(rows, self._frame_)
        for places in blocks(rows.shape[0], len(self._vectors_)):
            part = rows[places]
            if self.affinity == "precomputed" and self._counts_ is not None:
                part = part[:, self._counts_]
            values = self._affinity_.to_new(part)
            largest = np.asarray(
                abs(values).max(axis=1).todense() if sp.issparse(values) else values.max(axis=1)
            ).ravel()
            if self._weight_ is not None:
                values = values @ sp.diags_array(self._weight_) if sp.issparse(values) else values * self._weight_
            if self._degrees_ is not None:
                values = _normalised(values, self._degrees_)
            yield places, values @ (self._vectors_ / self.eigenvalues_), largest

    def _distances(self, X):
        """Distances of rows to their fifth neighbour in each cluster, block by block."""
        if self.affinity == "precomputed":
            raise ValueError(
                "affinity='precomputed' has no distances between rows, so that outliers are not defined; use another "
                "affinity, with rows as X."
            )
        rows = validated_rows(X, self)
        validate_data(self, X, skip_check_array=True, reset=False)
        return to_neighbours(rows, self._rows_, self._row_labels_, self.n_clusters_)

    def _view(self, X):
        require_rows(X, self)
        labels = self.predict(X)
        rows = validated_rows(X, self)
        told = {"distance": "Euclidean distance to the centre in the embedding"}
        if self.affinity != "precomputed":
            told |= {"columns": rows, "names": column_names(X, self)}
        parts: Iterable[tuple[slice, Floats]]
        if self._rows_model_ is None:  # one cluster, which is all of the embedding
            parts, centres = [(slice(None), np.zeros((len(labels), 1)))], np.zeros((1, 1))
        else:
            model = self._rows_model_
            parts = ((places, model.transform(unit_rows(vectors))) for places, vectors, _ in self._embedded(rows))
            centres = model.cluster_centers_
        return view_by_distances(parts, labels, centres, **told)

    def _label_others(self, all_rows, counts):
        """Extend the fitted arrays to rows of weight zero, by Nyström's formula."""
        vectors = np.empty((len(counts), self.eigenvectors_.shape[1]))
        vectors[counts] = self.eigenvectors_
        others = np.flatnonzero(~counts)
        for places, found, _ in self._embedded(all_rows[others]):
            vectors[others[places]] = found
        self.eigenvectors_, self.embedding_ = vectors, unit_rows(vectors)
        labels = np.zeros(len(counts), dtype=np.int32)
        labels[counts] = self.labels_
        if self._rows_model_ is not None:
            labels[others] = self._rows_model_.predict(self.embedding_[others])
        self.labels_ = labels


def clustered(embedding, weight, label_order):
    """As many clusters as columns: k-means from the rows least like each other (Damle, Minden & Ying 2019)."""
    k = embedding.shape[1]
    seeds = qr(embedding.T, mode="r", pivoting=True)[1][:k]
    model = KMeans(k, init=embedding[seeds], tol=0, max_iter=1000, label_order="found").fit(
        embedding, sample_weight=weight
    )
    # The order of first rows does not depend on the signs of eigenvectors.
    order = np.argsort(np.unique(model.labels_, return_index=True)[1])
    if label_order == "size":
        counts = np.ones(len(embedding)) if weight is None else weight
        order = published_order("size", model.labels_, totals(model.labels_, counts, k))
    return model.set_params(init=model.cluster_centers_[order]).fit(embedding, sample_weight=weight)


def to_neighbours(rows, known, labels, n_clusters):
    """Distances of rows to the fifth nearest ``known`` row of each cluster, or the last; a row itself is the first."""
    distances = np.full((rows.shape[0], n_clusters), np.inf)
    for c, members in _members(labels, n_clusters):
        distances[:, c] = _to_fifth(rows, known[members])
    yield slice(None), distances


def to_neighbours_within(rows, labels, n_clusters):
    """The same of each row to its own cluster alone."""
    distances = np.empty(rows.shape[0])
    for _, members in _members(labels, n_clusters):
        distances[members] = _to_fifth(rows[members], rows[members])
    return distances


def _members(labels, n_clusters):
    """The number of each cluster that has rows, and these."""
    by_cluster = ((c, np.flatnonzero(labels == c)) for c in range(n_clusters))
    return [(c, members) for c, members in by_cluster if len(members)]


def _to_fifth(rows, known):
    search = NearestNeighbors(n_neighbors=min(_NEIGHBOUR, known.shape[0])).fit(known)
    return search.kneighbors(rows)[0][:, -1]


def unit_rows(rows):
    """Rows scaled to unit length; rows of zeros stay."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def _normalised(values, degrees):
    """Affinities of new rows over the square roots of both degrees."""
    own = np.asarray(values.sum(axis=1)).ravel()
    own = 1.0 / np.sqrt(np.where(own > 0, own, 1.0))
    if sp.issparse(values):
        return sp.dia_array((own[None, :], 0), shape=(len(own),) * 2) @ values @ sp.diags_array(1.0 / np.sqrt(degrees))
    return values * own[:, None] / np.sqrt(degrees)


def warn_about(spectrum, matrix, target_k):
    """Warn of a number of clusters that was missed, of a single cluster, and of eigenvalues that may be missing."""
    if target_k is not None and len(spectrum.values) != target_k:
        warn(
            f"SpectralDPMeans found no penalty with target_k={target_k} eigenvalues above it, as some are "
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
