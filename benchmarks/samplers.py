"""Sweeps per second of the two Gibbs samplers: compiled against their reference implementation, a loop in NumPy.

Processor seconds of twenty sweeps from the same labels with the same seed; both draw the same labels.
"""

import time

import numpy as np
from ratio import arguments, chosen, race, report
from threadpoolctl import threadpool_limits

from kfree.baselines.collapsed_gibbs import log_predictive_at_centre
from kfree.native import _core
from kfree.native.reference import samplers as reference
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.priors import informed_by_data

N_SWEEPS = 20
# With Eq. 21 of Kurihara & Welling (2009) there are many clusters of few rows.
DATA_PRIOR = "full covariance, prior of Eq. 21"
CASES = [
    ("spherical covariance", 300, 2),
    ("spherical covariance", 1000, 16),
    ("full covariance", 300, 2),
    ("full covariance", 300, 16),
    (DATA_PRIOR, 100, 32),
]


def chain(implementation, kind, X, label):
    """A function that sweeps once."""
    if kind == "spherical covariance":
        made = implementation.SphericalChain(X, label, 0, 1.0, 100.0)
        return made, lambda: made.sweep(0.0, 1.0, 100.0)
    model = GaussianModel.conjugate(0.1, np.zeros(X.shape[1]), X.shape[1] + 1.0, np.eye(X.shape[1]))
    if kind == DATA_PRIOR:
        model, _ = informed_by_data(X, np.random.RandomState(0))
    prior = model.xi0, model.eta0, model.B0, log_predictive_at_centre(model, len(X))
    made = implementation.CollapsedChain(X, label, 0, *prior)
    return made, lambda: made.sweep(0.0)


def swept(implementation, kind, X, label):
    made, sweep = chain(implementation, kind, X, label)
    for _ in range(N_SWEEPS):
        sweep()
    return made.labels


def measured(kind, n_rows, n_features, rounds):
    rng = np.random.default_rng(0)
    label = rng.integers(8, size=n_rows).astype(np.int32)
    X = rng.normal(size=(8, n_features))[label] * 5 + rng.normal(size=(n_rows, n_features))
    X -= X.mean(axis=0)
    runs = {
        "kfree": lambda: swept(_core, kind, X, label),
        "NumPy loop": lambda: swept(reference, kind, X, label),
    }
    np.testing.assert_array_equal(*(run() for run in runs.values()))
    row = race(f"{kind}, {n_rows} × {n_features}, 8 Gaussians", runs, rounds, clock=time.process_time)
    row.notes = {name: f"{N_SWEEPS / seconds:.0f} sweeps a second" for name, seconds in row.seconds.items()}
    return row


def main():
    options = arguments(__doc__)
    with threadpool_limits(1):
        rows = [measured(*case, options.rounds) for case in chosen(CASES, options)]
    report("samplers", rows, "numpy", only=options.only)


if __name__ == "__main__":
    main()
