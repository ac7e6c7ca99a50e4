"""Peak memory against ``memory=`` for every format and shape of files: ``python -m tests.limits``.

Each case is a process of its own. It fits a few rows first, so that all libraries are loaded, then a file that is many
times the limit, and prints how far its resident memory rose in between.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

MEASURED = """
import json, sys
from pathlib import Path
import pyarrow
from kfree import KMeans, open_rows
from kfree.native.memory import give_back_free_memory

def status(name):
    return next(1024 * int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith(name))

few, whole, memory = sys.argv[1], sys.argv[2], int(sys.argv[3])
for _ in range(3):  # until all threads of pyarrow have worked
    KMeans(3, memory=memory, max_iter=2, random_state=0).fit(open_rows(few))
give_back_free_memory()
pyarrow.default_memory_pool().release_unused()
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
try:
    model = KMeans(3, memory=memory, max_iter=2, random_state=0).fit(open_rows(whole))
    print(json.dumps({"peak": status("VmHWM") - before, "passes": model.n_passes_}))
except ValueError as error:
    print(json.dumps({"refused": str(error)}))
"""
# Name of a case: ending, and the arguments of its writer. Row groups and record batches of 10³, 10⁵ and all rows.
GROUPS = {"1e3": 1_000, "1e5": 100_000, "all": None}
CASES = {
    "npy": (".npy", {"order": "C"}),
    "npy by column": (".npy", {"order": "F"}),
    "csv": (".csv", {}),
    "csv.gz": (".csv.gz", {}),
    **{f"parquet {name}": (".parquet", {"rows": rows}) for name, rows in GROUPS.items()},
    **{f"parquet levels {name}": (".parquet", {"rows": rows, "levels": True}) for name, rows in GROUPS.items()},
    **{f"arrow {name}": (".arrow", {"rows": rows, "compression": None}) for name, rows in GROUPS.items()},
    **{f"arrow lz4 {name}": (".arrow", {"rows": rows, "compression": "lz4"}) for name, rows in GROUPS.items()},
}


def write_rows(path, X, ending, rows=None, levels=False, order="C", compression=None):
    """Rows in the format that the ending names, ``rows`` of them in a row group or record batch."""
    import pyarrow as pa

    X = np.round(X) if levels else X
    if ending == ".npy":
        np.save(path, np.asarray(X, order=order))
        return
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
    if ending == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path, row_group_size=rows or len(X))
    elif ending == ".arrow":
        from pyarrow import ipc

        with ipc.new_file(path, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(table, max_chunksize=rows or len(X))
    else:
        from pyarrow import csv

        with pa.CompressedOutputStream(path, "gzip") if ending.endswith("gz") else open(path, "wb") as file:
            csv.write_csv(table, file)


def measured(case, folder, n_rows, n_columns, memory, seed=0):
    """What a fit takes: its peak in bytes and the number of passes, or why it was refused."""
    (ending, arguments), rng = CASES[case], np.random.default_rng(seed)
    centres, paths = 20 * rng.normal(size=(3, n_columns)), []
    for name, n in (("few", min(n_rows, 60_000)), ("whole", n_rows)):
        paths.append(str(Path(folder) / f"{name}{ending}"))
        X = centres[rng.integers(3, size=n)] + rng.normal(size=(n, n_columns))
        write_rows(paths[-1], X, ending, **arguments)
    command = [sys.executable, "-c", MEASURED, *paths, str(memory)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--memory", type=int, default=16_000_000, help="bytes")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES), metavar="CASE")
    options, n_above = parser.parse_args(), 0
    print(f"{options.rows} x {options.columns} rows: {8e-6 * options.rows * options.columns:.0f} MB as numbers")
    for case in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(case, folder, options.rows, options.columns, options.memory)
        n_above += found.get("peak", 0) > options.memory
        said = found.get("refused", f"{found.get('peak', 0) / options.memory:6.2f} of the memory")
        print(f"{case:20} {said}", flush=True)
    sys.exit(n_above > 0)


if __name__ == "__main__":
    main()
