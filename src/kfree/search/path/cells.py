"""Which rows lie between two centres: pairs of neighbours, and the convex cell around the segment that joins a pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kfree.core.spaces import EUCLIDEAN, Space, spanned
from kfree.core.stats import Floats, Index


class Segments(NamedTuple):
    """The segments between ``pairs`` (m, 2) of centres, which are ``gap`` (m,) long.

    ``projection`` (m, k) says for every centre which point of a segment is nearest to it, from 0 at the first centre of
    the pair to 1 at the second.
    """

    pairs: Index
    gap: Floats
    projection: Floats


def neighbours(sq_gap: Floats, n_nearest: int = 1) -> Segments:
    """Each centre with its nearest ones, every pair once, given squared distances between all centres (k, k)."""
    k = len(sq_gap)
    apart = sq_gap.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(n_nearest, k - 1)]
    one = np.arange(k)[:, None]
    first, second = np.divmod(np.unique(np.minimum(one, nearest) * k + np.maximum(one, nearest)), k)
    own = sq_gap[first, second]
    first, second, own = first[own > 0], second[own > 0], own[own > 0]
    projection = np.clip((sq_gap[first] - sq_gap[second] + own[:, None]) / (2 * own)[:, None], 0, 1)
    return Segments(np.column_stack([first, second]), np.sqrt(own), projection)


def span_of(centres: Floats, sq_gap: Floats, space: Space) -> Floats | None:
    """Combinations (k, r) of the centres that are an orthonormal basis of their affine span.

    None where every row lies in that span, as with many more centres than columns.
    """
    k, n_columns = centres.shape
    if space is EUCLIDEAN and k > n_columns:
        about_mean = centres - centres.mean(axis=0)
        if int(np.linalg.matrix_rank(about_mean)) == n_columns:
            return None
        # The scatter of few columns has the eigenvalues that the inner products of many centres have.
        sq_length, axes = np.linalg.eigh(about_mean.T @ about_mean)
        kept = sq_length > k * np.finfo(float).eps * sq_length[-1]
        return np.asarray(about_mean @ axes[:, kept] / sq_length[kept])
    sq_norm = _sq_norms_about_mean(sq_gap)
    return spanned((sq_norm[:, None] + sq_norm - sq_gap) / 2)[0]


def off_span(sq_dist: Floats, sq_gap: Floats, span: Floats) -> Floats:
    """Squared distances of rows (n,) from the ``span`` of the centres, given those to the centres (n, k).

    With more columns than centres, most of a row's distance to any line between centres is noise that all clusters
    share. The component orthogonal to the span can be left out: the marginal of a log-concave density is log-concave.
    """
    sq_norm, mean = _sq_norms_about_mean(sq_gap), sq_dist.mean(axis=1)
    mean_norm = sq_norm.mean()
    towards = mean[:, None] - sq_dist
    towards += sq_norm - mean_norm
    towards /= 2
    inside = ((towards @ span) ** 2).sum(axis=1)
    return np.asarray(np.maximum(mean - mean_norm - inside, 0.0))


def _sq_norms_about_mean(sq_gap: Floats) -> Floats:
    """Squared distances of the centres (k,) to their mean."""
    return np.asarray(sq_gap.mean(axis=1) - sq_gap.mean() / 2)
