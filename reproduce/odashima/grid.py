"""A grid over k: the best that scikit-learn's k-means reaches for a penalty, against kfree's default.

The grid takes hours, so its fits are kept in ``grid.json`` beside this file. ``python -m reproduce.odashima.grid``
makes those that are missing, one after the other, in one thread, and may be stopped and started again. Seconds are
those of the processor, so that other work on the machine counts as little as possible.
"""

import argparse
import json
import time
from datetime import date
from pathlib import Path

import numpy as np
import sklearn
from sklearn.cluster import KMeans as SklearnKMeans
from threadpoolctl import threadpool_limits

from reproduce.cells import age_of
from reproduce.data import load
from reproduce.odashima.algorithms import DEFAULT
from reproduce.odashima.tables import kept_run
from reproduce.provenance import machine
from reproduce.result import Result
from reproduce.table import OUT_OF_TIME, Line

KEPT = Path(__file__).with_name("grid.json")

# For each set and penalty, about the best number of clusters; the grid covers 0.6 to 1.6 times as many. Light fits
# first.
MIDDLE = {
    ("mnist-pca10", 1000.0): 56,
    ("mnist-pca10", 200.0): 170,
    ("usgs", 0.1): 420,
    ("usgs", 0.32): 255,
    ("usgs", 1.0): 155,
    ("usgs", 3.2): 95,
    ("kdd2004bio", 1e9): 52,
    ("kdd2004bio", 3.2e8): 100,
    ("mnist-pca10", 40.0): 800,
    ("kdd2004bio", 1e8): 290,
    ("mnist-pca10", 8.0): 3000,
    ("kdd2004bio", 3.2e7): 730,
}


def numbers_of_clusters(middle):
    """Twelve values of k at equal ratios."""
    return [round(k) for k in middle * np.geomspace(0.6, 1.6, 12)]


def fit(X, k):
    """One value of k: the best of three k-means++ starts."""
    wall, processor = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        model = SklearnKMeans(k, init="k-means++", n_init=3, random_state=0).fit(X)
    return {
        "k": k,
        "inertia": model.inertia_,
        "cpu_seconds": round(time.process_time() - processor, 3),
        "wall_seconds": round(time.perf_counter() - wall, 3),
    }


def complete(only=None):
    """Make the fits that are missing, and keep each as soon as it is there."""
    kept = read()
    for (name, lam), middle in MIDDLE.items():
        done = kept["fits"].setdefault(name, [])
        missing = sorted(set(numbers_of_clusters(middle)) - {old["k"] for old in done})
        if not missing or (only and name not in only):
            continue
        X = load(name).X
        for k in missing:
            new = fit(X, k)
            done.append(new)
            done.sort(key=lambda one: one["k"])
            kept |= {"machine": machine(), "date": date.today().isoformat(), "scikit-learn": sklearn.__version__}
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
            print(name, f"lam={lam:g}", *(f"{key} {value:.6g}" for key, value in new.items()), flush=True)


def read():
    return json.loads(KEPT.read_text()) if KEPT.exists() else {"fits": {}}


def about():
    """Where and when the grid was made."""
    kept = read()
    return f"on {kept['machine']}, until {kept['date']}, with scikit-learn {kept['scikit-learn']}"


def best(kept, name, lam, middle):
    """The lowest cost, its k, and the seconds of the twelve fits; None if some of these are missing.

    Fits that were made for another penalty count as well if they are better, but not their seconds.
    """
    by_k = {one["k"]: one for one in kept["fits"].get(name, [])}
    wanted = numbers_of_clusters(middle)
    if not by_k.keys() >= set(wanted):
        return None
    winner = min(by_k.values(), key=lambda one: one["inertia"] + lam * one["k"])
    return winner["inertia"] + lam * winner["k"], winner["k"], sum(by_k[k]["cpu_seconds"] for k in wanted)


def result(quick):
    """kfree's default, as in Tables 1 to 3, against every complete grid; a quick run has the lighter half of them."""
    kept, made = read(), []
    for (name, lam), middle in list(MIDDLE.items())[: len(MIDDLE) // 2 if quick else None]:
        found = best(kept, name, lam, middle)
        if found is None:
            print(f"{name}, lam={lam:g}: the grid is not complete; python -m reproduce.odashima.grid makes the rest.")
            continue
        made.append(grid_line(f"{name}, lam={lam:g}", found, kept_run(name, load(name).X, DEFAULT, lam)))
    return Result(made)


def grid_line(case, found, run):
    """``run`` is None where no time was left for it."""
    cost, k, grid_seconds = found
    note = OUT_OF_TIME
    if run is not None:
        note = f"k={run['n_clusters']:.0f} (grid {k}), 1/{grid_seconds / run['seconds']:.0f} of the time"
        note += age_of(run)
    return Line(
        case=case,
        method="kfree default against grid",
        quantity="cost",
        paper=cost,
        ours=None if run is None else run["cost"],
        paper_seconds=grid_seconds,
        seconds=None if run is None else run["seconds"],
        digits=12,
        against="grid",
        note=note,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of data sets (default: all)")
    complete(parser.parse_args().only)
