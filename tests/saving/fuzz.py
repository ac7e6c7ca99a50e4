"""Load damaged models and use them: ``python -m tests.saving.fuzz [--cases 20000] [--first 0]``.

``load`` ends in ModelFileError or in a model, and a model can be asked for labels: it answers, or raises an error that
says what is wrong. Cases run in a process of their own, so that a crash is told with the case that led to it.
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
from tests.saving.damage import damaged
from tests.saving.golden.expected import path_of
from tests.saving.models import CASES, LABELS

# What a model may raise when it is asked: its parameters may be wrong, its numbers too large.
ALLOWED = (ValueError, TypeError)
MOST_BYTES, MOST_SECONDS = 8 << 30, 120


def used(name, path):
    """How far a damaged model goes: refused by ``load``, refused when it is asked, or answered."""
    expected = type(kfree.load(path_of(name)))
    try:
        model = kfree.load(path)
    except ModelFileError:
        return "refused"
    if type(model) is not expected:
        return "another estimator"
    told = "answered"
    for ask in (LABELS[name], CASES[name][1], lambda model: model.save(path)):
        try:
            ask(model)
        except ALLOWED as error:
            told = f"asked in vain: {type(error).__name__} {error}"
    return told


def run(first, end):
    """Try cases one after the other; prints the number before each, so that the last one is known after a crash."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.kfree"
        for number in range(first, end):
            name = list(CASES)[number % len(CASES)]
            print(number, name, sep="|", end="|", flush=True)
            path.write_bytes(damaged(path_of(name).read_bytes(), number))
            faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
            told = told_of(name, path)
            faulthandler.cancel_dump_traceback_later()
            print(" ".join(told.split())[:300], flush=True)


def told_of(name, path):
    """What became of a case, in words; an error that may not be begins with WRONG."""
    try:
        return used(name, path)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"WRONG {type(error).__name__} {error} ({place.filename}, line {place.lineno})"


def tried(first, end):
    """Outcomes of the cases ``first`` … ``end`` − 1, counted; and what went wrong, by number."""
    outcomes, wrong = Counter(), {}
    while first < end:
        command = [sys.executable, "-m", "tests.saving.fuzz", "--run", str(first), str(end)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = [line.split("|", 2) for line in done.stdout.splitlines()]
        outcomes.update(told.split(":")[0] for _, _, told in found if not told.startswith("WRONG"))
        wrong |= {int(number): f"{name}: {told}" for number, name, told in found if told.startswith("WRONG")}
        if done.returncode == 0:
            break
        last, name = (int(found[-1][0]), found[-1][1]) if found else (first, "")
        wrong[last] = f"{name}: status {done.returncode}\n{done.stderr[-3000:]}"
        first = last + 1
    return outcomes, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--run", type=int, nargs=2)
    options = parser.parse_args()
    if options.run:
        run(*options.run)
        return
    outcomes, wrong = tried(options.first, options.first + options.cases)
    print(dict(outcomes))
    for number, text in wrong.items():
        print(f"case {number}, {text}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
