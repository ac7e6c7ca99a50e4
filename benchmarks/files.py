"""Rows in files: memory, passes, quality, the time of a pass, and MiniBatchKMeans over the same chunks.

    python benchmarks/files.py bounded 1e8      # fits under a hard limit of 1.5 GB of address space
    python benchmarks/files.py quality          # cost with little memory over that of the search on all rows
    python benchmarks/files.py large            # arrays of a million rows, by a summary and all rows at once
    python benchmarks/files.py automatic        # automatic k with little memory
    python benchmarks/files.py streamed         # the same with the least memory
    python benchmarks/files.py passes           # a pass over files, over memory, and reading alone
    python benchmarks/files.py peers            # scikit-learn's MiniBatchKMeans

Each part replaces its table in benchmarks/results/files.json and files.md. Public sets are read from the folder that
KFREE_DATA names; others are made, and written to the folder of temporary files.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from kept import Kept

FOLDER = Path(tempfile.gettempdir()) / "kfree-files"
LIMIT = 1_500_000_000
N_COLUMNS, N_BLOBS = 16, 100


def blobs(n_rows, begin=0, seed=0):
    """Rows of 100 round clusters, some of which touch, as float32; ``begin`` numbers the draw."""
    centres = 4.0 * np.random.default_rng(seed).normal(size=(N_BLOBS, N_COLUMNS))
    rng = np.random.default_rng([seed, begin])
    rows = rng.standard_normal(size=(n_rows, N_COLUMNS), dtype=np.float32)
    rows += centres[rng.integers(N_BLOBS, size=n_rows)].astype(np.float32)
    return rows


def written_blobs(n_rows, rows_per_file=2_500_000):
    """A folder with Parquet files of blobs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = FOLDER / f"blobs-{n_rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for begin in range(0, n_rows, rows_per_file):
        path = folder / f"{begin:012d}.parquet"
        if not path.exists():
            rows = blobs(min(rows_per_file, n_rows - begin), begin)
            table = pa.table({f"x{j}": rows[:, j] for j in range(N_COLUMNS)})
            pq.write_table(table, path.with_suffix(".part"), row_group_size=1 << 18, use_dictionary=False)
            path.with_suffix(".part").rename(path)
    return folder


def bounded(n_rows="1e8", only=None):
    """Fits in a process of its own with a hard limit of its address space; ``only`` "auto" or "given"."""
    n_rows = int(float(n_rows))
    folder = written_blobs(n_rows)
    for kind, lam in (("auto", "auto"), ("given", 4e-3 * n_rows * N_COLUMNS)):
        if only not in (None, kind):
            continue
        settings = {"lam": lam}
        environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        command = [sys.executable, __file__, "limited", str(folder), json.dumps(settings)]
        found = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
        row = {"rows": n_rows, **settings, **found}
        KEPT.keep("bounded", row, same=("rows", "lam"))


def limited(folder, settings):
    """What ``bounded`` runs."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    from kfree import DPMeans, open_rows

    rows = open_rows(Path(folder))
    wall, processor = time.perf_counter(), time.process_time()
    model = DPMeans(memory="1GB", **json.loads(settings)).fit(rows)
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    found = {
        "gigabytes": round(rows.n_bytes / 1e9, 2),
        "k": model.n_clusters_,
        "passes": model.n_passes_,
        "stopped by": model.stop_reason_,
        "cost": model.cost_,
        "summary cost": model.summary_cost_,
        "seconds": round(time.perf_counter() - wall),
        "processor seconds": round(time.process_time() - processor),
        "peak address space, MB": int(status["VmPeak"].split()[0]) // 1024,
        "peak resident, MB": int(status["VmHWM"].split()[0]) // 1024,
    }
    print(json.dumps(found))


def birch1(n_rows=100_000, seed=0):
    """A hundred round clusters on a grid that touch, as in the set birch1 of Zhang et al. (1997)."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    return grid[rng.integers(100, size=n_rows)] + rng.normal(scale=0.25 / np.sqrt(2.0), size=(n_rows, 2))


def sets(only):
    """Name, rows, and the penalties of Odashima et al. (2016), or two that give about a hundred clusters."""
    from kfree import datasets
    from reproduce.odashima.published import COSTS

    for name in ("usgs", "mnist-pca10", "kdd2004bio"):
        if only in (None, name):
            yield name, datasets.load(name).X, list(COSTS[name])
    if only in (None, "birch1"):
        yield "birch1", birch1(), [20.0, 100.0]
    if only in (None, "blobs"):
        yield "blobs", blobs(10**7), [4e-3 * N_COLUMNS * 10**7]


