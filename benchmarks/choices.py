"""What the engine's choices are worth: KMeans to convergence, with and without sites parted by speed and the int8
prefilter, over the number of columns. ``Bounds::PARTED_COLUMNS`` and ``Int8Kernel::least_…`` come from here.
"""

import warnings

import numpy as np
from k_means import MAX_ITER, blobs
from ratio import arguments, chosen, race, report

from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.native import _core
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.centres.moves import lloyd
from kfree.search.centres.state import assigned
from kfree.search.loop import descend

SHAPES = [
    (200_000, 2, 100),
    (200_000, 4, 100),
    (200_000, 8, 200),
    (200_000, 16, 500),
    (100_000, 32, 300),
    (100_000, 64, 300),
    (50_000, 128, 300),
    # Few clusters: what the prefilter adds to each row may outweigh what it saves.
    (100_000, 12, 16),
    (100_000, 12, 64),
    (100_000, 16, 4),
    (100_000, 16, 64),
    (100_000, 32, 16),
    (100_000, 32, 64),
    (50_000, 64, 16),
    (50_000, 64, 64),
    (15_000, 256, 8),
    (15_000, 256, 32),
    (15_000, 256, 64),
    (4_000, 1024, 16),
    (4_000, 1024, 64),
]
CHOICES = {
    "kfree": {},
    "parted": {"parted_columns": 10**9},
    "not parted": {"parted_columns": 0},
    "prefilter": {"prefilter": True},
    "no prefilter": {"prefilter": False},
}


def fit(X, init, choices):
    """Lloyd's iterations from given centres; returns their number and the share of distances computed."""
    engine, objective = open_engine("native", X), DPMeansObjective(0.0)
    engine._bounds = _core.Bounds(len(X), **choices)
    start = assigned(Sites.of(engine.frame.inward(init)), engine, objective)
    n_iter = descend(start, [lloyd], engine, objective, MAX_ITER).n_iter
    return n_iter, engine.n_distances / (len(X) * len(init) * n_iter)


def compare(n, d, k, rounds):
    X = blobs(n, d, k)
    init = X[np.random.default_rng(0).choice(n, k, replace=False)].astype(np.float64)
    return race(
        f"blobs {n:,} × {d}, k={k}",
        {name: lambda c=choices: fit(X, init, c) for name, choices in CHOICES.items()},
        rounds,
        notes=lambda name, done: f"{done[0]} iterations, {done[1]:.1%} of all distances",
    )


def main():
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    rows = [compare(*shape, options.rounds) for shape in chosen(SHAPES, options)]
    report("choices", rows, "numpy", only=options.only)


if __name__ == "__main__":
    main()
