"""A stream in chunks of 1024 rows × 16 at k = 10, 100, 1000 and 10,000 clusters: rows per second of OnlineDPMeans with
and without splits, scikit-learn's MiniBatchKMeans and a loop over rows in NumPy; processor time, one thread each."""

import time

import numpy as np
from ratio import arguments, chosen, race, report
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from kfree import OnlineDPMeans

CHUNK, N_FEATURES = 1024, 16
# Number of clusters → chunks in a run.
CASES = {10: 100, 100: 100, 1000: 50, 10_000: 10}
# Between the squared distances within blobs and those between them, and high enough for no blob to be split.
LAM = 3e5


class NumpyLoop:
    """Online DP-means, one row at a time, each against all centres at once."""

    def __init__(self, centres):
        self.centres, self.weights = centres.astype(np.float64), np.ones(len(centres))

    def partial_fit(self, chunk):
        for x in chunk.astype(np.float64):
            gaps = x - self.centres
            sq_dist = np.einsum("ij,ij->i", gaps, gaps)
            j = sq_dist.argmin()
            if sq_dist[j] > LAM:
                self.centres, self.weights = np.vstack([self.centres, x]), np.append(self.weights, 1.0)
            else:
                self.weights[j] += 1
                self.centres[j] += gaps[j] / self.weights[j]


def stream(k, n_chunks):
    """The centres of k blobs, and chunks of rows around them."""
    rng = np.random.default_rng(k)
    centres = rng.uniform(-1000, 1000, size=(k, N_FEATURES)).astype(np.float32)
    shape = n_chunks, CHUNK
    noise = rng.standard_normal(size=(*shape, N_FEATURES), dtype=np.float32)
    return centres, list(centres[rng.integers(k, size=shape)] + noise)


def contestants(k, n_chunks):
    """Models that have seen every centre once; each run takes all chunks, and the clusters stay the same k."""
    centres, chunks = stream(k, n_chunks)
    models = {
        "kfree": OnlineDPMeans(lam=LAM, search="published", split=False).partial_fit(centres),
        "kfree, split=True": OnlineDPMeans(lam=LAM, search="published").partial_fit(centres),
        "MiniBatchKMeans": MiniBatchKMeans(k, init=centres, n_init=1, reassignment_ratio=0).partial_fit(centres),
        "NumPy loop": NumpyLoop(centres),
    }

    def run(model):
        for chunk in chunks:
            model.partial_fit(chunk)
        return model

    return {name: lambda model=model: run(model) for name, model in models.items()}


def n_clusters(name, model):
    centres = model.centres if isinstance(model, NumpyLoop) else model.cluster_centers_
    return f"{len(centres)} clusters"


def main():
    options = arguments(__doc__)
    table = []
    for k, n_chunks in chosen(CASES.items(), options):
        with threadpool_limits(1):
            row = race(
                f"k = {k:,}", contestants(k, n_chunks), options.rounds, notes=n_clusters, clock=time.process_time
            )
        for name, seconds in row.seconds.items():
            row.notes[name] += f", {n_chunks * CHUNK / seconds:,.0f} rows a second"
        table.append(row)
    report("online", table, "scikit-learn", "numpy", only=options.only)


if __name__ == "__main__":
    main()
