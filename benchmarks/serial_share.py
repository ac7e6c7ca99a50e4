"""How much of a pass one thread must do alone: what 16 threads would wait for.

Every pass runs on one thread. The share is the processor time outside of parallel sections over that of the whole call,
the least of several calls. ``python benchmarks/serial_share.py`` prints a line for each pass and size, and keeps all of
them if no sizes were named; the aim is 2 %.
"""

import argparse
import time

import numpy as np
from ratio import RESULTS, commit, processor

from kfree.native import _core

SIZES = [(200_000, 2, 100), (200_000, 16, 500), (100_000, 128, 1000), (50_000, 768, 1000), (312_320, 128, 1000)]
N_CANDIDATES = 8
# Calls of each pass: so many, and until they have taken so long together, because short calls show when other processes
# have emptied the caches.
N_CALLS, SECONDS = 9, 0.3


def passes(n, d, k):
    """Name and function of each pass over n random rows of d columns, with k sites."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, d))
    X = (centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))).astype(np.float32)
    anchor, shift = np.zeros(d), np.zeros(d)
    rows = _core.dense_rows(X, anchor, shift, False, None, _core.instruction_sets()[-1])
    label, sq_dist, uids, bounds = np.empty(n, np.int32), np.empty(n), np.arange(k), _core.Bounds(n)
    stats = np.empty(k), np.empty((k, d)), np.empty(k)
    half = np.empty(k // 2), np.empty((k // 2, d)), np.empty(k // 2)

    def nearest(held):
        _core.nearest(rows, centres, uids, np.inf, 1, held, label, sq_dist, *stats, None)

    nearest(bounds)
    everyone, pair, side, away = np.arange(n), label // 2, np.empty(n, np.int32), np.empty(n)
    listed, anywhere = everyone[: n // 50], np.full(n // 50, -1, np.int32)
    clusters = stats[0].copy(), stats[1].copy(), centres.copy(), np.zeros(k)

    def exchange_candidates():
        _core.Exchange(rows, listed, anywhere, 0.0, 1, label, *clusters)

    return {
        "nearest, first pass": lambda: nearest(_core.Bounds(n)),
        "nearest, later pass": lambda: nearest(bounds),
        "accumulate": lambda: _core.accumulate(rows, label, sq_dist, 1, *stats),
        "second_nearest": lambda: _core.second_nearest(rows, everyone, label, centres, 1, side, away),
        "choose": lambda: _core.choose(rows, everyone, pair, centres, 1, side, *stats),
        "scatter_product": lambda: _core.scatter_product(rows, everyone, pair, centres, 1, *half),
        "exchange candidates": exchange_candidates,
        "approach": lambda: _core.approach(rows, centres[:1], 1, away),
        "best_candidate": lambda: _core.best_candidate(rows, centres[:N_CANDIDATES], sq_dist, 1),
    }


def measured(call):
    """Milliseconds of a call, and the share of them outside of parallel sections."""
    found = []
    while len(found) < N_CALLS or sum(total for _, total in found) < 1e3 * SECONDS:
        inside, begin = _core.parallel_seconds(), time.thread_time()
        call()
        total = time.thread_time() - begin
        found.append((1 - (_core.parallel_seconds() - inside) / total, 1e3 * total))
    share, total = min(found)
    return total, max(share, 0.0)


def line(n, d, k, name, total, share):
    return f"| {n:,} × {d}, k={k} | {name} | {total:.2f} | {share:.2%} |"


def kept(lines):
    """The table of all sizes."""
    where = f"{commit()}, one thread of {processor()}"
    head = f"{where}: the time of a call, and the share of it outside of parallel sections."
    return "\n".join([head, "", "| rows, sites | pass | ms | serial |", "|---|---|---|---|", *lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", help="numbers of the sizes to run (default: all)")
    wanted, lines = parser.parse_args().sizes, []
    for number in wanted or range(len(SIZES)):
        n, d, k = SIZES[number]
        for name, call in passes(n, d, k).items():
            lines.append(line(n, d, k, name, *measured(call)))
            print(lines[-1], flush=True)
    if not wanted:
        (RESULTS / "serial_share.md").write_text(kept(lines))


if __name__ == "__main__":
    main()
