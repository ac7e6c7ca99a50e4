"""Free energies as the compiled merging takes them: what depends on the size of a cluster alone, and the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.special import gammaln, multigammaln

from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats
from kfree.objectives.bernoulli import BernoulliModel
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import Mixture
from kfree.objectives.multinomial import MultinomialModel

# Evidences of counts are measured in units of which this many fit into a whole number of 64 bits, with room to add.
_UNITS = 2.0**60
# Beyond this many times the scale of B0, products of a few variances overflow float64.
_WIDEST = 1e30


def merging_of(rows: ArrayOrCSR, objective: FreeEnergy[Any]) -> tuple[str, dict[str, object]]:
    """The compiled function that merges rows under this objective, by name, and its arguments about rows and prior."""
    name, arguments = _MERGING[type(objective.model)]
    return name, arguments(rows, objective.model, objective.mixture)


def _gaussian(rows: Floats, model: GaussianModel, mixture: Mixture) -> dict[str, object]:
    """Rows in coordinates where m0 = 0 and B0 = I. Of Eq. 19, (η/2)·log det B is left to the compiled part."""
    n, n_features = _sizes(rows), len(model.m0)
    white = solve_triangular(np.linalg.cholesky(model.B0), (rows - model.m0).T, lower=True).T
    if np.abs(white).max() > _WIDEST:
        raise ValueError(
            f"X is {np.abs(white).max():.1g} times as wide as a cluster under B0: determinants overflow float64. "
            "Give a prior with a larger B0."
        )
    if white.shape[1] > white.shape[0]:
        # Determinants depend on the rows in their span alone: outside of it, B is the identity.
        white = np.asarray(np.linalg.qr(white.T, mode="r")).T
    xi, eta = model.xi0 + n, model.eta0 + n
    volume = np.array([multigammaln(half, n_features) for half in eta / 2])
    by_size = n_features / 2 * (n * math.log(math.pi) + np.log(xi / model.xi0)) - (volume - volume[0])
    return {
        "rows": np.ascontiguousarray(white),
        "xi0": float(model.xi0),
        "eta0": float(model.eta0),
        "size_terms": by_size - mixture.log_share(n),
    }


def _multinomial(rows: ArrayOrCSR, model: MultinomialModel, mixture: Mixture) -> dict[str, object]:
    """Eq. 39; log Γ of the counts and of their totals are left to the compiled part."""
    return _counts(rows, model.psi0, -mixture.log_share(_sizes(rows)))


def _bernoulli(rows: ArrayOrCSR, model: BernoulliModel, mixture: Mixture) -> dict[str, object]:
    """Eq. 45; log Γ of the ones and zeros are left to the compiled part."""
    n, prior = _sizes(rows), 2 * model.omega0
    total = model.n_features * (gammaln(prior + n) - gammaln(prior))
    return _counts(rows, model.omega0, total - mixture.log_share(n))


def _counts(rows: ArrayOrCSR, prior: float, size_terms: Floats) -> dict[str, object]:
    csr = sp.csr_array(rows, copy=True)  # of which stored zeros are dropped
    csr.eliminate_zeros()
    return {
        "indptr": csr.indptr.astype(np.int64),
        "indices": csr.indices.astype(np.int64),
        "counts": csr.data.astype(np.int64),
        "n_features": csr.shape[1],
        "prior": float(prior),
        "size_terms": size_terms,
        "unit": _unit(csr, prior, size_terms),
    }


def _unit(csr: ArrayOrCSR, prior: float, size_terms: Floats) -> float:
    """A power of two, so small that few digits are lost and so large that no sum of evidences overflows."""
    n_rows, n_features = csr.shape
    # Ones and zeros are at most as many as rows, counts as many as their column has in all.
    in_column = np.maximum(csr.sum(axis=0), n_rows)
    columns = n_features * abs(gammaln(prior)) + gammaln(prior + in_column + 3).sum()
    in_all = abs(gammaln(n_features * prior)) + gammaln(n_features * prior + in_column.sum() + 3)
    # A cost adds up at most eight log Γ for each column, and a few more.
    bound = 8 * (columns + in_all + np.abs(size_terms).max())
    return float(2.0 ** math.ceil(math.log2(bound / _UNITS)))


def _sizes(rows: ArrayOrCSR) -> Floats:
    return np.arange(rows.shape[0] + 1, dtype=np.float64)


_MERGING: dict[type, tuple[str, Callable[..., dict[str, object]]]] = {
    GaussianModel: ("merge_gaussians", _gaussian),
    MultinomialModel: ("merge_multinomials", _multinomial),
    BernoulliModel: ("merge_bernoullis", _bernoulli),
}
