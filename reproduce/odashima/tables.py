"""Tables 1, 2, 3 (costs over five orders of the rows) and 5 (numbers of clusters)."""

import numpy as np

from kfree.datasets import load
from reproduce.odashima.algorithms import ALGORITHMS, DEFAULT, run
from reproduce.odashima.published import COSTS, N_CLUSTERS
from reproduce.result import Result
from reproduce.table import Line, half_width

N_ORDERS, QUICK_PENALTIES = 5, 1


def orders(X, n_orders=N_ORDERS):
    """The rows as given, then in random orders, which are the same each time."""
    yield X
    for seed in range(1, n_orders):
        yield X[np.random.default_rng(seed).permutation(len(X))]


def costs(name, quick):
    """One of Tables 1 to 3. kfree's default is held against the paper's best, which is SMD throughout.

    A quick run has the largest penalty and the given order of the rows.
    """
    X = load(name).X
    penalties = sorted(COSTS[name])[-QUICK_PENALTIES if quick else 0 :]
    return Result(
        [
            cost_line(f"{name}, lam={lam:g}", algorithm, COSTS[name][lam], X, lam, 1 if quick else N_ORDERS)
            for lam in penalties
            for algorithm in ALGORITHMS
        ]
    )


def cost_line(case, algorithm, by_algorithm, X, lam, n_orders):
    """Mean over the orders with a 95 % confidence interval, as in the paper; kfree's default does not visit rows."""
    published = by_algorithm.get(algorithm, by_algorithm["SMD"])
    runs = [run(algorithm, rows, lam) for rows in ([X] if algorithm == DEFAULT else orders(X, n_orders))]
    cost = np.array([done.cost for done in runs])
    k = [done.n_clusters for done in runs]
    return Line(
        case=case,
        method=f"{DEFAULT} (paper: SMD)" if algorithm == DEFAULT else algorithm,
        quantity="cost",
        paper=published.cost,
        paper_spread=published.spread,
        ours=cost.mean(),
        spread=half_width(cost),
        paper_seconds=published.seconds,
        seconds=float(np.mean([done.seconds for done in runs])),
        note=f"k={min(k)}" if min(k) == max(k) else f"k={min(k)}-{max(k)}",
    )


def n_clusters(quick):
    """Table 5. kfree's default is held against the grid search over k."""
    lines = []
    for (name, lam), published in N_CLUSTERS.items():
        X = load(name).X
        for algorithm in ALGORITHMS:
            done = run(algorithm, X, lam)
            lines.append(
                Line(
                    case=f"{name}, lam={lam:g}",
                    method=f"{DEFAULT} (paper: grid)" if algorithm == DEFAULT else algorithm,
                    quantity="clusters",
                    paper=published.get(algorithm, published["grid"]),
                    ours=done.n_clusters,
                    goal=None,
                    note=f"cost {done.cost:.4g}",
                )
            )
    return Result(lines)
