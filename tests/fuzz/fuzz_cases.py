"""Cases of the fuzzer: a few plain values from which an estimator, rows and weights are made, always the same."""

from dataclasses import asdict, dataclass

import numpy as np
from fuzz_containers import CONTAINERS
from hypothesis import strategies as st

VALUES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "blobs": lambda rng, shape: (
        9 * rng.normal(size=(3, shape[1]))[rng.integers(3, size=shape[0])] + rng.normal(size=shape)
    ),
    "grid": lambda rng, shape: rng.integers(-2, 3, size=shape).astype(float),
    "counts": lambda rng, shape: rng.poisson(1.5, size=shape).astype(float),
    "duplicates": lambda rng, shape: rng.normal(size=(2, shape[1]))[rng.integers(2, size=shape[0])],
    "constant": lambda rng, shape: np.full(shape, rng.normal()),
    "zeros": lambda rng, shape: np.zeros(shape),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(size=shape),
    "mixed scales": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-30, 30, size=shape[1]),
    "with NaN": lambda rng, shape: np.where(rng.uniform(size=shape) < 0.1, np.nan, rng.normal(size=shape)),
    "with inf": lambda rng, shape: np.where(rng.uniform(size=shape) < 0.1, -np.inf, rng.normal(size=shape)),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "uniform": lambda rng, n: rng.uniform(size=n),
    "whole": lambda rng, n: rng.integers(1, 4, size=n),
    "some zero": lambda rng, n: rng.integers(2, size=n) * rng.uniform(size=n),
    "wild": lambda rng, n: 10.0 ** rng.uniform(-50, 50, size=n),
    "beyond": lambda rng, n: 10.0 ** rng.uniform(-300, 300, size=n),
    "zero": lambda rng, n: np.zeros(n),
    "negative": lambda rng, n: rng.normal(size=n),
    "too few": lambda rng, n: np.ones(n - 1),
}
DTYPES = ["float64", "float32", "float16", "longdouble", "object", "bool", "int8", "int64", "uint64"]


@dataclass(frozen=True)
class Case:
    """What the fuzzer varies. Plain values, so that a case can be stored as one line of JSON."""

    estimator: str
    seed: int = 0
    n_rows: int = 20
    n_columns: int = 2
    values: str = "normal"
    log_scale: int = 0
    log_offset: int = -1  # −1 for no offset
    dtype: str = "float64"
    container: str = "array"
    weights: str = "none"
    log_penalty: int = 0

    def rows(self):
        """The rows in float64, before they are put into a container."""
        rng = np.random.default_rng(self.seed)
        rows = VALUES[self.values](rng, (self.n_rows, self.n_columns)) * 10.0**self.log_scale
        return rows if self.log_offset < 0 else rows + 10.0**self.log_offset

    def X(self):
        """The rows as a user has them."""
        with np.errstate(all="ignore"):
            return CONTAINERS[self.container](self.rows().astype(self.dtype))

    def weight(self):
        return WEIGHTS[self.weights](np.random.default_rng(self.seed + 1), self.n_rows)

    def groups(self):
        return np.random.default_rng(self.seed + 2).integers(3, size=self.n_rows)

    @property
    def penalty(self):
        """A penalty that suits the scale of the rows, or is far off."""
        return 10.0 ** min(max(self.log_penalty + 2 * self.log_scale, -300), 300)

    def changed(self):
        """All that differs from the usual: a line of the corpus."""
        usual = asdict(Case(self.estimator))
        return {key: value for key, value in asdict(self).items() if key == "estimator" or value != usual[key]}


def mostly(usual, others):
    """The usual value in half of the cases, so that a case has few things that are odd."""
    return st.one_of(st.just(usual), st.sampled_from(list(others)))


def cases(estimators):
    return st.builds(
        Case,
        estimator=st.sampled_from(list(estimators)),
        seed=st.integers(0, 2**16),
        n_rows=st.integers(1, 40),
        n_columns=st.integers(1, 5),
        values=mostly("normal", VALUES),
        log_scale=mostly(0, [-150, -100, -40, -8, 3, 40, 100, 150]),
        log_offset=mostly(-1, [0, 3, 6, 9, 12]),
        dtype=mostly("float64", DTYPES),
        container=mostly("array", CONTAINERS),
        weights=mostly("none", WEIGHTS),
        log_penalty=st.integers(-6, 6),
    )
