"""Load damaged models and use them: ``python -m tests.saving.fuzz [--cases 20000] [--seed 0] [--name NAME]``.

``load`` ends in ModelFileError or in a model, and a model can be asked for labels: it answers, or raises an error that
says what is wrong. Cases run in processes of their own, so that a crash is told with the case that led to it.
"""

import argparse
import faulthandler
import resource
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import kfree
from kfree.saving import ModelFileError
from tests.saving.cases import CASES, LABELS
from tests.saving.damage import damaged
from tests.saving.golden.expected import path_of

# What a model may raise when it is asked: its parameters may be wrong, its numbers too large.
ALLOWED = (ValueError, TypeError)
MOST_BYTES, MOST_SECONDS = 8 << 30, 60


def used(name, path):
    """How far a damaged model of a case goes: refused by ``load``, refused when it is asked, or answered."""
    try:
        model = kfree.load(path)
    except ModelFileError:
        return "refused"
    if type(model) is not type(kfree.load(path_of(name))):
        return "another estimator"
    told = "answered"
    for ask in (LABELS[name], CASES[name][1], lambda model: model.save(path)):
        try:
            ask(model)
        except ALLOWED as error:
            told = f"asked in vain: {type(error).__name__} {error}".replace("\n", " ")[:200]
    return told


def run(name, seeds):
    """Try cases one after the other; prints the seed before each, so that the last one is known after a crash."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    content = path_of(name).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.kfree"
        for seed in seeds:
            print(seed, end=" ", flush=True)
            path.write_bytes(damaged(content, f"{name} {seed}"))
            faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
            try:
                print(used(name, path), flush=True)
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                print(f"WRONG {type(error).__name__}: {error} ({place.filename}:{place.lineno})".replace("\n", " "))
            faulthandler.cancel_dump_traceback_later()


def tried(name, begin, end):
    """Outcomes of the seeds ``begin`` … ``end`` − 1, counted; and what went wrong, by seed."""
    outcomes, wrong = Counter(), {}
    while begin < end:
        command = [sys.executable, "-m", "tests.saving.fuzz", "--run", name, str(begin), str(end)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
        outcomes.update(outcome.split(":")[0] for _, outcome in found if not outcome.startswith("WRONG"))
        wrong |= {int(seed): outcome for seed, outcome in found if outcome.startswith("WRONG")}
        if done.returncode == 0:
            break
        last = int(found[-1][0]) if found else begin
        wrong[last] = f"status {done.returncode}\n{done.stderr[-3000:]}"
        begin = last + 1
    return outcomes, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", action="append")
    parser.add_argument("--run", nargs=3)
    options = parser.parse_args()
    if options.run:
        run(options.run[0], range(*map(int, options.run[1:])))
        return
    names = options.name or list(CASES)
    each, failures = -(-options.cases // len(names)), 0
    for name in names:
        outcomes, wrong = tried(name, options.seed, options.seed + each)
        print(name, dict(outcomes), flush=True)
        for seed, text in wrong.items():
            print(f"  seed {seed}: {text}", flush=True)
        failures += len(wrong)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
