"""Tables 1, 2, 3 (costs over five orders of the rows) and 5 (numbers of clusters)."""

from dataclasses import asdict
from functools import partial

import numpy as np

from reproduce.cells import Cells, age_of, several
from reproduce.data import load
from reproduce.odashima.algorithms import ALGORITHMS, DEFAULT, run
from reproduce.odashima.published import COSTS, N_CLUSTERS
from reproduce.result import Result
from reproduce.table import OUT_OF_TIME, Line, half_width

N_ORDERS, QUICK_PENALTIES = 5, 1


def in_order(X, seed):
    """The rows as given for seed 0, else in a random order, which is the same each time."""
    return X if seed == 0 else X[np.random.default_rng(seed).permutation(len(X))]


def kept_run(name, X, algorithm, lam, seed=0):
    """A fit to the rows in the order of ``seed``; in Tables 1 to 3 and 5 the same."""
    cells = Cells("odashima-fits", ["set", "lam", "algorithm", "order"], ["cost", "n_clusters", "seconds"])
    return cells.get(partial(fitted, ALGORITHMS[algorithm], X, lam, seed), name, lam, algorithm, seed)


def fitted(algorithm, X, lam, seed):
    return asdict(run(algorithm, in_order(X, seed), lam))


def costs(name, quick):
    """One of Tables 1 to 3. kfree's default is held against the paper's best, which is SMD throughout.

    A quick run has the largest penalty and the given order of the rows.
    """
    X = load(name).X
    penalties = sorted(COSTS[name])[-QUICK_PENALTIES if quick else 0 :]
    n_orders = 1 if quick else N_ORDERS
    made = {
        (lam, algorithm): [
            kept_run(name, X, algorithm, lam, seed) for seed in range(1 if algorithm == DEFAULT else n_orders)
        ]
        for lam in reversed(penalties)  # large penalties are fast
        for algorithm in ALGORITHMS
    }
    return Result(
        [cost_line(name, algorithm, lam, made[lam, algorithm]) for lam in penalties for algorithm in ALGORITHMS]
    )


def cost_line(name, algorithm, lam, made):
    """Mean over the orders with a 95 % confidence interval, as in the paper; kfree's default does not visit rows."""
    published = COSTS[name][lam].get(algorithm, COSTS[name][lam]["SMD"])
    runs, note = several(made, 1 if algorithm == DEFAULT else N_ORDERS, "orders")
    cost = np.array([done["cost"] for done in runs])
    return Line(
        case=f"{name}, lam={lam:g}",
        method=f"{DEFAULT} (paper: SMD)" if algorithm == DEFAULT else algorithm,
        quantity="cost",
        paper=published.cost,
        paper_spread=published.spread,
        paper_n=N_ORDERS,
        ours=cost.mean() if runs else None,
        spread=half_width(cost),
        n=None if algorithm == DEFAULT else len(cost),
        paper_seconds=published.seconds,
        seconds=float(np.mean([done["seconds"] for done in runs])) if runs else None,
        note=_clusters(runs) + (f", {note}" if note else "") if runs else OUT_OF_TIME,
    )


def _clusters(runs):
    k = [round(done["n_clusters"]) for done in runs]
    return f"k={min(k)}" if min(k) == max(k) else f"k={min(k)}-{max(k)}"


def n_clusters(quick):
    """Table 5. kfree's default is held against the grid search over k."""
    lines = []
    for (name, lam), published in N_CLUSTERS.items():
        X = load(name).X
        made = {algorithm: kept_run(name, X, algorithm, lam) for algorithm in ALGORITHMS}
        lines += [
            Line(
                case=f"{name}, lam={lam:g}",
                method=f"{DEFAULT} (paper: grid)" if algorithm == DEFAULT else algorithm,
                quantity="clusters",
                paper=published.get(algorithm, published["grid"]),
                ours=None if done is None else round(done["n_clusters"]),
                goal=None,
                note=OUT_OF_TIME if done is None else f"cost {done['cost']:.4g}{age_of(done)}",
            )
            for algorithm, done in made.items()
        ]
    return Result(lines)
