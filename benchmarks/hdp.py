"""Shared clusters: the paper's fifty sets against k-means on all their rows, and sweeps over a million rows.

Kulis & Jordan (2012), §6.3, report 28.8 s for hard HDP and 2.7 s for k-means on the fifty sets.
"""

import sys
import time
from pathlib import Path

import numpy as np
from ratio import Row, arguments, chosen, peak_bytes, race, report
from sklearn.cluster import KMeans as SklearnKMeans

from kfree import HardHDP, KMeans

sys.path.insert(0, str(Path(__file__).parents[1]))
from reproduce.kulis_jordan.section6_3 import data_sets

LARGE = {"n_groups": 1000, "n_rows": 1000, "d": 16, "n_clusters": 30, "n_used": 5}


def paper(rounds):
    """RowCosts as ``HardHDP()`` finds them on these data."""
    X, _, group = data_sets(0)
    found = HardHDP().fit(X, groups=group)
    contestants = {
        "kfree": lambda: HardHDP(lam_local=found.lam_local_, lam_global=found.lam_global_).fit(X, groups=group),
        "kfree, no penalty given": lambda: HardHDP().fit(X, groups=group),
        "kfree, sweeps": lambda: HardHDP(lam_local=found.lam_local_, lam_global=found.lam_global_, search="sweep").fit(
            X, groups=group
        ),
        "k-means, kfree": lambda: KMeans(15, n_init=10, random_state=0).fit(X),
        "k-means, scikit-learn": lambda: SklearnKMeans(15, n_init=10, random_state=0).fit(X),
    }

    def notes(name, model):
        return f"cost {model.cost_:.2f}" if isinstance(model, HardHDP) else ""

    return race("50 sets of 25 rows in the plane, CPU time", contestants, rounds, notes=notes, clock=time.process_time)


def many_groups(n_groups, n_rows, d, n_clusters, n_used):
    """Groups that use a few of the clusters each; rows are made in place, so that X is the peak of memory."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(n_clusters, d))
    X = np.empty((n_groups * n_rows, d), dtype=np.float32)
    rng.standard_normal(out=X, dtype=np.float32)
    for g in range(n_groups):
        rows = slice(g * n_rows, (g + 1) * n_rows)
        X[rows] += centres[rng.choice(n_clusters, n_used, replace=False)][rng.integers(n_used, size=n_rows)]
    return X, np.repeat(np.arange(n_groups), n_rows)


def large():
    """Sweeps with penalties near the right ones, beside an iteration of scikit-learn's k-means."""
    X, group = many_groups(**LARGE)
    before = peak_bytes()
    started = time.process_time()
    model = HardHDP(lam_local=60.0, lam_global=200.0, search="sweep").fit(X, groups=group)
    seconds = (time.process_time() - started) / model.n_iter_
    memory = (peak_bytes() - before) / 2**20
    k = model.n_global_clusters_
    started = time.process_time()
    SklearnKMeans(k, init=X[:k], n_init=1, max_iter=10, tol=0).fit(X)
    theirs = (time.process_time() - started) / 10
    local = model.n_local_clusters_.mean()
    found = f"{model.n_iter_} sweeps, {k} global, {local:.2f} local clusters"
    note = f"{found}, {memory:.0f} MB beyond X ({X.nbytes / 2**20:.0f} MB)"
    case = "a sweep over 1,000 groups of 1,000 rows × 16, CPU time"
    return Row(case, {"kfree": seconds, "scikit-learn, a k-means iteration": theirs}, {"kfree": note})


def large_search():
    """The whole default search on the same rows, penalties found and given."""
    X, group = many_groups(**LARGE)
    row = Row("a fit of 1,000 groups of 1,000 rows × 16, CPU time")
    for name, penalties in {"kfree": {"lam_local": 60.0, "lam_global": 200.0}, "kfree, no penalty given": {}}.items():
        started = time.process_time()
        model = HardHDP(**penalties).fit(X, groups=group)
        row.seconds[name] = time.process_time() - started
        row.notes[name] = f"{model.n_global_clusters_} global, {model.n_local_clusters_.mean():.2f} local clusters"
    return row


def main():
    options = arguments(__doc__)
    cases = [lambda: paper(options.rounds), large, large_search]
    report("hdp", [case() for case in chosen(cases, options)], "scikit-learn", "numpy", only=options.only)


if __name__ == "__main__":
    main()
