"""Which Gaussians the authors may have drawn: seven readings of one sentence, by how near they come to Table 1."""

from functools import partial
from itertools import product

import numpy as np

from kfree.datasets import make_gaussians
from reproduce.cells import Cells, several
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, METHODS
from reproduce.kurihara_welling.table1 import FIRST_SEED, MODELS, N_CLUSTERS, fitted
from reproduce.result import Result
from reproduce.table import OUT_OF_TIME, Line

# The larger cases take hours.
MOST_ROWS, QUICK_SIZE = 1000, 200
# Placement, whether the closest pair is τ·√D or τ deviations apart, and the narrowest deviation as a share.
READINGS = {
    "closest pair τ·√D apart, widths 0–1": ("closest-pair", True, 0.0),
    "closest pair τ·√D apart, widths 0.2–1": ("closest-pair", True, 0.2),
    "closest pair τ·√D apart, widths 0.5–1": ("closest-pair", True, 0.5),
    "closest pair τ apart, widths 0–1": ("closest-pair", False, 0.0),
    "closest pair τ apart, widths 0.2–1": ("closest-pair", False, 0.2),
    "closest pair τ apart, widths 0.5–1": ("closest-pair", False, 0.5),
    "at least τ apart, widths 0–1": ("well-separated", True, 0.0),
}


def rows_of(reading, tau, n_rows, n_features, seed):
    """The data of one reading; only with closest pairs is there a √D to take back."""
    placement, by_root, narrowest = READINGS[reading]
    separation = tau if by_root else tau / np.sqrt(n_features)
    settings = {"separation": separation, "placement": placement, "narrowest": narrowest}
    return make_gaussians(n_rows, n_features, N_CLUSTERS, random_state=seed, **settings)[0]


def fit(make, reading, tau, n_rows, n_features, seed):
    return fitted(make, rows_of(reading, tau, n_rows, n_features, seed))


def result(quick):
    """One data set a case, N ≤ 1000: the mean over cases and methods of |log(found / paper)|.

    Small cases come first, for runs limited in time; only cases that every reading has are compared.
    """
    keys = ["reading", "method", "tau", "n_rows", "n_features", "seed"]
    cells = Cells("kurihara-welling-table1-generators", keys, ["clusters", "seconds"])
    cases = [case for case in CLUSTERS_FOUND if case[1] <= MOST_ROWS and (not quick or case[1] * case[2] <= QUICK_SIZE)]
    made = {}
    for case in sorted(cases, key=lambda case: case[1] * case[2]):
        for reading, method in product(READINGS, METHODS):
            cell = partial(fit, MODELS[method], reading, *case, FIRST_SEED[case[0]])
            made[reading, method, case] = cells.get(cell, reading, method, *case, FIRST_SEED[case[0]])
    complete = [case for case in cases if all(made[r, m, case] is not None for r, m in product(READINGS, METHODS))]
    return Result([line(reading, made, complete, len(cases)) for reading in READINGS])


def line(reading, made, cases, wanted):
    """The distance of a reading from the paper, and of each of its methods."""
    distance = {
        method: [abs(np.log(made[reading, method, c]["clusters"] / CLUSTERS_FOUND[c][method][0])) for c in cases]
        for method in METHODS
    }
    _, note = several([made[reading, method, c] for method in METHODS for c in cases], wanted * len(METHODS), "fits")
    each = ", ".join(f"{method} {np.mean(values):.2f}" for method, values in distance.items() if values)
    return Line(
        case=f"{len(cases)} of {wanted} cases with N ≤ {MOST_ROWS}",
        method=reading,
        quantity="mean of |log(found / paper)|",
        paper=None,
        ours=float(np.mean(list(distance.values()))) if cases else None,
        goal=None,
        note="; ".join(filter(None, [each, note])) if cases else OUT_OF_TIME,
    )
