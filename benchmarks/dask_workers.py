"""Rows of files on Dask workers: speed against threads, a model of the cost, and dask-ml's k-means.

    python benchmarks/dask_workers.py speed 1e7       # two worker processes and two threads, the same passes
    python benchmarks/dask_workers.py constants       # what the model of docs/scale.md is made of
    python benchmarks/dask_workers.py parts 1e8       # the model against passes over 64 parts
    python benchmarks/dask_workers.py plan            # 1e12 rows on 1,000 workers, by that model
    python benchmarks/dask_workers.py peers 1e7       # dask-ml's KMeans on the same files; needs dask-ml
    python benchmarks/dask_workers.py peers 1e7 dask-ml 1500    # that alone, for at most 1,500 seconds

Each part replaces its table in benchmarks/results/dask_workers.json and dask_workers.md. Files are those of files.py.
"""

import signal
import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
from files import N_BLOBS, N_COLUMNS, written_blobs
from kept import Kept

CHUNK_ROWS, BLOCK = 1 << 17, 2048
# Of the files that files.py writes.
ROWS_PER_FILE, ROWS_PER_GROUP = 2_500_000, 1 << 18
# Workers are processes with one thread; memory limits would be in the way of a measurement.
CLUSTER = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}


def opened(folder, client=None, n_threads=2, place=None):
    """The rows of files, on two threads of this process or on workers."""
    from kfree import open_rows
    from kfree.core.frame import Frame
    from kfree.engines.dask.cluster import Cluster
    from kfree.engines.dask.rows import DaskRows, FilesOnWorkers
    from kfree.engines.files.engine import StreamedRows
    from kfree.engines.files.source import Reading

    rows, frame = open_rows(folder), Frame.plain(N_COLUMNS)
    if client is None:
        return StreamedRows(rows, Reading("auto", n_threads, CHUNK_ROWS), frame)
    workers = (place or FilesOnWorkers)(Cluster(client), rows, Reading("auto", 1, CHUNK_ROWS))
    return DaskRows(workers, frame)


def sites_of(k):
    """Sites near the blobs."""
    from files import blobs

    from kfree.core.sites import Sites

    return Sites.of(blobs(k, begin=12345).astype(np.float64))


