"""DPMeans against pdc-dp-means: seconds per sweep and per fit, and the cost that each reaches.

pdc-dp-means needs an old scikit-learn, so it lives in an environment of its own:
``python benchmarks/dp_means_sweep.py --peer path/to/its/python``. It opens at most one cluster per iteration, the
sweep of DP-means as many as are wanted; so both times are shown.
"""

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ratio import Row, markdown, report

from kfree import DPMeans, datasets

KFREE = {
    "kfree": {"search": "sweep"},
    "kfree, one thread": {"search": "sweep", "n_threads": 1},
    "kfree, split-merge": {},
}
PEERS = {
    "pdc-dp-means": {"n_clusters": 1, "init": "mean"},
    "pdc-dp-means, its own start (8 × k-means++)": {},
}


def gaussians(n=50_000, k=20, seed=0):
    """Round Gaussians of standard deviation 1 in the plane around normal centres of 10; columns standardised."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=10, size=(k, 2))
    X = centres[rng.integers(k, size=n)] + rng.normal(size=(n, 2))
    return (X - X.mean(axis=0)) / X.std(axis=0)


# The last one is a number of seconds, less than the peer takes: what does kfree's search reach by then?
CASES = [
    ("MNIST, 8 components, lam=16.89", lambda: datasets.load("mnist-pca8").X, 16.89, 0.5),
    ("20 Gaussians 50,000 × 2, seed 0, lam=1.1422", gaussians, 1.1422, 0.02),
]


@dataclass
class Fit:
    """What one fit took and gave."""

    seconds: float
    cpu_seconds: float
    n_iter: int
    labels: np.ndarray
    centres: np.ndarray

    def describe(self, X, lam):
        cost = ((X - self.centres[self.labels]) ** 2).sum() + lam * len(self.centres)
        return f"cost {cost:.6g}, k={len(self.centres)}, {self.n_iter} iterations"


def fit_kfree(X, lam, settings):
    started, processor = time.perf_counter(), time.process_time()
    model = DPMeans(lam=lam, **settings).fit(X)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - processor
    return Fit(seconds, cpu_seconds, model.n_iter_, model.labels_, model.cluster_centers_)


class Peer:
    """A process with pdc-dp-means that holds the rows and fits on demand."""

    def __init__(self, python, folder, X, lam, settings):
        rows, self.answer = Path(folder) / "rows.npy", Path(folder) / "answer.npz"
        np.save(rows, X)
        script = Path(__file__).with_name("pdc_peer.py")
        command = [python, script, rows, str(lam), json.dumps(settings), self.answer]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self._hear()

    def fit(self):
        self.process.stdin.write("fit\n")
        self.process.stdin.flush()
        told = self._hear()
        with np.load(self.answer) as file:
            return Fit(**told, labels=file["labels"], centres=file["centres"])

    def _hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("The peer gave up; --peer must name a Python that has pdc-dp-means.")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def race(case, X, lam, contestants, rounds):
    """Contestants take turns; the best time of each, per sweep and per fit.

    Each fits twice in a turn, since the first fit finds its threads asleep.
    """
    fits = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, fit in contestants.items():
            fits[name] += [fit(), fit()]
    rows = [Row(f"{case}, one sweep", target=5.0), Row(f"{case}, whole fit")]
    for name, done in fits.items():
        # On a machine that does other work, the processor's time is the surer measure.
        cpu_ms = 1e3 * min(fit.cpu_seconds / fit.n_iter for fit in done)
        rows[1].seconds[name] = min(fit.seconds for fit in done)
        rows[1].notes[name] = done[0].describe(X, lam)
        if name in PEERS or KFREE.get(name, {}).get("search") == "sweep":
            rows[0].seconds[name] = min(fit.seconds / fit.n_iter for fit in done)
            rows[0].notes[name] = f"{done[0].describe(X, lam)}, {cpu_ms:.2f} ms of processor time a sweep"
    print(*markdown(rows).splitlines()[2:], sep="\n", flush=True)
    return rows


def compare(case, X, lam, seconds, python, rounds):
    """One case; returns its rows and the peer's versions."""
    contestants = {name: lambda s=settings: fit_kfree(X, lam, s) for name, settings in KFREE.items()}
    contestants[f"kfree, split-merge, time_budget={seconds}"] = lambda: fit_kfree(X, lam, {"time_budget": seconds})
    with tempfile.TemporaryDirectory() as folder:
        peers = {name: Peer(python, folder, X, lam, settings) for name, settings in PEERS.items()}
        contestants |= {name: peer.fit for name, peer in peers.items()}
        rows = race(case, X, lam, contestants, rounds)
        for peer in peers.values():
            peer.close()
    return rows, peers["pdc-dp-means"].versions


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, metavar="PYTHON", help="the interpreter that has pdc-dp-means")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant (default: %(default)s)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for case, make, lam, seconds in CASES:
        found, versions = compare(case, make(), lam, seconds, options.peer, options.rounds)
        rows += found
    report("dp_means_sweep", rows, "scikit-learn", "numpy", peer=versions)


if __name__ == "__main__":
    main()
