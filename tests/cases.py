"""Data sets that every search for centres is tried on: rows, and a penalty that suits them."""

import numpy as np
from common import blobs


def tight_clusters(rng, n=400):
    """Clusters of width 1e-5 spread over ±100: float32 alone mislabels most rows."""
    centres = rng.uniform(-100, 100, size=(6, 4))
    centres[3:] = centres[:3] + 1e-4 * rng.normal(size=(3, 4))
    return centres[rng.integers(6, size=n)] + 1e-5 * rng.normal(size=(n, 4))


CASES = {
    "blobs": lambda rng: (blobs(rng)[0], 30.0),
    "many births": lambda rng: (rng.normal(size=(300, 2)), 0.05),
    "every row a cluster": lambda rng: (rng.normal(size=(60, 3)), 1e-9),
    "one column": lambda rng: (rng.exponential(size=(200, 1)), 0.3),
    "grid with ties": lambda rng: (rng.integers(-3, 4, size=(250, 2)).astype(float), 2.0),
    "duplicates": lambda rng: (np.repeat(rng.normal(size=(20, 3)), 10, axis=0), 1.0),
    "tight clusters": lambda rng: (tight_clusters(rng), 1e-9),
    "float32": lambda rng: (blobs(rng)[0].astype(np.float32), 30.0),
    "more than one panel of births": lambda rng: (rng.uniform(size=(900, 2)), 0.002),
}
