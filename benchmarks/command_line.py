"""kfree cluster on CSV files of up to 1,000,000 rows × 8, beside pandas (pyarrow reader) and the same fit: processor
time and memory of whole processes; and kfree --help. Goals: at most 1.5 times the time of the peer, memory below three
times the data, and --help in less than half a second."""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from ratio import Row, arguments, chosen, report

N_FEATURES, N_CLUSTERS = 8, 12
CASES = {"1e5 × 8": 100_000, "1e6 × 8": 1_000_000}
PEER = "import pandas, kfree; kfree.DPMeans().fit(pandas.read_csv({path!r}, engine='pyarrow'))"
# What any program that clusters a table imports; its memory is not counted.
IMPORTS = "import numpy, scipy.sparse, sklearn.cluster, pyarrow.csv, kfree; kfree.DPMeans, kfree.lambda_path"


def table(path, n_rows):
    """Blobs, written with all digits; returns the bytes of the numbers."""
    import pyarrow
    import pyarrow.csv

    rng = np.random.default_rng(0)
    centres = 8 * rng.normal(size=(N_CLUSTERS, N_FEATURES))
    X = centres[rng.integers(N_CLUSTERS, size=n_rows)] + rng.normal(size=(n_rows, N_FEATURES))
    pyarrow.csv.write_csv(pyarrow.table({f"c{j}": X[:, j] for j in range(N_FEATURES)}), path)
    return X.nbytes


def measured(command):
    """Seconds of processor time and peak memory in bytes of a process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss


def compared(case, n_rows, directory):
    """Times of both, and memory beyond imports in multiples of the numbers and of the file."""
    path = Path(directory) / "table.csv"
    # In a process of its own: the peak of a new process includes the memory of the one that starts it.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        n_bytes = pool.submit(table, path, n_rows).result()
    contestants = {
        "kfree": [sys.executable, "-m", "kfree", "cluster", str(path), "--no-encode", "--model", "round"],
        "pandas + fit": [sys.executable, "-c", PEER.format(path=str(path))],
    }
    _, imports = measured([sys.executable, "-c", IMPORTS])
    row = Row(case)
    for name, command in contestants.items():
        row.seconds[name], peak = measured(command)
        beyond = peak - imports
        row.notes[name] = (
            f"peak {peak / 1e6:.0f} MB, {beyond / 1e6:.0f} MB beyond imports: {beyond / n_bytes:.2f} × the numbers, "
            f"{beyond / path.stat().st_size:.2f} × the file"
        )
    return row


def main():
    options = arguments(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        rows = [compared(case, n_rows, directory) for case, n_rows in chosen(CASES.items(), options)]
    row = Row("kfree --help")
    row.seconds["kfree"] = min(measured([sys.executable, "-m", "kfree", "--help"])[0] for _ in range(5))
    report("command_line", [*rows, row], "pandas", "pyarrow", only=options.only)


if __name__ == "__main__":
    main()
