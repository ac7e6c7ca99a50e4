"""Rows of a text table in chunks, none of them kept."""

import csv
import sys
from itertools import chain, islice

import numpy as np

from kfree.cli.dialect import found_dialect, is_missing, is_number
from kfree.cli.errors import CommandError, quoted
from kfree.cli.tables import Table, require_readable, require_unique

# The dialect of a stream is inferred from this many lines.
_FIRST_LINES = 20


class RowReader:
    """Reads CSV or TSV from a file or from standard input."""

    def __init__(self, options, console):
        self.name = "standard input" if options.input == "-" else options.input
        if options.input != "-":
            require_readable(options.input)
        self._file = sys.stdin.buffer if options.input == "-" else open(options.input, "rb")  # noqa: SIM115
        self._begin(options, console)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def chunks(self, n_rows):
        """Arrays of up to ``n_rows`` rows; a row of another length or without a number is an error."""
        rows = ((number, row) for number, row in enumerate(self._rows, start=1))
        while block := list(islice(rows, n_rows)):
            first = block[0][0]
            cells = [self._picked(number, row) for number, row in block]
            try:
                if self._dialect.decimal != ".":
                    cells = [[cell.replace(self._dialect.decimal, ".") for cell in row] for row in cells]
                chunk = np.array(cells, dtype=np.float64)
            except ValueError:
                raise CommandError(self._mistake(first, cells)) from None
            if not np.isfinite(chunk).all():
                raise CommandError(self._mistake(first, cells))
            yield chunk

    def _begin(self, options, console):
        first = list(islice(self._file, _FIRST_LINES))
        header = None if options.header is None else options.header == "yes"
        self._dialect = found_dialect(
            self.name,
            b"".join(first),
            True,
            encoding=options.encoding,
            delimiter=options.delimiter,
            header=header,
        )
        text = (line.decode(self._dialect.encoding) for line in chain(first, self._file))
        records = (row for row in csv.reader(text, delimiter=self._dialect.delimiter) if row)
        row = next(records)
        self._width = len(row)
        names = row if self._dialect.header else [f"column {place}" for place in range(1, len(row) + 1)]
        require_unique(names, Table(self, {}).source)
        self._rows = records if self._dialect.header else chain([row], records)
        sample = next(self._rows, None)
        if sample is None:
            raise CommandError(f"{self.name} has a header and no rows; give at least one row.")
        self._rows = chain([sample], self._rows)
        self._choose(names, sample, options, console)

    def _choose(self, names, sample, options, console):
        Table(self, dict.fromkeys(names, np.empty(0))).require([*(options.columns or []), *options.drop], "--columns")
        cells = dict(zip(names, sample, strict=False))
        wanted = [name for name in options.columns or names if name not in options.drop]
        numbers = [name for name in wanted if is_number(cells.get(name, ""), self._dialect.decimal)]
        left = [name for name in wanted if name not in numbers]
        if options.columns and left:
            raise CommandError(f"{self.name}, row 1: column {left[0]!r} of --columns is not a number.")
        if not numbers:
            raise CommandError(f"{self.name} has no column of numbers; it has {quoted(names)}.")
        if left:
            console.say(f"left out {len(left)} column(s) that are not numbers in the first row: {quoted(left)}")
        self.columns = numbers
        self._places = [names.index(name) for name in numbers]

    def _picked(self, number, row):
        if len(row) != self._width:
            raise CommandError(
                f"{self.name}, row {number}: {len(row)} cell(s), where the first line has {self._width}. Correct the "
                "row, or give the right --delimiter."
            )
        return [row[place] for place in self._places]

    def _mistake(self, first, cells):
        for number, row in enumerate(cells, start=first):
            for name, cell in zip(self.columns, row, strict=True):
                if is_missing(cell):
                    return f"{self.name}, row {number}, column {name!r}: a missing value; a stream takes whole rows."
                if not is_number(cell) or not np.isfinite(float(cell)):
                    return f"{self.name}, row {number}, column {name!r}: {cell!r} is not a finite number."
        return f"{self.name}: rows {first} to {first + len(cells) - 1} hold a value that is not a finite number."
