"""The cases of k_means.py, dp_means_sweep.py and split_merge.py, and small fits, with two builds of kfree, in one run.

``python benchmarks/before_after.py --old PLACE`` compares another kfree with the one that runs this script. A place is
the interpreter of an environment, or a source tree with its compiled core, such as a worktree of another commit. Both
builds fit in turns on one thread, and each keeps its best processor time, which other work on the machine changes
little; the heading says how much other work there was. A short fit is repeated for a while in each turn. No case may
take more than 3 % longer, and no cost may be higher.
Real data sets run where KFREE_DATA names their folder.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from ratio import RESULTS, commit, processor
from sklearn.datasets import make_blobs

MOST = 1.03
# Seconds in which a short fit is repeated.
A_WHILE = 1.0
REAL = {"mnist, 10 iterations": ("mnist", 100, 10), "usgs": ("usgs", 150, 2000), "sift": ("sift", 256, 2000)}
# Rows, columns.
SMALL = [(600, 3), (10_000, 4)]
SWEEP = {"lam": 50.0, "search": "sweep"}
# Rows, columns, clusters, iterations.
BLOBS = [
    (200_000, 2, 100, 10),
    (200_000, 2, 100, 2000),
    (200_000, 16, 500, 10),
    (200_000, 16, 500, 2000),
    (100_000, 128, 1000, 2000),
    (50_000, 768, 1000, 2000),
]


def k_means(load, k, max_iter):
    from kfree import KMeans

    X = load()
    init = X[np.random.default_rng(0).choice(X.shape[0], k, replace=False)]
    init = init if isinstance(init, np.ndarray) else init.toarray()
    max_iter += _counts_first_pass()
    return lambda: KMeans(k, init=init, tol=0, max_iter=max_iter, n_threads=1).fit(X)


def _counts_first_pass():
    """Whether ``max_iter`` of this build counts the first pass, before centres have moved; scikit-learn's does not."""
    from kfree import KMeans

    X, init = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([[0.0], [10.0]])
    return 0.0 in KMeans(2, init=init, tol=0, max_iter=1).fit(X).cluster_centers_


def dp_means(load, **settings):
    from kfree import DPMeans

    X = load()
    return lambda: DPMeans(n_threads=1, **settings).fit(X)


def cases():
    """For each name a function that prepares a fit."""
    import dp_means_sweep
    import k_means as tables

    found = {}
    for n, d in SMALL:
        load = lambda n=n, d=d: make_blobs(n, n_features=d, centers=5, random_state=0)[0]  # noqa: E731
        for name, settings in [("DPMeans()", {}), ("DPMeans(lam=50)", {"lam": 50.0}), ("sweep", SWEEP)]:
            found[f"{name}, 5 blobs {n:,} × {d}"] = lambda load=load, told=settings: dp_means(load, **told)
        found[f"KMeans(5), 5 blobs {n:,} × {d}"] = lambda load=load: k_means(load, 5, 300)
    for n, d, k, most in BLOBS:
        until = f"{most} iterations" if most <= 10 else "to convergence"
        load = lambda n=n, d=d, k=k: tables.blobs(n, d, k)  # noqa: E731
        found[f"KMeans, blobs {n:,} × {d}, k={k}, {until}"] = lambda load=load, k=k, most=most: k_means(load, k, most)
    for case, make, lam, _ in dp_means_sweep.CASES:
        if "MNIST" not in case or "KFREE_DATA" in os.environ:
            found[f"sweep, {case}"] = lambda make=make, lam=lam: dp_means(make, lam=lam, search="sweep")
            found[f"split-merge, {case}"] = lambda make=make, lam=lam: dp_means(make, lam=lam)
    found["DPMeans(), 100 blobs 100,000 × 16"] = lambda: dp_means(lambda: tables.blobs(100_000, 16, 100))
    if "KFREE_DATA" in os.environ:
        for name, (data, k, most) in REAL.items():
            load = lambda data=data: tables.real(data)  # noqa: E731
            found[f"KMeans, {name}, k={k}"] = lambda load=load, k=k, most=most: k_means(load, k, most)
        found["KMeans, 20 newsgroups (4 groups), TF-IDF, k=20"] = lambda: k_means(tables.news, 20, 2000)
        usgs = lambda: tables.real("usgs")  # noqa: E731
        found["split-merge, USGS, lam=1"] = lambda: dp_means(usgs, lam=1.0)
        from kfree import datasets

        mnist = lambda: datasets.load("mnist-pca10").X  # noqa: E731
        found["split-merge, MNIST 70,000 × 10, lam=1000"] = lambda: dp_means(mnist, lam=1000.0)
    return found


