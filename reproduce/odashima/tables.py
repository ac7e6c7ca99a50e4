"""Tables 1, 2, 3 (costs over five orders of the rows) and 5 (numbers of clusters)."""

import numpy as np

from kfree.datasets import load
from reproduce.odashima.algorithms import ALGORITHMS, DEFAULT, run
from reproduce.odashima.published import COSTS, N_CLUSTERS
from reproduce.table import Line, half_width


def orders(X, n_orders=5):
    """The rows as given, then in random orders, which are the same each time."""
    yield X
    for seed in range(1, n_orders):
        yield X[np.random.default_rng(seed).permutation(len(X))]


def costs(name):
    """One of Tables 1 to 3. kfree's default is held against the paper's best, which is SMD throughout."""
    X = load(name).X
    return [
        cost_line(f"{name}, lam={lam:g}", algorithm, published.get(algorithm, published["SMD"]), X, lam)
        for lam, published in COSTS[name].items()
        for algorithm in ALGORITHMS
    ]


def cost_line(case, algorithm, published, X, lam):
    """Mean over the orders with a 95 % confidence interval, as in the paper; kfree's default does not visit rows."""
    runs = [run(algorithm, rows, lam) for rows in ([X] if algorithm == DEFAULT else orders(X))]
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


def n_clusters():
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
    return lines
