"""Parts of a table that take long: each is kept as soon as it is made, so a run may be stopped and started again.

A table has one CSV file in ``results/cells``. A cell is found by its parameters and by the hash of the code that makes
it (:mod:`reproduce.code`): a cell of other code is *stale*. It is made anew, or, where a run is limited in time or to a
share of the stale cells, shown with a note. All versions of a cell stay in the file, so that they can be compared. Each
says when, on which machine and at which commit it was made.
"""

import csv
import hashlib
import math
import time
from functools import cache, partial
from pathlib import Path

import numpy as np

from reproduce import provenance
from reproduce.code import code_of

FOLDER = Path(__file__).parent / "results" / "cells"
EARLIER = "earlier code"
HEAD = ("code", *provenance.FIELDS)
# What differs from run to run.
TIMES = {"seconds"}
# Numbers are called the same if they differ relatively by less than this.
SAME = 1e-9


class Clock:
    """How long a run may make cells, and which share of the stale ones.

    ``n_left_out`` counts what was not made for that, ``n_again`` the cells that several versions of the code have made,
    ``n_same`` those of them that have the same numbers, to nine digits, by all versions.
    """

    def __init__(self):
        self.start(math.inf)

    def start(self, minutes=math.inf, again=1.0):
        self._end, self._again = time.monotonic() + 60 * minutes, again
        self.forget()

    def forget(self):
        """Count from nothing."""
        self.n_left_out = self.n_again = self.n_same = 0

    def is_over(self):
        return time.monotonic() > self._end

    def is_due(self, key, code):
        """Whether a stale cell is among those made again: a share of them, drawn by a hash, others for other code."""
        drawn = hashlib.sha256(repr((key, code)).encode()).digest()
        return int.from_bytes(drawn[:6], "big") < self._again * 2**48

    def count(self, versions):
        """Note whether the versions of a cell have the same numbers; times differ from run to run."""
        if len(versions) > 1:
            first, *others = ([value for name, value in one.items() if name not in TIMES] for one in versions)
            self.n_again += 1
            # Libraries round differently on other machines, such as the one that finds principal components.
            self.n_same += all(np.allclose(first, other, rtol=SAME, atol=0, equal_nan=True) for other in others)


CLOCK = Clock()


class Cells:
    """The cells of one table: ``keys`` are the names of their parameters, ``values`` those of the numbers made."""

    def __init__(self, table, keys, values):
        self._path = FOLDER / f"{table}.csv"
        self._keys, self._values = tuple(keys), tuple(values)
        self._known = {}
        for key, code, numbers in self._read():
            self._known.setdefault(key, {})[code] = numbers

    def get(self, make, *parameters):
        """The numbers of a cell by name, and ``stale``; ``make``, a partial, returns them if they are not kept yet.

        If it is not to be made in this run, the latest numbers of other code, whose hash is ``stale``, or None if there
        are none.
        """
        key, code = (
            tuple(map(str, parameters)),
            _code(make.func, tuple(filter(callable, make.args)), tuple(make.keywords.items())),
        )
        kept = self._known.setdefault(key, {})
        if code not in kept:
            if CLOCK.is_over() or (kept and not CLOCK.is_due(key, code)):
                CLOCK.n_left_out += 1
                CLOCK.count(kept.values())
                return {**kept[(earlier := list(kept)[-1])], "stale": earlier} if kept else None
            made = make()
            kept[code] = {name: float(made[name]) for name in self._values}
            self._append(key, code, kept[code])
        CLOCK.count(kept.values())
        return {**kept[code], "stale": None}

    def _read(self):
        if not self._path.is_file():
            return
        with self._path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = tuple(row[name] for name in self._keys)
                yield key, row["code"], {name: float(row[name]) for name in self._values}

    def _append(self, key, code, numbers):
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = not self._path.is_file()
        with self._path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow([*HEAD, *self._keys, *self._values])
            writer.writerow([code, *provenance.provenance().values(), *key, *numbers.values()])


@cache
def _code(function, callables, settings):
    return code_of(partial(function, *callables, **dict(settings)))


def provenance_of(table):
    """For each kept cell of a table: code, commit, date and machine, by name."""
    with (FOLDER / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return [{name: row[name] for name in HEAD} for row in csv.DictReader(file)]


def several(made, wanted, unit):
    """The cells that were made, and a note if some are missing or stale; the paper has ``wanted`` of a ``unit``."""
    there = [one for one in made if one is not None]
    stale = [one["stale"] for one in there if one["stale"]]
    notes = [f"{len(there)} of {wanted} {unit}"] if len(there) != wanted else []
    notes += [f"{len(stale)} by {EARLIER}"] if stale else []
    return there, ", ".join(notes)


def age_of(cell):
    """What to add to the note of a single cell."""
    return f", by {EARLIER}" if cell["stale"] else ""