def processor_seconds(client):
    """Processor time of this process and of all workers so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def best_of(rounds, contestants, clock=time.perf_counter):
    """The least seconds of each contestant, which take turns."""
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(rounds):
        for name, run in contestants.items():
            begun = clock()
            run()
            best[name] = min(best[name], clock() - begun)
    return best


def speed(n_rows="1e7", rounds="3", ks="100,1000"):
    """The same pass on two worker processes and on two threads, in seconds and processor seconds."""
    import distributed

    folder = written_blobs(int(float(n_rows)))
    with distributed.LocalCluster(**CLUSTER) as cluster, distributed.Client(cluster) as client:
        threads, workers = opened(folder), opened(folder, client)
        for k in map(int, ks.split(",")):
            sites = sites_of(k)
            contestants = {"threads": lambda s=sites: threads.nearest(s), "workers": lambda s=sites: workers.nearest(s)}
            same = np.array_equal(threads.nearest(sites).stats.sum, workers.nearest(sites).stats.sum)
            wall = best_of(int(rounds), contestants)
            processor = best_of(1, contestants, lambda: processor_seconds(client))
            row = {"rows": int(float(n_rows)), "k": k}
            row |= {f"{name}, s": round(seconds, 2) for name, seconds in wall.items()}
            row |= {f"{name}, processor s": round(seconds, 2) for name, seconds in processor.items()}
            row["speed of workers / threads"] = round(wall["threads"] / wall["workers"], 2)
            row["the same in processor time"] = round(processor["threads"] / processor["workers"], 2)
            row["same bits"] = same
            KEPT.keep("speed", row, same=("rows", "k"))


def constants(n_rows="1e7"):
    """Processor seconds of a worker per row read, per row and centre; of the client per task, and per byte joined."""
    import distributed

    from kfree.engines.sums import Sums, merged

    n_rows = int(float(n_rows))
    folder = written_blobs(n_rows)
    by_k = {}
    with distributed.LocalCluster(**{**CLUSTER, "n_workers": 1}) as cluster, distributed.Client(cluster) as client:
        alone = opened(folder, client)
        for k in (1, 1, 256, 1024):  # the first time it imports what it needs
            begun = processor_seconds(client)
            alone.nearest(sites_of(k))
            by_k[k] = processor_seconds(client) - begun
    per_distance = (by_k[1024] - by_k[256]) / (n_rows * 768)
    with distributed.LocalCluster(**{**CLUSTER, "processes": False}) as cluster, distributed.Client(cluster) as client:
        per_task = _seconds_per_task(client)
    sums = [np.zeros((1, 1000, *shape)) for shape in ((), (N_COLUMNS,), ())]
    nodes = [Sums([(0, block)], *sums) for block in range(1000)]
    begun = time.process_time()
    merged(nodes)
    per_byte = (time.process_time() - begun) / (1000 * sum(array.nbytes for array in sums))
    found = {"row that is read and summed, ns": 1e9 * by_k[1] / n_rows, "row and centre, ns": 1e9 * per_distance}
    found |= {"task of a pass, ms": 1e3 * per_task, "byte that is joined, ns": 1e9 * per_byte}
    KEPT.keep(
        "constants", {"columns": N_COLUMNS, **{name: round(value, 4) for name, value in found.items()}}, ("columns",)
    )


def _seconds_per_task(client, n_tasks=500):
    """What the client and the scheduler do for a task that returns at once."""
    from kfree.engines.dask.cluster import Cluster, token

    cluster = Cluster(client)
    begun = time.process_time()
    name = token()
    futures = [cluster.submit(_nothing, number, key=(f"kfree-nothing-{name}", number)) for number in range(n_tasks)]
    cluster.results("nothing", futures)
    return (time.process_time() - begun) / n_tasks


def _nothing(number):
    return number


def parts(n_rows="1e8", n_parts="64", ks="64"):
    """Processor seconds of passes over 64 parts on two workers, and what the constants foretell."""
    import distributed

    from kfree.engines.dask.rows import FilesOnWorkers
    from kfree.engines.dask.shares import shares

    class InManyParts(FilesOnWorkers):
        def shares(self, n_blocks, n_workers):
            return shares(n_blocks, int(n_parts))

    constants()  # as the machine is now
    n_rows, found = int(float(n_rows)), KEPT.rows("constants")[0]
    with distributed.LocalCluster(**CLUSTER) as cluster, distributed.Client(cluster) as client:
        engine = opened(written_blobs(n_rows), client, place=InManyParts)
        engine.nearest(sites_of(2))  # workers import what they need
        for k in map(int, ks.split(",")):
            begun = processor_seconds(client)
            engine.nearest(sites_of(k))
            measured = processor_seconds(client) - begun
            dealt = shares(-(-n_rows // BLOCK), int(n_parts))
            n_again = sum(rows_read_again(BLOCK * share.begin) for share in dealt)
            foretold = foretell(found, n_rows, k, len(dealt), n_again)
            row = {"rows": n_rows, "k": k, "parts": int(n_parts), "tasks": len(dealt), "rows read again": n_again}
            row |= {"foretold, processor s": round(foretold, 2), "measured": round(measured, 2)}
            row["measured / foretold"] = round(measured / foretold, 2)
            KEPT.keep("parts", row, same=("rows", "k", "parts"))


def plan(n_rows="1e12", n_workers="1000", n_cores="8", k="1000", n_micro="16000"):
    """What the model foretells for many rows and workers: minutes of a pass, of a fit, and what travels."""
    from kfree.engines.dask.shares import balance, shares

    found = KEPT.rows("constants")[0]
    n_rows, n_workers, n_cores = int(float(n_rows)), int(n_workers), int(n_cores)
    dealt = shares(-(-n_rows // BLOCK), n_workers)
    fair = balance(dealt, n_workers)
    for name, sites, most in (("look", 1, 1), ("micro-clusters", int(n_micro), 2), ("exact", int(k), 22)):
        work = foretell(found, n_rows, sites, 0, 0) / (n_workers * n_cores * fair)
        client = foretell(found, 0, sites, len(dealt), 0)
        sums = 8 * sites * (N_COLUMNS + 2)
        row = {"pass": name, "rows": n_rows, "workers": n_workers, "cores of each": n_cores, "centres": sites}
        row |= {"minutes": round((work + client) / 60, 1), "of which client": round(client / 60, 2)}
        row |= {"most passes": most, "minutes of all": round(most * (work + client) / 60)}
        row |= {"GB/s read by a worker": round(4e-9 * N_COLUMNS * n_rows / n_workers / work, 3)}
        row |= {"nodes": len(dealt), "balance": round(fair, 3), "MB to the client": round(1e-6 * len(dealt) * sums)}
        KEPT.keep("plan", row, same=("pass", "rows", "workers"))


def rows_read_again(row):
    """A share that begins within a row group of a Parquet file reads it from its beginning."""
    return row % ROWS_PER_FILE % ROWS_PER_GROUP


def foretell(found, n_rows, k, n_tasks, n_again):
    """Processor seconds of a pass, of all workers and the client together."""
    reading = found["row that is read and summed, ns"]
    rows = 1e-9 * (n_rows * (reading + k * found["row and centre, ns"]) + n_again * reading)
    sums = 8 * k * (found["columns"] + 2)
    return rows + n_tasks * (1e-3 * found["task of a pass, ms"] + 1e-9 * sums * found["byte that is joined, ns"])


def peers(n_rows="1e7", only=None, limit="inf"):
    """k-means with k = 100 on the same files and two worker processes: kfree, and dask-ml's KMeans (k-means||).

    A contestant that takes more than ``limit`` seconds is stopped.
    """
    import distributed

    n_rows = int(float(n_rows))
    folder = written_blobs(n_rows)
    brief = {"init_max_iter": 3, "max_iter": 5}
    name = "dask-ml, 3 rounds of k-means|| and 5 iterations"
    contestants = {"kfree": _ours, name.replace("||", "∥"): partial(_dask_ml, **brief), "dask-ml": _dask_ml}
    with distributed.LocalCluster(**CLUSTER) as cluster, distributed.Client(cluster) as client:
        for name in contestants if only is None else [only]:
            wall, processor = time.perf_counter(), processor_seconds(client)
            try:
                with at_most(float(limit)):
                    cost = float(contestants[name](folder))
            except TimeoutError:
                cost = f"did not end in {float(limit):g} s"
            row = {"contestant": name, "rows": n_rows, "cost": cost}
            row |= {"seconds": round(time.perf_counter() - wall, 1)}
            row |= {"processor seconds": round(processor_seconds(client) - processor, 1)}
            KEPT.keep("peers", row, same=("contestant", "rows"))


@contextmanager
def at_most(seconds):
    """Raise TimeoutError where the time is over."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0 if np.isinf(seconds) else seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ours(folder):
    from kfree import KMeans, open_rows

    rows = open_rows(folder)
    memory = min(10**9, 200 * rows.n_rows)  # so little that the rows do not fit
    return KMeans(N_BLOBS, random_state=0, memory=memory, engine="dask").fit(rows).cost_


def _dask_ml(folder, **settings):
    """Rows are kept in the memory of the workers, as its guide advises; kfree reads them again in every pass."""
    import dask.dataframe as dd
    from dask_ml.cluster import KMeans

    X = dd.read_parquet(folder).to_dask_array(lengths=True).persist()
    centres = KMeans(N_BLOBS, random_state=0, **settings).fit(X).cluster_centers_
    # Its inertia_ is a sum of distances, not of their squares, unless the centres have stopped moving.
    return X.map_blocks(_sq_dists, centres=centres, dtype=float, drop_axis=1).sum().compute()


def _sq_dists(block, centres):
    from sklearn.metrics import pairwise_distances_argmin_min

    return pairwise_distances_argmin_min(block, centres)[1] ** 2


PARTS = {"speed": speed, "constants": constants, "parts": parts, "plan": plan, "peers": peers}
KEPT = Kept("dask_workers", PARTS, "numpy", "pyarrow", "scikit-learn")

if __name__ == "__main__":
    PARTS[sys.argv[1]](*sys.argv[2:])
