"""Cases of the fuzzer: a few plain values from which an estimator, rows and weights are made, always the same."""

from dataclasses import asdict, dataclass

import numpy as np

from tests.fuzz.fuzz_containers import CONTAINERS

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
# Values that a parameter is rarely meant to have.
ODD = {
    "None": None,
    "true": True,
    "below zero": -1,
    "zero": 0,
    "a thousandth": 1e-3,
    "NaN": np.nan,
    "infinity": np.inf,
    "huge": 1e308,
    "beyond 64 bits": 2**70,
    "NumPy's one": np.int8(1),
    "text": "x",
    "no text": "",
    "list": [],
    "pair": (1e-3, 1.0),
    "array": np.eye(2),
    "dict": {},
    "function": len,
}
# What is drawn: the usual value in half of the cases, so that a case has few things that are odd, and all others.
DRAWN = {
    "values": ("normal", list(VALUES)),
    "log_scale": (0, [-300, -150, -100, -40, -8, 3, 40, 100, 150, 300]),
    "log_offset": (-1, [0, 3, 6, 9, 12]),
    "dtype": ("float64", DTYPES),
    "container": ("array", list(CONTAINERS)),
    "weights": ("none", list(WEIGHTS)),
}
MOST_SEEDS, MOST_COLUMNS, MOST_PENALTY = 2**16, 5, 6
# Most cases are small, because a case of few rows finds most of what there is to find, and takes little time.
SIZES = [(1, 8)] * 24 + [(9, 20)] * 5 + [(21, 40)]
# A few have more columns than rows, and so many that the search is in the span of the rows.
WIDTHS = [(1, MOST_COLUMNS)] * 120 + [(6, 64)] * 6 + [(1024, 1100)] * 2


@dataclass(frozen=True)
class Case:
    """What the fuzzer varies. Plain values, so that a case can be stored as one line of JSON."""

    subject: str
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
    odd_parameter: int = -1  # the place of a parameter that gets ``odd_value``, −1 for none
    odd_value: str = "None"

    @classmethod
    def drawn(cls, subjects, rng):
        """A case drawn by a generator of random numbers, for runs without Hypothesis."""
        low, high = SIZES[rng.integers(len(SIZES))]
        narrowest, widest = WIDTHS[rng.integers(len(WIDTHS))]
        odd = bool(rng.integers(8) == 0)
        return cls(
            subject=_one_of(list(subjects), rng),
            seed=int(rng.integers(MOST_SEEDS)),
            n_rows=int(rng.integers(low, high + 1)),
            n_columns=int(rng.integers(narrowest, widest + 1)),
            log_penalty=int(rng.integers(-MOST_PENALTY, MOST_PENALTY + 1)),
            odd_parameter=int(rng.integers(20)) if odd else -1,
            odd_value=_one_of(list(ODD), rng) if odd else "None",
            **{name: usual if rng.integers(2) else _one_of(all_, rng) for name, (usual, all_) in DRAWN.items()},
        )

    def rows(self):
        """The rows in float64, before they are put into a container."""
        rng = np.random.default_rng(self.seed)
        with np.errstate(all="ignore"):
            rows = VALUES[self.values](rng, (self.n_rows, self.n_columns)) * 10.0**self.log_scale
            return rows if self.log_offset < 0 else rows + 10.0**self.log_offset

    def X(self):
        """The rows as a user has them."""
        return self._contained(self.rows())

    def adjacency(self):
        """A symmetric matrix of ``n_rows`` nodes, half of its links absent."""
        shape = self.n_rows, self.n_rows
        rng = np.random.default_rng(self.seed)
        with np.errstate(all="ignore"):
            links = np.abs(VALUES[self.values](rng, shape)) * 10.0**self.log_scale
            links = np.triu(links * (rng.uniform(size=shape) < 0.5))
            return self._contained(links + links.T)

    def edges(self):
        """A list of edges (a, b, weight)."""
        rng = np.random.default_rng(self.seed)
        ends = rng.integers(self.n_rows, size=(2 * self.n_rows + 4, 2)).astype(float)
        with np.errstate(all="ignore"):
            weight = np.abs(VALUES[self.values](rng, (len(ends), 1))) * 10.0**self.log_scale
        return self._contained(np.hstack([ends, weight]))

    def _contained(self, rows):
        with np.errstate(all="ignore"):
            return CONTAINERS[self.container](rows.astype(self.dtype))

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
        usual = asdict(Case(self.subject))
        return {key: value for key, value in asdict(self).items() if key == "subject" or value != usual[key]}


def _one_of(values, rng):
    return values[rng.integers(len(values))]
