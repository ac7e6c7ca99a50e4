"""Which Gaussians the authors may have drawn: seven readings of one sentence, by how near they come to Table 1."""

from functools import partial

import numpy as np

from kfree.datasets import make_gaussians
from reproduce.cells import Cells, several
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, METHODS
from reproduce.kurihara_welling.table1 import FIRST_SEED, MODELS, N_CLUSTERS, fitted
from reproduce.result import Result
from reproduce.table import Line

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
    """One data set a case, N ≤ 1000: the mean over cases and methods of |log(found / paper)|."""
    keys = ["reading", "method", "tau", "n_rows", "n_features", "seed"]
    cells = Cells("kurihara-welling-table1-generators", keys, ["clusters", "seconds"])
    cases = [case for case in CLUSTERS_FOUND if case[1] <= MOST_ROWS and (not quick or case[1] * case[2] <= QUICK_SIZE)]
    lines = []
    for reading in READINGS:
        by_method = {}
        for method in METHODS:
            made = [_cell(cells, reading, method, case) for case in cases]
            by_method[method] = [_distance(case, method, one) for case, one in zip(cases, made, strict=True)]
        lines.append(line(reading, by_method, len(cases)))
    return Result(lines)


def _cell(cells, reading, method, case):
    seed = FIRST_SEED[case[0]]
    return cells.get(partial(fit, MODELS[method], reading, *case, seed), reading, method, *case, seed)


def _distance(case, method, one):
    return None if one is None else abs(np.log(one["clusters"] / CLUSTERS_FOUND[case][method][0]))


def line(reading, by_method, n_cases):
    every = [value for values in by_method.values() for value in values]
    there, note = several(
        [None if v is None else {"v": v, "stale": False} for v in every], n_cases * len(METHODS), "fits"
    )
    known = {method: [v for v in values if v is not None] for method, values in by_method.items()}
    each = ", ".join(f"{method} {np.mean(values):.2f}" for method, values in known.items() if values)
    return Line(
        case=f"{n_cases} cases of N ≤ {MOST_ROWS}",
        method=reading,
        quantity="mean of |log(found / paper)|",
        paper=None,
        ours=float(np.mean([one["v"] for one in there])) if there else None,
        goal=None,
        note=each + (f"; {note}" if note else ""),
    )
