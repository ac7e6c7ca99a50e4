"""The fuzzer without Hypothesis: ``python -m tests.fuzz --cases 100000 --seed 7``.

Case i of a seed is always the same. Cases run in a process of their own, one after the other, so that one that kills
the process is reported and the next goes on; ``--jobs`` divides them among several. Every failure is printed as a line
for ``corpus.jsonl``; ``--case LINE`` repeats one with its traceback.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Seconds without a finished case after which a process counts as stuck; a case has its own, shorter limits.
STUCK = 600
# Processes that run cases, and whether no more are to be started.
_children, _over = [], threading.Event()


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--subject", help="only this estimator or function")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so much processor time")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes run cases at a time")
    parser.add_argument("--case", metavar="LINE", help="only this case, a line of corpus.jsonl")
    parser.add_argument("--progress", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        from tests.fuzz.fuzz_cases import Case
        from tests.fuzz.fuzz_properties import check

        print(check(Case(**json.loads(options.case))))
    elif options.progress:
        _work(options)
    else:
        sys.exit(_watch(options))


def drawn(options, number):
    import numpy as np

    from tests.fuzz.fuzz_cases import Case
    from tests.fuzz.fuzz_subjects import DRAWN_SUBJECTS

    subjects = [options.subject] if options.subject else DRAWN_SUBJECTS
    return Case.drawn(subjects, np.random.default_rng([options.seed, number]))


def _work(options):
    """Run the cases, and keep in a file which one is being run, what became of the others, and the time they took."""
    from tests.fuzz.fuzz_properties import check

    outcomes, seconds, started = Counter(), Counter(), time.process_time()
    with open(options.progress, "r+b", buffering=0) as file:
        for number in range(options.first, options.first + options.cases):
            case, begun = drawn(options, number), time.process_time()
            if begun - started > options.seconds:
                break
            state = {"number": number, "outcomes": outcomes, "seconds": seconds}
            os.pwrite(file.fileno(), json.dumps(state).ljust(8000).encode(), 0)
            try:
                outcome = check(case)
            except Exception as error:
                outcome = "failed"
                _tell(case, number, f"{type(error).__name__}: {error}")
            outcomes[outcome] += 1
            seconds[case.subject] += time.process_time() - begun
        state = {"number": None, "outcomes": outcomes, "seconds": seconds}
        os.pwrite(file.fileno(), json.dumps(state).ljust(8000).encode(), 0)


def _watch(options):
    """Divide the cases among as many jobs as are wanted; returns the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ends = [options.first + options.cases * job // options.jobs for job in range(options.jobs + 1)]
    outcomes, seconds = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as jobs:
        files = [Path(folder) / str(job) for job in range(options.jobs)]
        try:
            for some, spent in jobs.map(lambda *job: _job(options, *job), ends[:-1], ends[1:], files):
                outcomes.update(some)
                seconds.update(spent)
        finally:  # also if this process is told to end, so that the others end too
            _over.set()
            for child in _children:
                child.kill()
    print(f"{sum(outcomes.values())} cases of seed {options.seed}: {dict(outcomes)}; {sum(seconds.values()):.0f} s")
    for subject, spent in seconds.most_common(12):
        print(f"  {subject}: {spent:.1f} s")
    return int(bool(outcomes["failed"] or outcomes["crashed"]))


def _job(options, first, end, progress):
    """Start one process after the other until the cases are done; returns what became of them, and their time."""
    outcomes, seconds, share = Counter(), Counter(), options.seconds / options.jobs
    while first is not None and first < end and sum(seconds.values()) < share and not _over.is_set():
        progress.write_text("{}")
        ended = _run(options, first, end, share - sum(seconds.values()), progress)
        state = json.loads(progress.read_text())
        outcomes.update(state.get("outcomes", {}))
        seconds.update(state.get("seconds", {}))
        if "number" not in state:
            print(f"the process ended with {ended} before its first case")
            outcomes["crashed"] += 1
            break
        first = state["number"]
        if first is not None:
            outcomes["crashed"] += 1
            _tell(drawn(options, first), first, f"the process ended with {ended}")
            first += 1
    return outcomes, seconds


def _run(options, first, end, seconds, progress):
    """One process that runs the cases from ``first`` on; returns how it ended."""
    command = [sys.executable, "-m", "tests.fuzz", "--seed", str(options.seed), "--first", str(first)]
    command += ["--cases", str(end - first), "--seconds", str(seconds), "--progress", str(progress)]
    command += ["--subject", options.subject] if options.subject else []
    # One thread where a case does not ask for two: starting them would take longer than a few rows.
    threads = {"OPENBLAS_NUM_THREADS": "1", "KFREE_NUM_THREADS": "1"}
    child = subprocess.Popen(command, env={**os.environ, **threads})
    _children.append(child)
    before = None
    try:
        while True:
            try:
                return child.wait(STUCK)
            except subprocess.TimeoutExpired:
                now = json.loads(progress.read_text()).get("number")
                if now == before:
                    child.kill()
                before = now
    finally:
        child.kill()


def _tell(case, number, what):
    print(f"case {number}: {what[:1000]}\n  {json.dumps(case.changed())}", flush=True)


if __name__ == "__main__":
    main()
