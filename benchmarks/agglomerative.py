"""AgglomerativeBayes against SciPy's average linkage in time and memory, and the conga line against plain search.

Processor time in one thread; memory is read from /proc. The goal at 5,000 × 16 is at most 30 times SciPy's time, and
at most 16 bytes a pair; SciPy takes 8 of these for its table of distances. Conga lines are compared as in Fig. 5 of
Kurihara & Welling (2009): ten Gaussians in the plane, τ = 3. The last case is a full tree of 20,000 rows, run once.
"""

import multiprocessing
import time

from ratio import Row, arguments, chosen, peak_bytes, race, report
from scipy.cluster.hierarchy import linkage

from kfree import AgglomerativeBayes
from kfree.datasets import make_gaussians

CONGA_SIZES = [250, 500, 1000, 2000]
MOST_TIMES_SCIPY = 30


def bayes(X, closest_pairs="plain"):
    return AgglomerativeBayes(closest_pairs=closest_pairs, n_threads=1).fit(X)


def average_linkage(X):
    return linkage(X, "average")


def measured(run, n_rows, n_features):
    """Seconds of one run in a fresh process, and by how much it raises the highest memory that this has used."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (run, n_rows, n_features))


def _measured(run, n_rows, n_features):
    run(rows(50, n_features))  # whatever is imported or allocated at first use
    X = rows(n_rows, n_features)
    before, started = peak_bytes(), time.process_time()
    run(X)
    return time.process_time() - started, peak_bytes() - before


def rows(n_rows, n_features):
    return make_gaussians(n_rows, n_features, 10, separation=3.0, random_state=0)[0]


def against_scipy(n_rows, n_features, rounds):
    row = Row(f"{n_rows:,} × {n_features}", target=1 / MOST_TIMES_SCIPY)
    n_pairs = n_rows * (n_rows - 1) / 2
    for _ in range(rounds):
        for name, run in {"kfree": bayes, "SciPy, average linkage": average_linkage}.items():
            seconds, used = measured(run, n_rows, n_features)
            row.seconds[name] = min(seconds, row.seconds.get(name, seconds))
            row.notes[name] = f"{used / 2**20:.0f} MB, {used / n_pairs:.1f} bytes a pair"
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
    report("agglomerative", [case() for case in chosen(cases, options)], "scipy", "numpy", only=options.only)


if __name__ == "__main__":
    main()
