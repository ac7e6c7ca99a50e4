"""Rows, hyper-parameters and engines for the models of Bayesian clustering, one class per model."""

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from sklearn.base import BaseEstimator

from kfree.core.frame import Frame
from kfree.engines.cost_rules.counts import CountRows
from kfree.engines.cost_rules.gaussian import GaussianRows
from kfree.engines.kernel.gram import blocks
from kfree.estimators._counts import validated_binary, validated_counts
from kfree.estimators._explained import column_names, distances_in_blocks, require_rows, view_by_distances
from kfree.estimators._validation import is_positive_number, require, validated_rows
from kfree.estimators._warnings import warn
from kfree.native.implementations import implementation
from kfree.objectives.bernoulli import BernoulliModel
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.multinomial import MultinomialModel, log_orders
from kfree.objectives.priors import DATA_PHI0, informed_by_data, over_box

PRIORS = ["data", "uninformative"]
# Above this size, or below its inverse, fourth powers overflow or underflow float64.
_LARGEST = 1e70


class GaussianData:
    """Dense rows, seen in coordinates around their mean."""

    takes_sparse = False

    def __init__(self, X, estimator, frame=None):
        rows = validated_rows(X, estimator)
        if sp.issparse(rows):
            raise TypeError("X is sparse, and model='gaussian' takes dense rows only. Use X.toarray().")
        rows = rows.astype(np.float64, copy=False)
        self.frame = Frame.about(rows) if frame is None else frame
        self.rows = np.ascontiguousarray(self.frame.inward(rows))
        largest = np.abs(self.rows).max()
        if frame is None and largest > 0 and not 1 / _LARGEST < largest < _LARGEST:
            raise ValueError(
                f"values of X differ by {largest:g}: the determinant of their covariance overflows float64. Multiply "
                "X by a constant first."
            )

    def model(self, prior, rng, informed=informed_by_data):
        """The model with the hyper-parameters given by ``prior``, in these coordinates, and φ0."""
        if isinstance(prior, str) and prior == "uninformative":
            return over_box(self.rows), 1.0
        given = {} if isinstance(prior, str) else _checked_keys(prior, ["xi0", "m0", "eta0", "B0", "phi0"])
        if {"xi0", "m0", "eta0", "B0"} <= set(given):
            default = None
        else:
            default, regularised = informed(self.rows, rng)
            if regularised and "B0" not in given:
                warn(
                    "the covariance of X is singular (a constant column, columns that determine each other, or no more "
                    "rows than columns): the prior's B0 was regularised by a millionth of the mean variance. Drop such "
                    "columns, or project X to fewer.",
                    UserWarning,
                )
        return self._explicit(given, default), _positive("phi0", given.get("phi0", DATA_PHI0))

    def open(self, engine, algorithm, n_threads):
        return GaussianRows(implementation(engine, "quadratic"), self.rows, algorithm, n_threads)

    def in_span(self, model, engine, n_threads):
        """An engine for coordinates in the span of the rows and m0, and the model for these; None if B0 mixes it."""
        basis = np.linalg.qr(np.vstack([self.rows, model.m0]).T)[0]
        spanned = model.within(basis)
        if spanned is None:
            return None
        coordinates = np.ascontiguousarray(self.rows @ basis)
        return GaussianRows(implementation(engine, "quadratic"), coordinates, "brute", n_threads), spanned

    def prior_of(self, model, phi0):
        """Hyper-parameters by name, in the coordinates of the user."""
        if not model.is_proper:
            return {"phi0": phi0}
        m0 = self.frame.outward(model.m0)
        return {"xi0": model.xi0, "m0": m0, "eta0": model.eta0, "B0": model.B0, "phi0": phi0}

    def centres(self, model, stats):
        return self.frame.outward(model.posterior(stats).m)

    def _explicit(self, given, default):
        if not given:
            return default
        n_features = self.rows.shape[1]
        xi0 = _positive("xi0", given["xi0"]) if "xi0" in given else default.xi0
        eta0 = _positive("eta0", given["eta0"]) if "eta0" in given else default.eta0
        require(eta0 > n_features - 1, "prior['eta0']", eta0, f"a number > {n_features - 1}, the number of columns − 1")
        m0 = self.frame.inward(_array("m0", given["m0"], (n_features,))) if "m0" in given else default.m0
        B0 = _array("B0", given["B0"], (n_features, n_features)) if "B0" in given else default.B0
        _require_positive_definite(B0)
        return GaussianModel.conjugate(xi0, m0, eta0, B0)