def quality(only=None, lams=None, share="0.25"):
    """DPMeans with a share of the memory that a search on all rows takes, against that search.

    ``lams`` are numbers with commas between them.
    """
    from kfree import DPMeans
    from kfree.search.summary.plan import bytes_to_search

    for name, X, all_lams in sets(only):
        enough = bytes_to_search(*X.shape)
        memory = int(float(share) * enough)
        for lam in all_lams if lams is None else map(float, lams.split(",")):
            seconds, models = {}, {}
            for kind, limit in (("all", enough), ("summary", memory)):
                begun = time.process_time()
                models[kind] = DPMeans(lam=lam, memory=limit).fit(X)
                seconds[kind] = time.process_time() - begun
            full, summary = models["all"], models["summary"]
            row = {
                "set": name,
                "rows": len(X),
                "columns": X.shape[1],
                "lam": lam,
                "memory, MB": round(memory / 1e6, 1),
                "k, all rows": full.n_clusters_,
                "k": summary.n_clusters_,
                "cost above, %": round(100 * (summary.cost_ / full.cost_ - 1), 3),
                "passes": summary.n_passes_,
                "processor seconds, all rows": round(seconds["all"], 1),
                "processor seconds": round(seconds["summary"], 1),
            }
            KEPT.keep("quality", row, same=("set", "lam"))


def large(n_rows="1e6", only=None):
    """DPMeans on large arrays: all rows searched at once, and by a summary, as without a limit of memory.

    With an automatic penalty, inertias are compared instead of costs.
    """
    from kfree import DPMeans
    from kfree.search.summary.plan import bytes_to_search

    n_rows, rng = int(float(n_rows)), np.random.default_rng(5)
    cases = {
        "blobs": (lambda: blobs(n_rows), "auto"),
        "uniform": (lambda: rng.random((n_rows, 3)), 3e-5 * n_rows),
        "Gaussian": (lambda: rng.normal(size=(n_rows, 8)), 4e-3 * n_rows),
        "Student's t, 3 degrees of freedom": (lambda: rng.standard_t(3, size=(n_rows, 8)), 2e-2 * n_rows),
    }
    for name, (make, lam) in cases.items():
        if only not in (None, name):
            continue
        X = make().astype(np.float32)
        row, compared = {"set": name, "rows": n_rows, "columns": X.shape[1], "lam": lam}, {}
        for kind, memory in ((", all rows", bytes_to_search(*X.shape)), ("", None)):
            begun = time.process_time()
            model = DPMeans(lam=lam, memory=memory).fit(X)
            row[f"processor seconds{kind}"] = round(time.process_time() - begun, 1)
            row[f"k{kind}"] = model.n_clusters_
            # Automatic penalties are not the same.
            compared[kind] = model.inertia_ if lam == "auto" else model.cost_
        row["cost above, %"] = round(100 * (compared[""] / compared[", all rows"] - 1), 3)
        KEPT.keep("large", row, same=("set", "rows"))


def automatic(share="0.9"):
    """Automatic k of the sets of automatic_k.py in files, with a share of the memory that a search on all rows takes.

    Sets of so few rows that no summary of them is smaller are loaded, in one pass.
    """
    from kfree import DPMeans
    from kfree.search.summary.plan import bytes_to_search

    for name, X, y, rows in written_sets():
        memory = int(float(share) * bytes_to_search(*X.shape))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = DPMeans(memory=memory).fit(rows)
            except ValueError:  # the least memory is more than that
                model, memory = DPMeans().fit(rows), 10**9
        KEPT.keep("automatic", _automatic_row(name, X, y, memory, model), same=("set",))


def streamed(only=None):
    """The same with the least memory that a fit takes, where no set may be loaded, however few rows it has."""
    from kfree import DPMeans
    from kfree.search.summary.plan import Plan, least_memory

    Plan.fits = lambda self, n_rows: False
    for name, X, y, rows in written_sets(only):
        memory = least_memory(X.shape[1], 2048)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPMeans(memory=memory).fit(rows)
        KEPT.keep("streamed", _automatic_row(name, X, y, memory, model), same=("set",))


def written_sets(only=None):
    """Name, rows, true labels, and the rows in three files, of each set of automatic_k.py."""
    import automatic_k

    from kfree import open_rows

    folder = FOLDER / "automatic"
    folder.mkdir(parents=True, exist_ok=True)
    cases = {name: (lambda name=name: automatic_k.shape(name)) for name in automatic_k.SHAPES} | automatic_k.MADE
    for name, make in cases.items():
        if only in (None, name):
            X, y = make()
            for number, rows in enumerate(np.array_split(X, 3)):
                np.save(folder / f"{number}.npy", rows)
            yield name, X, y, open_rows(folder)


