"""Write the results of all fits, or compare them: ``python -m tests.golden [--write] [--exact] [-k PART]``.

Every fit runs three times: with one thread, with two, and with two again. A fit whose results differ is not written.
"""

import argparse
import json
import platform
import subprocess
import time

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from tests.golden.fits import FITS
from tests.golden.record import RESULTS, differences, outcome


def on_threads(name):
    """A result that is the same for one and two threads and when repeated; lines that say otherwise."""
    results = []
    for n_threads in (1, 2, 2):
        with threadpool_limits(n_threads):
            results.append(outcome(name))
    lines = differences(name, *results[:2]) + differences(name, *results[1:], exact=True)
    return results[1], lines


def git(*arguments):
    return subprocess.check_output(["git", *arguments], text=True).strip()


def write(names):
    """Keep the results that have changed, with the commit that made them."""
    made_by = git("log", "-1", "--format=%h", "--", "src") + (
        " with changes" if git("status", "--porcelain", "src") else ""
    )
    kept = json.loads(RESULTS.read_text())
    fits, commits = kept["fits"], kept["made_by"]
    n_unstable = 0
    for name in names:
        result, lines = on_threads(name)
        n_unstable += bool(lines)
        if name not in fits or differences(name, fits[name], result):
            fits[name], commits[name] = result, made_by
            print(name, *lines, sep="\n    ")
    if n_unstable:
        raise SystemExit(f"{n_unstable} fits differ between runs or thread counts; nothing is written")
    machine = f"{platform.machine()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    content = {
        "machine": machine,
        "made_by": {name: commits[name] for name in FITS if name in commits},
        "fits": {name: fits[name] for name in FITS if name in fits},
    }
    RESULTS.write_text(json.dumps(content, indent=0, ensure_ascii=False) + "\n")
    print(f"{RESULTS}: {RESULTS.stat().st_size / 1e3:.0f} kB, {len(fits)} fits")


def compare(names, exact):
    expected = json.loads(RESULTS.read_text())
    start, n_different = time.process_time(), 0
    for name in names:
        lines = differences(name, expected["fits"][name], outcome(name), exact)
        n_different += bool(lines)
        found = f"differs from {expected['made_by'][name]}" if lines else "same"
        print(f"{name}: {found}", *lines, sep="\n    ")
    print(f"{len(names) - n_different} of {len(names)} fits are the same,", end=" ")
    print(f"in {time.process_time() - start:.1f} s of processor time")
    return n_different


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write results.json instead of comparing with it")
    parser.add_argument("--exact", action="store_true", help="compare bit for bit what has a tolerance, too")
    parser.add_argument("-k", default="", help="only fits whose name contains this")
    arguments = parser.parse_args()
    chosen = [name for name in FITS if arguments.k in name]
    if arguments.write:
        write(chosen)
    else:
        raise SystemExit(compare(chosen, arguments.exact) > 0)