class MultinomialData:
    """Counts of events, dense or CSR."""

    takes_sparse = True
    weight = "psi0"

    def __init__(self, X, estimator, frame=None):
        self.frame, self.rows = None, self._validated(X, estimator)

    def model(self, prior, rng, informed=None):
        """The model with the hyper-parameters given by ``prior``, and φ0; "data" has the paper's 0.1 and 1."""
        uninformative = isinstance(prior, str) and prior == "uninformative"
        given = {} if isinstance(prior, str) else _checked_keys(prior, [self.weight, "phi0"])
        weight = _positive(self.weight, given.get(self.weight, 1.0 if uninformative else 0.1))
        return self._model(weight, self.rows.shape[1]), _positive("phi0", given.get("phi0", 1.0))

    def in_span(self, model, engine, n_threads):
        """Counts are no coordinates."""
        return None

    def open(self, engine, algorithm, n_threads):
        require(algorithm != "kd-tree", "algorithm", algorithm, "'auto' or 'brute' unless model='gaussian'")
        return CountRows(self.rows, self._log_ways())

    def prior_of(self, model, phi0):
        return {self.weight: getattr(model, self.weight), "phi0": phi0}

    def centres(self, model, stats):
        return model.centres(stats)

    _model: type[MultinomialModel] | type[BernoulliModel] = MultinomialModel

    def _validated(self, X, estimator):
        return validated_counts(X, estimator)

    def _log_ways(self):
        return log_orders(self.rows)


class BernoulliData(MultinomialData):
    """Zeros and ones, dense or CSR."""

    weight = "omega0"
    _model = BernoulliModel

    def _validated(self, X, estimator):
        return validated_binary(X, estimator)

    def _log_ways(self):
        return np.zeros(self.rows.shape[0])


DATA: dict[str, type[GaussianData] | type[MultinomialData]] = {
    "gaussian": GaussianData,
    "multinomial": MultinomialData,
    "bernoulli": BernoulliData,
}


def require_prior(prior):
    """Raise unless ``prior`` is a name or a dict."""
    by_name = isinstance(prior, str) and prior in PRIORS
    require(by_name or isinstance(prior, dict), "prior", prior, "'data', 'uninformative' or a dict of hyper-parameters")


def _checked_keys(prior, allowed):
    for key in prior:
        require(key in allowed, "prior", f"{{{key!r}: …}}", "a dict with some of the keys " + ", ".join(allowed))
    return prior


def _positive(name, value):
    require(is_positive_number(value), f"prior[{name!r}]", value, "a finite number > 0")
    return float(value)


def _array(name, value, shape):
    array = np.asarray(value, dtype=np.float64)
    ok = array.shape == shape and np.isfinite(array).all()
    require(ok, f"prior[{name!r}]", value, f"finite numbers of shape {shape}")
    return array


def _require_positive_definite(B0):
    symmetric = np.allclose(B0, B0.T, rtol=1e-10, atol=0)
    require(symmetric, "prior['B0']", B0.tolist(), "a symmetric matrix")
    try:
        np.linalg.cholesky(B0)
    except LinAlgError:
        smallest = np.linalg.eigvalsh(B0)[0]
        raise ValueError(
            f"prior['B0'] is not positive definite: its smallest eigenvalue is {smallest:g}. Give a covariance-like "
            "matrix, for example a small multiple of the identity."
        ) from None


def view_of_models(estimator, X, labels, centres, covariances):
    """A view of rows of ``DATA``; without ``centres``, of the rows of the fit and the means of their clusters.

    Gaussians have Mahalanobis distances where they have covariances. Counts are seen as shares of their row's total.
    """
    require_rows(X, estimator)
    rows = DATA[estimator.model](X, estimator).rows if estimator.model != "gaussian" else validated_rows(X, estimator)
    if rows.shape[0] != len(labels):
        raise ValueError(f"X has {rows.shape[0]} rows; give the {len(labels)} rows of fit.")
    counted = estimator.model == "multinomial"
    centres = _means(_shares(rows) if counted else rows, labels) if centres is None else centres
    distance = "Euclidean distance to the mean" if covariances is None else "Mahalanobis distance to the centre"
    told = {"distance": distance + " of shares" * counted, "columns": rows, "names": column_names(X, estimator)}
    return view_by_distances(distances_of_models(estimator.model, rows, centres, covariances), labels, centres, **told)


def distances_of_models(model, rows, centres, covariances):
    """Distances of rows to the clusters of a model, block by block: Mahalanobis where these have covariances.

    Counts are seen as shares of their row's total.
    """
    if covariances is not None:
        return _mahalanobis(rows, centres, covariances)
    return distances_in_blocks(_shares(rows) if model == "multinomial" else rows, centres)


def _means(rows, labels):
    members = sp.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))
    totals = members @ rows
    return (totals.toarray() if sp.issparse(totals) else totals) / members.sum(axis=1)[:, None]


def _shares(counts):
    """Counts over the total of their row."""
    total = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    return sp.csr_array(sp.diags_array(1 / total) @ counts) if sp.issparse(counts) else counts / total[:, None]


def _mahalanobis(rows, centres, covariances):
    inverse = np.linalg.inv(covariances)
    for places in blocks(len(rows), rows.shape[1] + len(centres)):
        gaps = [rows[places] - centre for centre in centres]
        sq_dist = [np.einsum("ij,jk,ik->i", gap, m, gap, optimize=True) for gap, m in zip(gaps, inverse, strict=True)]
        yield places, np.sqrt(np.maximum(np.column_stack(sq_dist), 0.0))


class TakesModels(BaseEstimator):
    """Tags of an estimator whose ``model`` is one of ``DATA``."""

    model: str

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.model in DATA and DATA[self.model].takes_sparse
        tags.input_tags.positive_only = self.model != "gaussian"
        return tags