def _automatic_row(name, X, y, memory, model):
    from kfree import DPMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = DPMeans().fit(X).n_clusters_
    return {
        "set": name,
        "rows": len(X),
        "memory, MB": round(memory / 1e6, 1),
        "true k": len(np.unique(y)),
        "k, all rows": expected,
        "k": model.n_clusters_,
        "passes": model.n_passes_,
    }


def passes(n_rows="1e7", rounds="3", ks="16,100,1000"):
    """One pass over files, the same pass over an array, and reading the files with pyarrow."""
    import pyarrow.parquet as pq

    from kfree import open_rows
    from kfree.core.sites import Sites
    from kfree.engines.files.engine import StreamedRows
    from kfree.engines.files.source import Reading
    from kfree.engines.registry import open_engine

    n_rows = int(float(n_rows))
    folder = written_blobs(n_rows)
    rows = open_rows(folder)
    X = np.concatenate([chunk.X for chunk in rows.chunks(0, n_rows, 1 << 20)])
    frame = open_engine("auto", X[:1000]).frame
    stream = StreamedRows(rows, Reading("auto", None, 1 << 17), frame)

    def read():
        for path in sorted(folder.iterdir()):
            for _ in pq.ParquetFile(path).iter_batches(1 << 17):
                pass

    for k in map(int, ks.split(",")):
        sites = Sites.of(frame.inward(X[:k].astype(np.float64)))
        contestants = {
            "reading": read,
            "in memory": lambda sites=sites: open_engine("auto", X, frame=frame).nearest(sites),
            "files": lambda sites=sites: stream.nearest(sites),
        }
        best = {name: np.full(2, np.inf) for name in contestants}
        for _ in range(int(rounds)):
            for name, run in contestants.items():
                begun = np.array([time.perf_counter(), time.process_time()])
                run()
                best[name] = np.minimum(best[name], [time.perf_counter(), time.process_time()] - begun)
        row = {"rows": n_rows, "k": k}
        for name, seconds in best.items():
            wall, processor = map(float, seconds)
            row[f"{name}, s"], row[f"{name}, processor s"] = round(wall, 2), round(processor, 2)
        larger = np.maximum(best["reading"], best["in memory"])
        row["files / larger of both"], row["the same in processor time"] = map(
            float, np.round(best["files"] / larger, 2)
        )
        KEPT.keep("passes", row, same=("rows", "k"))


def peers(n_rows="1e7", epochs="1,5"):
    """k-means with k = 100: kfree on files, and MiniBatchKMeans over the same chunks."""
    from sklearn.cluster import MiniBatchKMeans

    from kfree import KMeans, open_rows

    rows = open_rows(written_blobs(int(float(n_rows))))

    def ours():
        return KMeans(N_BLOBS, random_state=0, memory="1GB").fit(rows)

    def mini_batch(n_epochs):
        model = MiniBatchKMeans(N_BLOBS, random_state=0, batch_size=1 << 14)
        for _ in range(n_epochs):
            for chunk in rows.chunks(0, rows.n_rows, 1 << 14):
                model.partial_fit(chunk.X)
        return model

    contestants = {"kfree": ours}
    for n in map(int, epochs.split(",")):
        contestants[f"MiniBatchKMeans, {n} epoch(s)"] = lambda n=n: mini_batch(n)
    for name, run in contestants.items():
        wall, processor = time.perf_counter(), time.process_time()
        model = run()
        times = time.perf_counter() - wall, time.process_time() - processor
        judge = KMeans(N_BLOBS, init=model.cluster_centers_, max_iter=1)
        cost = model.cost_ if name == "kfree" else _cost(judge, rows, model.cluster_centers_)
        row = {"contestant": name, "rows": rows.n_rows, "cost": cost, "seconds": round(times[0], 1)}
        KEPT.keep("peers", {**row, "processor seconds": round(times[1], 1)}, same=("contestant", "rows"))


def _cost(judge, rows, centres):
    """The inertia of all rows about given centres."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration, so that it has these centres
        judge.fit(centres)
    return -judge.score(rows)


PARTS = {
    "bounded": bounded,
    "quality": quality,
    "large": large,
    "automatic": automatic,
    "streamed": streamed,
    "passes": passes,
    "peers": peers,
}
KEPT = Kept("files", PARTS, "numpy", "pyarrow", "scikit-learn")

if __name__ == "__main__":
    ({**PARTS, "limited": limited})[sys.argv[1]](*sys.argv[2:])
