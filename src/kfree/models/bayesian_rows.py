"""Rows, hyper-parameters and engines for the models of Bayesian clustering, one class per model."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError

from kfree.core.frame import Frame
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Labels, Mask
from kfree.core.warning import warn
from kfree.engines.cost_rules.counts import CountRows
from kfree.engines.cost_rules.gaussian import GaussianRows
from kfree.engines.cost_rules.numbered import NumberedRows
from kfree.native.implementations import implementation
from kfree.objectives.bernoulli import BernoulliModel
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.gaussian_by_gram import GramModel, is_faster_by_gram
from kfree.objectives.multinomial import MultinomialModel, log_orders
from kfree.objectives.priors import DATA_PHI0, informed_by_data, over_box
from kfree.validation.counts import validated_binary, validated_counts
from kfree.validation.frames import require_columns_of_fit
from kfree.validation.parameters import is_positive_number, require
from kfree.validation.rows import validated_rows, validated_weights

PRIORS = ["data", "uninformative"]
# Above this size, or below its inverse, fourth powers overflow or underflow float64.
_LARGEST = 1e70


class BayesianRows(ABC):
    """Rows of positive weight as ``rows`` with ``weight`` (None if all are 1), and those of weight zero ``aside``."""

    rows: ArrayOrCSR
    weight: Floats | None = None
    aside: ArrayOrCSR | None = None
    counts: Mask | None = None
    frame: Frame | None = None

    def as_given(self) -> ArrayOrCSR:
        """The rows that count, in the coordinates of the user."""
        return self.rows if self.frame is None else self.frame.outward(self.rows)

    @abstractmethod
    def open(self, engine: str, algorithm: str, n_threads: int | None) -> Any:
        """An engine with the rows that count."""

    @abstractmethod
    def centres(self, model: Any, stats: Any) -> Floats:
        """Centres of clusters in the coordinates of the user."""

    def _divide(self, rows: Any, sample_weight: Any) -> Any:
        """Set aside rows of weight zero; returns the others."""
        weight = validated_weights(sample_weight, rows.shape[0])
        if weight is None:
            return rows
        self.counts = weight > 0
        self.weight = weight[self.counts]
        if not self.counts.all():
            self.aside = rows[~self.counts]
        return rows[self.counts]

    def all_labels(self, labels: Labels, rule: Any, engine: str, n_threads: int | None) -> Labels:
        """Labels of all rows from those of the rows that count; the others go where they cost least."""
        if self.aside is None or self.counts is None:
            return labels
        rest = copy(self)
        rest.rows, rest.weight = self.aside, None
        everywhere = np.empty(len(self.counts), dtype=np.int32)
        everywhere[self.counts] = labels
        others = rest.open(engine, "brute", n_threads)
        everywhere[~self.counts] = others.labels(others.assign(rule)[0])
        return everywhere


class GaussianData(BayesianRows):
    """Dense rows, seen in coordinates around their mean."""

    takes_sparse = False

    def __init__(self, X: Any, estimator: Any, frame: Frame | None = None, sample_weight: Any = None):
        rows = validated_rows(X, estimator)
        if frame is not None:  # before rows are put into the coordinates of the fit
            require_columns_of_fit(estimator, X)
        if sp.issparse(rows):
            who = "model='gaussian'" if hasattr(estimator, "model") else type(estimator).__name__
            raise TypeError(f"X is sparse, and {who} takes dense rows only. Use X.toarray().")
        rows = rows.astype(np.float64, copy=False)
        rows = self._divide(rows, sample_weight)
        self.frame = self._frame = Frame.about(rows) if frame is None else frame
        self.rows = np.ascontiguousarray(self.frame.inward(rows))
        if self.aside is not None:
            self.aside = np.ascontiguousarray(self.frame.inward(self.aside))
        largest = np.abs(self.rows).max()
        if frame is None and largest > 0 and not 1 / _LARGEST < largest < _LARGEST:
            raise ValueError(
                f"values of X differ by {largest:g}: the determinant of their covariance overflows float64. Multiply "
                "X by a constant first."
            )

    def model(
        self, prior: Any, rng: np.random.RandomState, informed: Callable[..., Any] = informed_by_data
    ) -> tuple[Any, float]:
        """The model with the hyper-parameters given by ``prior``, in these coordinates, and φ0."""
        if isinstance(prior, str) and prior == "uninformative":
            return over_box(self.rows, self.weight), 1.0
        given = {} if isinstance(prior, str) else _checked_keys(prior, ["xi0", "m0", "eta0", "B0", "phi0"])
        if {"xi0", "m0", "eta0", "B0"} <= set(given):
            default = None
        else:
            default, regularised = informed(self.rows, rng, self.weight)
            if regularised and "B0" not in given:
                warn(
                    "the covariance of X is singular (a constant column, columns that determine each other, or no more "
                    "rows than columns): the prior's B0 was regularised by a millionth of the mean variance. Drop such "
                    "columns, or project X to fewer.",
                    UserWarning,
                )
        return self._explicit(given, default), _positive("phi0", given.get("phi0", DATA_PHI0))

    def open(self, engine: str, algorithm: str, n_threads: int | None) -> GaussianRows:
        return GaussianRows(implementation(engine, "quadratic"), self.rows, algorithm, n_threads, self.weight)

    def by_gram(self, model: Any) -> tuple[NumberedRows, GramModel] | None:
        """The rows by numbers and the model by inner products, where a search takes less time with these."""
        if not is_faster_by_gram(*self.rows.shape):
            return None
        rows = NumberedRows(self.rows, self.weight)
        gram = GramModel.of(model, self.rows, rows.weights())
        return None if gram is None else (rows, gram)

    def prior_of(self, model: Any, phi0: float) -> dict[str, Any]:
        """Hyper-parameters by name, in the coordinates of the user."""
        if not model.is_proper:
            return {"phi0": phi0}
        m0 = self._frame.outward(model.m0)
        return {"xi0": model.xi0, "m0": m0, "eta0": model.eta0, "B0": model.B0, "phi0": phi0}

    def centres(self, model: Any, stats: Any) -> Floats:
        return self._frame.outward(model.posterior(stats).m)

    def _explicit(self, given: dict[str, Any], default: Any) -> Any:
        if not given:
            return default
        n_features = self.rows.shape[1]
        xi0 = _positive("xi0", given["xi0"]) if "xi0" in given else default.xi0
        eta0 = _positive("eta0", given["eta0"]) if "eta0" in given else default.eta0
        require(eta0 > n_features - 1, "prior['eta0']", eta0, f"a number > {n_features - 1}, the number of columns − 1")
        m0 = self._frame.inward(_array("m0", given["m0"], (n_features,))) if "m0" in given else default.m0
        B0 = _array("B0", given["B0"], (n_features, n_features)) if "B0" in given else default.B0
        _require_positive_definite(B0)
        return GaussianModel.conjugate(xi0, m0, eta0, B0)


class MultinomialData(BayesianRows):
    """Counts of events, dense or CSR."""

    takes_sparse = True
    parameter = "psi0"

    def __init__(self, X: Any, estimator: Any, frame: Frame | None = None, sample_weight: Any = None):
        self.frame, self.rows = None, self._divide(self._validated(X, estimator), sample_weight)

    def model(self, prior: Any, rng: np.random.RandomState, informed: Any = None) -> tuple[Any, float]:
        """The model with the hyper-parameters given by ``prior``, and φ0; "data" has the paper's 0.1 and 1."""
        uninformative = isinstance(prior, str) and prior == "uninformative"
        given = {} if isinstance(prior, str) else _checked_keys(prior, [self.parameter, "phi0"])
        strength = _positive(self.parameter, given.get(self.parameter, 1.0 if uninformative else 0.1))
        return self._model(strength, self.rows.shape[1]), _positive("phi0", given.get("phi0", 1.0))

    def by_gram(self, model: Any) -> None:
        """Counts are sums already."""

    def open(self, engine: str, algorithm: str, n_threads: int | None) -> CountRows:
        require(algorithm != "kd-tree", "algorithm", algorithm, "'auto' or 'brute' unless model='gaussian'")
        return CountRows(self.rows, self._log_ways(), self.weight)

    def prior_of(self, model: Any, phi0: float) -> dict[str, Any]:
        return {self.parameter: getattr(model, self.parameter), "phi0": phi0}

    def centres(self, model: Any, stats: Any) -> Floats:
        return np.asarray(model.centres(stats))

    _model: type[MultinomialModel] | type[BernoulliModel] = MultinomialModel

    def _validated(self, X: Any, estimator: Any) -> Any:
        return validated_counts(X, estimator)

    def _log_ways(self) -> Floats:
        return log_orders(self.rows)