def serve(name):
    """Fits on demand, in a process that holds the rows. The first fit is not timed: it imports modules."""
    warnings.simplefilter("ignore")
    fit = cases()[name]()
    fit()
    for _ in sys.stdin:
        seconds, until = np.inf, time.monotonic() + A_WHILE
        while True:
            begin = time.process_time()
            model = fit()
            seconds = min(seconds, time.process_time() - begin)
            if time.monotonic() > until:
                break
        # Costs at penalties that the fits chose themselves are not comparable, inertias are.
        cost = model.cost_ if getattr(model, "path_", None) is None else model.inertia_
        told = {"seconds": seconds, "cost": cost, "k": len(model.cluster_centers_), "n_iter": model.n_iter_}
        told["place"] = str(Path(sys.modules["kfree"].__file__).parent)
        print(json.dumps(told), flush=True)


class Build:
    """A process of the build at a place: an interpreter, or a source tree for the interpreter of this script."""

    def __init__(self, place, name):
        is_tree = Path(place).is_dir()
        command = [sys.executable if is_tree else place, __file__, "--serve", name]
        environment = os.environ | ({"PYTHONPATH": f"{place}/src"} if is_tree else {})
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, **pipes)
        self.fits = []

    def fit(self):
        self.process.stdin.write("fit\n")
        self.process.stdin.flush()
        self.fits.append(json.loads(self.process.stdout.readline()))

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    @property
    def seconds(self):
        return min(fit["seconds"] for fit in self.fits)


def compare(name, places, rounds, most_seconds):
    """Seconds, cost and k of both builds. Long fits are repeated less often."""
    old, new = builds = [Build(place, name) for place in places]
    for _ in range(rounds):
        for build in builds:
            build.fit()
        if old.seconds + new.seconds > most_seconds:
            break
    for build in builds:
        build.close()
    before, after = old.fits[0], new.fits[0]
    if before["place"] == after["place"]:
        sys.exit(f"both builds are {after['place']}: an editable install comes before a source tree.")
    return {
        "case": name,
        "old_seconds": old.seconds,
        "new_seconds": new.seconds,
        "old": {key: before[key] for key in ("cost", "k", "n_iter")},
        "new": {key: after[key] for key in ("cost", "k", "n_iter")},
    }


def described(row, build):
    found = row[build]
    return f"cost {found['cost']:.10g}, k={found['k']}, {found['n_iter']} iterations"


def line(row):
    ratio = row["new_seconds"] / row["old_seconds"]
    late = "" if ratio <= MOST else " **slower**"
    worse = "" if row["new"]["cost"] <= row["old"]["cost"] * (1 + 1e-12) else " **higher cost**"
    seconds = f"{row['old_seconds']:.4g} | {row['new_seconds']:.4g} | {ratio:.3f}{late}"
    return f"| {row['case']} | {seconds} | {described(row, 'old')} | {described(row, 'new')}{worse} |"


def commit_at(place):
    """The commit of a source tree, or that of this script for an interpreter."""
    if not Path(place).is_dir():
        return commit()
    told = subprocess.run(["git", "-C", place, "describe", "--always"], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def rows_of(path, builds):
    """The cases that were kept of a comparison of the same builds."""
    found = json.loads(path.read_text()) if path.exists() else {"heading": "", "rows": []}
    return found["rows"] if found["heading"].startswith(builds) else []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", metavar="PLACE", help="an interpreter or a source tree with the older build")
    parser.add_argument("--new", metavar="PLACE", default=sys.executable, help="the newer one (default: this one)")
    parser.add_argument("--name", help="what the older build is, for the table (default: the commit of its tree)")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of the cases to run")
    parser.add_argument("--rounds", type=int, default=5, help="most turns of each build (default: %(default)s)")
    parser.add_argument("--most-seconds", type=float, default=6.0, help="no second turn for fits that take longer")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    old = options.name or commit_at(options.old)
    heading = (
        f"old: {old}, new: {commit_at(options.new)}; processor seconds on one thread of {processor()}, the best of up "
        f"to {options.rounds} turns; load {os.getloadavg()[1]:.1f} at the beginning"
    )
    head = [heading, "", "| case | old | new | new : old | old | new |", "|" + "---|" * 6]
    kept = RESULTS / "before_after.md"
    rows = rows_of(kept.with_suffix(".json"), f"old: {old}, new: {commit_at(options.new)};")
    for name in cases():
        if any(part in name for part in options.only):
            rows = [row for row in rows if row["case"] != name]
            rows.append(compare(name, [options.old, options.new], options.rounds, options.most_seconds))
            print(line(rows[-1]), flush=True)
            kept.write_text("\n".join(head + [line(row) for row in rows]) + "\n")
            kept.with_suffix(".json").write_text(json.dumps({"heading": head[0], "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
