"""AgglomerativeBayes against SciPy's average linkage in time and memory, and the conga line against plain search.

Processor time in one thread. The goal at 5,000 × 16 is at most 30 times SciPy's time, and at most 16 bytes a pair; SciPy
takes 8 of these for its table of distances. Conga lines are compared as in Fig. 5 of Kurihara & Welling (2009): ten
Gaussians in the plane, τ = 3. The last case is a full tree of 20,000 rows, run once.
"""

import multiprocessing
import resource
import time

from ratio import arguments, race, report
from scipy.cluster.hierarchy import linkage

from kfree import AgglomerativeBayes
from kfree.datasets import make_gaussians

CONGA_SIZES = [250, 500, 1000, 2000]
MOST_TIMES_SCIPY = 30


def bayes(X, closest_pairs="plain"):
    return AgglomerativeBayes(closest_pairs=closest_pairs, n_threads=1).fit(X)


def average_linkage(X):
    return linkage(X, "average")


def peak_bytes(run, n_rows, n_features):
    """By how much one run raises the highest memory that a fresh process has used."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_rise, (run, n_rows, n_features))


def _rise(run, n_rows, n_features):
    run(rows(50, n_features))  # whatever is imported or allocated at first use
    X = rows(n_rows, n_features)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(X)
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def rows(n_rows, n_features):
    return make_gaussians(n_rows, n_features, 10, separation=3.0, random_state=0)[0]


def against_scipy(n_rows, n_features, rounds):
    X = rows(n_rows, n_features)
    contestants = {"kfree": lambda: bayes(X), "SciPy, average linkage": lambda: average_linkage(X)}
    row = race(f"{n_rows:,} × {n_features}", contestants, rounds, 1 / MOST_TIMES_SCIPY, clock=time.process_time)
    runs = {"kfree": bayes, "kfree, conga line": conga_line, "SciPy, average linkage": average_linkage}
    for name, run in runs.items():
        if name == "kfree, conga line" and n_rows > max(CONGA_SIZES):
            continue
        used = peak_bytes(run, n_rows, n_features)
        row.notes[name] = f"{used / 2**20:.0f} MB, {used / (n_rows * (n_rows - 1) / 2):.1f} bytes a pair"
    return row


def conga_line(X):
    return bayes(X, "conga-line")


def conga_against_plain(n_rows, rounds):
    """Looking at all pairs before every merge would be n³/6 looks."""
    X = rows(n_rows, 2)
    contestants = {"kfree": lambda: bayes(X), "kfree, conga line": lambda: conga_line(X)}
    return race(
        f"{n_rows:,} × 2",
        contestants,
        rounds,
        notes=lambda name, tree: (
            f"{tree.n_pairs_ / n_rows**2:.1f} n² pairs, {6 * tree.n_pairs_ / n_rows**3:.2g} of n³/6"
        ),
        clock=time.process_time,
    )


def main():
    options = arguments(__doc__)
    cases = [lambda: against_scipy(5000, 16, options.rounds)]
    cases += [lambda n=n: conga_against_plain(n, options.rounds) for n in CONGA_SIZES]
    cases += [lambda: against_scipy(20_000, 16, 1)]
    chosen = range(len(cases)) if options.only is None else options.only
    report("agglomerative", [cases[i]() for i in chosen], "scipy", "numpy")


if __name__ == "__main__":
    main()
