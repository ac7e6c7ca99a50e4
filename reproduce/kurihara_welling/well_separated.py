"""The columns of Table 1 on Gaussians that are well separated: in many columns τ has no effect on such data.

Centres are uniform in a cube and drawn again if they are closer than τ asks. In 32 columns or more none is, so the data
of one seed are the same for every τ: the thirty data sets of a line are one condition.
"""

from functools import partial

import numpy as np

from reproduce.cells import Cells, several
from reproduce.kurihara_welling.published import CLUSTERS_FOUND, METHODS
from reproduce.kurihara_welling.table1 import FIRST_SEED, KEYS, MODELS, N_SETS, fit
from reproduce.result import Result
from reproduce.table import OUT_OF_TIME, Line

N_FEATURES = (32, 64)
QUICK_SETS, QUICK_SIZE = 1, 3_200


def result(quick):
    """A line for each size and method; seeds are those of the three τ of Table 1."""
    cells = Cells("kurihara-welling-table1-well-separated", KEYS, ["clusters", "seconds"])
    sizes = sorted({(n_rows, d) for _, n_rows, d in CLUSTERS_FOUND if d in N_FEATURES})
    sizes = [size for size in sizes if not quick or size[0] * size[1] <= QUICK_SIZE]
    n_sets, lines = QUICK_SETS if quick else N_SETS, []
    for n_rows, d in sizes:
        for method in METHODS:
            seeds = [(tau, first + place) for tau, first in FIRST_SEED.items() for place in range(n_sets)]
            make = partial(fit, MODELS[method], placement="well-separated", narrowest=0.0)
            made = [cells.get(partial(make, tau, n_rows, d, seed), method, tau, n_rows, d, seed) for tau, seed in seeds]
            lines.append(line(n_rows, d, method, *several(made, N_SETS * len(FIRST_SEED), "data sets")))
    return Result(lines)


def line(n_rows, d, method, fits, note):
    found = np.array([one["clusters"] for one in fits])
    return Line(
        case=f"N={n_rows}, D={d}",
        method=method,
        quantity="clusters",
        paper=None,
        ours=found.mean() if fits else None,
        spread=found.std(ddof=1) if len(found) > 1 else None,
        n=len(found),
        spread_is="deviation",
        seconds=float(np.mean([one["seconds"] for one in fits])) if fits else None,
        goal=None,
        note=note if fits else OUT_OF_TIME,
    )
