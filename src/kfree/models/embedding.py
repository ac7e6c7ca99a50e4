"""Clusters in the embedding of spectral clustering: where rows lie there, and which cluster is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from sklearn.neighbors import NearestNeighbors

from kfree.core.blocks import blocks
from kfree.core.fields import NumberOfClusters
from kfree.core.frame import Frame
from kfree.core.label_order import published_order
from kfree.core.marks import FINITE, AtLeast, Below, OneOf, Renamed, Shape, require
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Mask, members_of, totals
from kfree.core.warning import warn
from kfree.engines.registry import open_engine
from kfree.explain.spread import NeighbourSpreads, neighbour_spreads
from kfree.explain.view import Blocks
from kfree.models.centres import CentreModel
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.lloyd import LloydSearch, given
from kfree.search.monitor import Monitor
from kfree.search.result import Result
from kfree.spectral.affinity import AFFINITIES, Affinity, Given, Products
from kfree.spectral.matrices import Matrix
from kfree.spectral.spectrum import Spectrum

# The distance of a row to a cluster is that to this nearest neighbour in it.
_NEIGHBOUR = 5
# Eigenvalues are divided by; those of a fit lie above a penalty that is positive.
_POSITIVE = AtLeast(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class EmbeddingModel:
    """The place of a row in the embedding is K(row, fitted)·vectors/eigenvalues, by Nyström's formula.

    ``by_centres`` are the clusters there, None for a single one. ``degrees`` are those of the fitted rows, None where
    affinities are not normalised. ``counts`` says which rows of the fit had weight, None for all. ``rows`` and
    ``spreads`` tell outliers; None where affinities are precomputed.
    """

    affinity: Annotated[Affinity, OneOf(AFFINITIES)]
    frame: Annotated[Frame | None, Renamed({"d": "f"})]
    vectors: Annotated[Floats, Shape("fitted", "eigenvalues"), FINITE]
    eigenvalues: Annotated[Floats, Shape("eigenvalues"), _POSITIVE]
    degrees: Annotated[Floats | None, Shape("fitted"), _POSITIVE]
    weight: Annotated[Floats | None, Shape("fitted"), _POSITIVE]
    counts: Annotated[Mask | None, Shape("n")]
    by_centres: Annotated[CentreModel | None, Renamed({"d": "eigenvalues"})]
    n_clusters: NumberOfClusters
    rows: Annotated[ArrayOrCSR | None, Shape("fitted", "f"), FINITE]
    row_labels: Annotated[Labels, Shape("fitted"), Below("k")]
    spreads: NeighbourSpreads | None

    def _restored(self) -> None:
        is_given, n_clusters = type(self.affinity) is Given, 1 if self.by_centres is None else len(self.eigenvalues)
        ok = is_given == (self.rows is None) == (self.spreads is None) and n_clusters == self.n_clusters
        require(ok, "model", "has parts that are not those of one affinity and number of clusters")

    @property
    def is_precomputed(self) -> bool:
        return self.spreads is None

    def embedded(self, rows: ArrayOrCSR) -> Iterator[tuple[slice, Floats, Floats]]:
        """Places of rows in the embedding, and their largest affinities, block by block."""
        rows = seen(rows, self.frame)
        for places in blocks(rows.shape[0], len(self.vectors)):
            part = rows[places]
            if self.is_precomputed and self.counts is not None:
                part = part[:, self.counts]
            values = self.affinity.to_new(part)
            largest = np.asarray(
                abs(values).max(axis=1).todense() if sp.issparse(values) else values.max(axis=1)
            ).ravel()
            if self.weight is not None:
                values = values @ sp.diags_array(self.weight) if sp.issparse(values) else values * self.weight
            if self.degrees is not None:
                values = _normalised(values, self.degrees)
            yield places, values @ (self.vectors / self.eigenvalues), largest

    def labels(self, rows: ArrayOrCSR) -> tuple[Labels, Floats]:
        """The cluster of each row, and its largest affinity; infinite where there is one cluster."""
        labels, largest = np.zeros(rows.shape[0], dtype=np.int32), np.full(rows.shape[0], np.inf)
        if self.by_centres is not None:
            for places, vectors, largest[places] in self.embedded(rows):
                labels[places] = self.by_centres.labels(placed(vectors, self.affinity), "auto", None)
        return labels, largest

    def distances(self, rows: ArrayOrCSR) -> Blocks:
        """Distances of rows to all clusters in the embedding, block by block."""
        if self.by_centres is None:  # one cluster, which is all of the embedding
            return [(slice(None), np.zeros((rows.shape[0], 1)))]
        model = self.by_centres
        return (
            (places, np.sqrt(model.sq_distances(placed(vectors, self.affinity), "auto", None)))
            for places, vectors, _ in self.embedded(rows)
        )

    @property
    def public_centres(self) -> Floats:
        """The centres in the embedding, by public label."""
        return np.zeros((1, 1)) if self.by_centres is None else self.by_centres.public_centres

    def neighbours(self, rows: ArrayOrCSR) -> Blocks:
        """Distances of rows to their fifth neighbour in each cluster, block by block."""
        if self.rows is None:
            raise ValueError(
                "affinity='precomputed' has no distances between rows, so that outliers are not defined; use another "
                "affinity, with rows as X."
            )
        return to_neighbours(rows, self.rows, self.row_labels, self.n_clusters)


def seen(rows: ArrayOrCSR, frame: Frame | None) -> ArrayOrCSR:
    """Rows in coordinates around their mean, so that a large offset loses no digits of their distances."""
    if frame is None:
        return rows
    return frame.inward(rows if isinstance(rows, np.ndarray) else rows.toarray())


def spreads_of(rows: ArrayOrCSR, labels: Labels, n_clusters: int) -> NeighbourSpreads:
    """How far rows usually are from their fifth neighbour in their own cluster."""
    return neighbour_spreads(labels, to_neighbours_within(rows, labels, n_clusters), n_clusters)


def clustered(embedding: Floats, weight: Floats | None, label_order: str) -> tuple[CentreModel, Labels]:
    """As many clusters as columns: k-means from the rows least like each other (Damle, Minden & Ying 2019)."""
    k = embedding.shape[1]
    seeds = qr(embedding.T, mode="r", pivoting=True)[1][:k]
    found = _k_means(embedding, weight, embedding[seeds])
    # The order of first rows does not depend on the signs of eigenvectors.
    order = np.argsort(np.unique(found.labels, return_index=True)[1])
    if label_order == "size":
        counts = np.ones(len(embedding)) if weight is None else weight
        order = published_order("size", found.labels, totals(found.labels, counts, k))
    centres = found.rows.frame.outward(found.state.sites.centres)[order]
    found = _k_means(embedding, weight, centres)
    model = CentreModel(found.rows.frame, found.state.sites.centres, np.arange(k), DPMeansObjective(0.0))
    return model, found.labels


def _k_means(points: Floats, weight: Floats | None, centres: Floats) -> Result:
    seeds = given(centres)
    search = LloydSearch(DPMeansObjective, len(centres), seeds, n_init=1, max_iter=1000, tol=0.0, random_state=None)
    found = search(open_engine("auto", points, weight=weight), Monitor())
    search.warn_of_limits(found.descent)
    return found


def to_neighbours(rows: ArrayOrCSR, known: ArrayOrCSR, labels: Labels, n_clusters: int) -> Blocks:
    """Distances of rows to the fifth nearest ``known`` row of each cluster, or the last; a row itself is the first."""
    distances = np.full((rows.shape[0], n_clusters), np.inf)
    for c, members in _members(labels, n_clusters):
        distances[:, c] = _to_fifth(rows, known[members])
    yield slice(None), distances


def to_neighbours_within(rows: ArrayOrCSR, labels: Labels, n_clusters: int) -> Floats:
    """The distance of each row to the fifth nearest row of its own cluster, or the last."""
    distances = np.empty(rows.shape[0])
    for _, members in _members(labels, n_clusters):
        distances[members] = _to_fifth(rows[members], rows[members])
    return distances


def _members(labels: Labels, n_clusters: int) -> list[tuple[int, Index]]:
    """The number of each cluster that has rows, and these."""
    return [(c, members) for c, members in enumerate(members_of(labels, n_clusters)) if len(members)]


def _to_fifth(rows: ArrayOrCSR, known: ArrayOrCSR) -> Floats:
    search = NearestNeighbors(n_neighbors=min(_NEIGHBOUR, known.shape[0])).fit(known)
    return np.asarray(search.kneighbors(rows)[0][:, -1])


def placed(vectors: Floats, affinity: Affinity) -> Floats:
    """Rows of eigenvectors where k-means clusters them.

    They are scaled to unit length (Ng, Jordan & Weiss 2002), but for XXᵀ: there DP-means' own relaxation leaves them as
    they are (Kulis & Jordan 2012, §5.1).
    """
    return vectors if isinstance(affinity, Products) else _unit_rows(vectors)


def _unit_rows(rows: Floats) -> Floats:
    """Rows scaled to unit length; rows of zeros stay."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def _normalised(values: ArrayOrCSR, degrees: Floats) -> ArrayOrCSR:
    """Affinities of new rows over the square roots of both degrees."""
    own = np.asarray(values.sum(axis=1)).ravel()
    own = 1.0 / np.sqrt(np.where(own > 0, own, 1.0))
    if sp.issparse(values):
        return sp.dia_array((own[None, :], 0), shape=(len(own),) * 2) @ values @ sp.diags_array(1.0 / np.sqrt(degrees))
    return values * own[:, None] / np.sqrt(degrees)


def warn_about(spectrum: Spectrum, matrix: Matrix, target_k: int | None) -> None:
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