class BernoulliData(MultinomialData):
    """Zeros and ones, dense or CSR."""

    parameter = "omega0"
    _model = BernoulliModel

    def _validated(self, X: Any, estimator: Any) -> Any:
        return validated_binary(X, estimator)

    def _log_ways(self) -> Floats:
        return np.zeros(self.rows.shape[0])


DATA: dict[str, type[GaussianData] | type[MultinomialData]] = {
    "gaussian": GaussianData,
    "multinomial": MultinomialData,
    "bernoulli": BernoulliData,
}


def require_prior(prior: Any) -> None:
    """Raise unless ``prior`` is a name or a dict."""
    by_name = isinstance(prior, str) and prior in PRIORS
    require(by_name or isinstance(prior, dict), "prior", prior, "'data', 'uninformative' or a dict of hyper-parameters")


def _checked_keys(prior: dict[str, Any], allowed: list[str]) -> dict[str, Any]:
    for key in prior:
        require(key in allowed, "prior", f"{{{key!r}: …}}", "a dict with some of the keys " + ", ".join(allowed))
    return prior


def _positive(name: str, value: Any) -> float:
    require(is_positive_number(value), f"prior[{name!r}]", value, "a finite number > 0")
    return float(value)


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    ok = array.shape == shape and np.isfinite(array).all()
    require(bool(ok), f"prior[{name!r}]", value, f"finite numbers of shape {shape}")
    return array


def _require_positive_definite(B0: Floats) -> None:
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
