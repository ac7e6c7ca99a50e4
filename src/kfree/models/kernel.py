"""Clusters in the feature space of a kernel: labels of rows and their distances to centres that are never formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.sparse as sp

from kfree.core.fields import PerCluster, RowsKept
from kfree.core.label_order import ranks
from kfree.core.marks import FINITE, Shape, require
from kfree.core.spaces import DUAL, spanned
from kfree.core.sparse import ArrayOrCSR, require_structure
from kfree.core.stats import Floats, Index, Labels
from kfree.engines.kernel.engine import ROUNDING
from kfree.engines.kernel.gram import Kernel
from kfree.explain.spread import Spreads, spread_sample
from kfree.search.result import Result

# Kernels that decrease from one to zero with distance.
_FADING = ("rbf", "laplacian")
# Below this kernel value to all rows of the fit, the norms of the centres decide which is nearest, and not the row.
OUT_OF_REACH = 1e-3


@dataclass(frozen=True)
class KernelModel:
    """Centres are combinations of the rows of the fit, with ``coefficients`` (k, n) and ``sq_norms`` (k,).

    ``rows`` are those of the fit, None for precomputed kernels. ``centre_points`` are coordinates of the centres with
    the distances that they have in feature space.
    """

    kernel: Kernel
    rows: RowsKept | None
    coefficients: Annotated[sp.csr_array, Shape("k", "n"), FINITE]
    sq_norms: PerCluster
    centre_points: Annotated[Floats, Shape("k", "directions"), FINITE]
    spreads: Spreads

    def _restored(self) -> None:
        require(self.kernel.precomputed == (self.rows is None), "rows", "are there unless the kernel is precomputed")

    @classmethod
    def of(
        cls,
        result: Result,
        kernel: Kernel,
        rows: ArrayOrCSR,
        weight: Floats | None,
        order: Index,
    ) -> tuple[KernelModel, Labels]:
        """The model of a search, whose clusters are published in this ``order``, and the labels of the rows."""
        n_rows, known = rows.shape[0], None if kernel.precomputed else rows
        centres = result.state.sites.centres[order]
        coefficients, sq_norms = sp.csr_array(centres[:, :n_rows]), DUAL.sq_norms(centres)
        own, products = _with_itself(kernel, rows), centres[:, :n_rows] @ centres[:, n_rows:].T
        _require_told_apart(products, own, ranks(order)[result.labels], result.objective.lam)
        points = spanned(products)[1]
        bare = cls(kernel, known, coefficients, sq_norms, points, Spreads(sq_norms, sq_norms))
        parts = [(places, offsets) for places, _, offsets in bare.offsets(rows)]
        labels = _as_predicted([offsets for _, offsets in parts], ranks(order)[result.labels])
        distances = ((places, _distances_from(offsets, own[places])) for places, offsets in parts)
        spreads = spread_sample(distances, labels, weight).spreads()
        return cls(kernel, known, coefficients, sq_norms, points, spreads), labels

    @property
    def fades(self) -> bool:
        """Whether kernel values of far rows vanish."""
        return isinstance(self.kernel.name, str) and self.kernel.name in _FADING

    def labels(self, rows: ArrayOrCSR) -> tuple[Labels, Floats]:
        """The nearest centre of each row, and its largest kernel value with a row of the fit."""
        labels, largest = np.empty(rows.shape[0], dtype=np.int32), np.empty(rows.shape[0])
        for places, values, offsets in self.offsets(rows):
            largest[places], labels[places] = values.max(axis=1), offsets.argmin(axis=1)
        return labels, largest

    def distances(self, rows: ArrayOrCSR) -> Iterator[tuple[slice, Floats]]:
        """Distances of rows to all centres in feature space, block by block."""
        sq_norms = _with_itself(self.kernel, rows)
        for places, _, offsets in self.offsets(rows):
            yield places, _distances_from(offsets, sq_norms[places])

    def offsets(self, rows: ArrayOrCSR) -> Iterator[tuple[slice, Floats, Floats]]:
        """Block by block: places, kernel values with the rows of the fit, and ‖φ(x) − c‖² but for κ(x, x), (m, k).

        κ(x, x) is the same for all centres, and adding it would take digits that tell which of them is nearest.
        """
        require_structure(self.coefficients, "coefficients")  # of a damaged model, SciPy would read beyond its arrays
        for places, values in self.kernel.to_all(rows, self.rows, self.coefficients.shape[1]):
            yield places, values, self.sq_norms - 2 * (self.coefficients @ values.T).T


def _require_told_apart(products: Floats, own: Floats, labels: Labels, lam: float) -> None:
    """Raise if two centres with these inner products are closer than rounding errors; ``own`` (n,) are κ(x, x)."""
    sq_norms, largest = products.diagonal(), np.zeros(len(products))
    np.maximum.at(largest, labels, np.abs(own))
    sq_gaps = sq_norms[:, None] + sq_norms - 2 * products
    np.fill_diagonal(sq_gaps, np.inf)
    known = ROUNDING * np.maximum.outer(largest, largest)
    if (sq_gaps <= known).any():
        one = np.unravel_index(np.argmin(sq_gaps / np.maximum(known, np.finfo(np.float64).tiny)), known.shape)
        raise ValueError(
            f"lam={lam:g} asks for clusters whose centres are a squared distance of {max(sq_gaps[one], 0.0):.3g} "
            f"apart. Squared distances are differences of kernel values, which float64 knows up to {known[one]:.3g} "
            "here. Give a larger lam, centre X, scale it, or use another kernel."
        )


def _as_predicted(offsets: list[Floats], found: Labels) -> Labels:
    """The labels that ``predict`` gives to the rows of the fit; ``found`` where these would leave a cluster empty.

    They differ where rounding decides: sums of the search are updated row by row, those of ``predict`` are not.
    """
    labels = np.concatenate([part.argmin(axis=1) for part in offsets]).astype(np.int32)
    return labels if len(np.unique(labels)) == len(np.unique(found)) else found


def _distances_from(offsets: Floats, sq_norms: Floats) -> Floats:
    """Distances (m, k), from offsets and κ(x, x) of each row."""
    return np.sqrt(np.maximum(sq_norms[:, None] + offsets, 0.0))


def _with_itself(kernel: Kernel, rows: ArrayOrCSR) -> Floats:
    """κ(x, x) of each row."""
    if not kernel.precomputed:
        return kernel.with_itself(rows)
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(
            f"distances need κ(x, x) of every row, which {rows.shape[0]} rows of precomputed kernel values do not "
            "contain. Give the square matrix of fit."
        )
    return np.asarray(rows.diagonal(), dtype=np.float64)
