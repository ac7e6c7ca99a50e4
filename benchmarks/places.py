"""Places on the Earth: 100,000 beside HDBSCAN's haversine distance, and 9,000,000 in memory and from a file.

    python benchmarks/places.py --rounds 1     # half an hour, nearly all of it for HDBSCAN
    python benchmarks/places.py --only 2       # the 9,000,000 rows alone

Seconds beside HDBSCAN are those of processors, those of 9,000,000 rows by the clock. Places are scattered around 50
towns, 5 to 40 km wide, everywhere on the Earth, and one in fifty is anywhere.
"""

import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from ratio import Row, arguments, chosen, race, report
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

from kfree import DPMeans

EARTH_RADIUS = 6371.0088
N_TOWNS, NOISE = 50, 0.02
# The goal for 9,000,000 rows, on 16 cores.
GOAL_SECONDS = 60.0

# Runs in a process of its own, so that the peak is that of the fit.
FITTED = """
import json, sys, time
import numpy as np
from kfree import DPMeans, open_rows
sys.path.insert(0, sys.argv[3])
from ratio import peak_bytes
rows = np.load(sys.argv[1]) if sys.argv[2] == "memory" else open_rows(sys.argv[1])
before = peak_bytes()
started, used = time.perf_counter(), time.process_time()
model = DPMeans(metric="haversine", random_state=0).fit(rows)
seconds, used = time.perf_counter() - started, time.process_time() - used
print(json.dumps([seconds, used, peak_bytes() - before, int(model.n_clusters_), int(model.n_passes_)]))
"""


def places(n_rows, seed=0):
    """Latitudes and longitudes in degrees, and the town of each, −1 for none."""
    rng = np.random.default_rng(seed)
    towns = rng.normal(size=(N_TOWNS, 3))
    towns /= np.linalg.norm(towns, axis=1, keepdims=True)
    town = rng.integers(N_TOWNS, size=n_rows)
    width = rng.uniform(5, 40, size=N_TOWNS)[town] / EARTH_RADIUS
    points = towns[town] + width[:, None] * rng.normal(size=(n_rows, 3))
    anywhere = rng.random(n_rows) < NOISE
    points[anywhere] = rng.normal(size=(int(anywhere.sum()), 3))
    x, y, z = points.T
    return np.degrees(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)])), np.where(anywhere, -1, town)


def beside_hdbscan(n_rows, rounds):
    X, truth = places(n_rows)
    in_town = truth >= 0

    def notes(name, labels):
        agreement = adjusted_rand_score(truth[in_town], labels[in_town])
        return f"{len(set(labels.tolist()) - {-1})} clusters, ARI {agreement:.4f}, {(labels < 0).mean():.1%} noise"

    runs = {
        "kfree": lambda: DPMeans(metric="haversine", random_state=0).fit(X).labels_,
        "scikit-learn HDBSCAN": lambda: HDBSCAN(
            min_cluster_size=50, metric="haversine", algorithm="ball_tree", copy=True
        ).fit_predict(np.radians(X)),
    }
    yield race(f"{n_rows:,} places around {N_TOWNS} towns", runs, rounds, notes=notes, clock=time.process_time)


def nine_million(_):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "places.npy"
        np.save(path, places(9_000_000)[0])
        for where in ("memory", "a file"):
            command = [sys.executable, "-c", FITTED, path, where, Path(__file__).parent]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            seconds, used, n_bytes, k, n_passes = json.loads(done.stdout)
            row = Row(f"9,000,000 places in {where}", {"kfree": seconds})
            memory = f"{n_bytes / 1e6:.0f} MB beside what was there before"
            facts = f"k = {k}, {n_passes} passes, {used:.0f} s of processor time, {memory}"
            row.notes["kfree"] = f"{facts}; goal {GOAL_SECONDS:.0f} s on 16 cores"
            yield row


def main():
    options = arguments(__doc__)
    cases = [partial(beside_hdbscan, 20_000), partial(beside_hdbscan, 100_000), nine_million]
    rows = [row for case in chosen(cases, options) for row in case(options.rounds)]
    report("places", rows, "scikit-learn", only=options.only)


if __name__ == "__main__":
    main()
