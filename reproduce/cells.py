"""Parts of a table that take long: each is kept as soon as it is made, so a run may be stopped and started again.

A table has one CSV file in ``results/cells``. A cell is found by its parameters and by the version of kfree, so that
cells of another version, or of another size, are made anew. Delete the file to make all of them anew.
"""

import csv
import math
import time
from pathlib import Path

import kfree

FOLDER = Path(__file__).parent / "results" / "cells"


class Clock:
    """How long a run may make cells; ``n_left_out`` counts those for which no time was left."""

    def __init__(self):
        self.start(math.inf)

    def start(self, minutes):
        self._end, self.n_left_out = time.monotonic() + 60 * minutes, 0

    def is_over(self):
        return time.monotonic() > self._end


CLOCK = Clock()


class Cells:
    """The cells of one table: ``keys`` are the names of their parameters, ``values`` those of the numbers made."""

    def __init__(self, table, keys, values):
        self._path = FOLDER / f"{table}.csv"
        self._keys, self._values = ("version", *keys), tuple(values)
        self._known = dict(self._read())

    def get(self, make, *parameters):
        """The numbers of a cell by name; ``make()`` returns them if they are not kept yet. None if time is over."""
        key = tuple(str(part) for part in (kfree.__version__, *parameters))
        if key not in self._known:
            if CLOCK.is_over():
                CLOCK.n_left_out += 1
                return None
            made = make()
            numbers = {name: float(made[name]) for name in self._values}
            self._append(key, numbers)
            self._known[key] = numbers
        return self._known[key]

    def _read(self):
        if not self._path.is_file():
            return
        with self._path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield tuple(row[name] for name in self._keys), {name: float(row[name]) for name in self._values}

    def _append(self, key, numbers):
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = not self._path.is_file()
        with self._path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow([*self._keys, *self._values])
            writer.writerow([*key, *numbers.values()])


def several(made, wanted):
    """The cells that were made, and a note if some of those that the paper has are missing."""
    there = [one for one in made if one is not None]
    return there, "" if len(there) == wanted else f"{len(there)} of {wanted}"
