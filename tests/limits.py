"""Peak memory against ``memory=`` for every format and shape of files: ``python -m tests.limits``.

Each case is a process of its own. It fits a few rows first, so that all libraries are loaded, then a file that is
larger than the limit, and returns how far its resident memory rose in between.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.processes import apart

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


def status(name):
    """Bytes that the system states of this process."""
    return next(1024 * int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith(name))


def rise(fit, few, whole):
    """How far resident memory rises in a fit on a whole file above that after a fit on a few rows; and the model."""
    import pyarrow

    from kfree import open_rows
    from kfree.native.memory import give_back_free_memory

    fit(open_rows(few))
    give_back_free_memory()
    pyarrow.default_memory_pool().release_unused()
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    model = fit(open_rows(whole))
    return status("VmHWM") - before, model


def risen(few, whole, memory):
    """What a fit takes: its peak in bytes and the number of passes, or why it was refused."""
    from kfree import KMeans

    try:
        peak, model = rise(KMeans(3, memory=memory, max_iter=2, random_state=0).fit, few, whole)
    except ValueError as error:
        return {"refused": str(error)}
    return {"peak": peak, "passes": model.n_passes_}


def measured(case, folder, n_rows, n_columns, memory, seed=0):
    """What a fit to rows of a case takes; see ``risen``."""
    (ending, arguments), rng = CASES[case], np.random.default_rng(seed)
    centres, paths = 20 * rng.normal(size=(3, n_columns)), []
    for name, n in (("few", min(n_rows, 60_000)), ("whole", n_rows)):
        paths.append(str(Path(folder) / f"{name}{ending}"))
        X = centres[rng.integers(3, size=n)] + rng.normal(size=(n, n_columns))
        write_rows(paths[-1], X, ending, **arguments)
    return apart(risen, *paths, memory)


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
