"""Rows of a text table in chunks, as they come; none is kept."""

import codecs
from contextlib import contextmanager
from itertools import chain, islice

import numpy as np

from kfree.cli.errors import CommandError
from kfree.cli.tables import STANDARD_INPUT, text_options
from kfree.core.printing import printable, quoted
from kfree.files.dialect import found_dialect
from kfree.files.formats import as_numbers
from kfree.files.numbers import MISSING, is_number
from kfree.files.places import arrow, opened
from kfree.files.records import cells_of, record_blocks, split_records
from kfree.files.table import naming
from kfree.files.text import TextTable, column_names, require_distinct

# The dialect of a stream is inferred from this many lines.
_FIRST_LINES = 20


@contextmanager
def opened_stream(options, console):
    """A reader of a text file or of standard input."""
    if options.input == "-":
        import sys

        yield RowReader(sys.stdin.buffer, STANDARD_INPUT, options, console)
        return
    with naming(options.input), opened(options.input) as file:
        yield RowReader(file, printable(options.input), options, console)


class RowReader:
    """Rows of numbers from the lines of a text table; ``columns`` names those that are used."""

    def __init__(self, file, name, options, console):
        first = list(islice(file, _FIRST_LINES))
        dialect = found_dialect(name, b"".join(first), True, text_options(options))
        self.name, self._dialect = name, dialect
        decoder = codecs.getincrementaldecoder(dialect.encoding)()
        lines = (decoder.decode(line).encode() for line in chain(first, file))
        blocks = record_blocks(lines, dialect.delimiter)
        self._records = (record for block in blocks for record in split_records(block, dialect.delimiter))
        heading = next(self._records)
        self._names = column_names(cells_of(heading, dialect.delimiter), dialect.header)
        require_distinct(self._names, name)
        sample = next(self._records, None) if dialect.header else heading
        if sample is None:
            raise CommandError(f"{name} has no rows; give at least one.")
        self._records = chain([sample], self._records)
        self._choose(cells_of(sample, dialect.delimiter), options, console)

    def chunks(self, n_rows):
        """Arrays of up to ``n_rows`` rows; a row of another length or without a number is an error."""
        types = tuple(arrow("").float64() if name in self.columns else arrow("").string() for name in self._names)
        table, n_before = TextTable(self.name, self._dialect, self._names, types), 0
        while records := list(islice(self._records, n_rows)):
            try:
                parsed = table.parsed(b"\n".join(records), self.columns)
            except arrow("").ArrowInvalid:
                raise CommandError(self._mistake(n_before, records)) from None
            chunk = np.column_stack([as_numbers(column) for column in parsed.columns])
            if len(chunk) != len(records) or not np.isfinite(chunk).all():
                raise CommandError(self._mistake(n_before, records))
            yield chunk
            n_before += len(records)

    def _choose(self, sample, options, console):
        absent = [name for name in [*(options.columns or []), *options.drop] if name not in self._names]
        if absent:
            raise CommandError(
                f"{self.name} has no column {quoted(absent)} (--columns or --drop); it has {quoted(self._names, 20)}."
            )
        cells = dict(zip(self._names, sample, strict=False))
        wanted = [name for name in options.columns or self._names if name not in options.drop]
        self.columns = [name for name in wanted if is_number(cells.get(name, ""), self._dialect.decimal)]
        left = [name for name in wanted if name not in self.columns]
        if options.columns and left:
            raise CommandError(f"{self.name}, row 1: column {left[0]!r} of --columns is not a number.")
        if not self.columns:
            raise CommandError(f"{self.name} has no column of numbers; it has {quoted(self._names)}.")
        if left:
            console.say(f"left out {len(left)} column(s) that are not numbers in the first row: {quoted(left)}")

    def _mistake(self, n_before, records):
        for number, record in enumerate(records, start=n_before + 1):
            cells = cells_of(record, self._dialect.delimiter)
            if len(cells) != len(self._names):
                return (
                    f"{self.name}, row {number}: {len(cells)} cell(s), where the first line has {len(self._names)}. "
                    "Correct the row, or give the right --delimiter."
                )
            for name, cell in zip(self._names, cells, strict=True):
                if name in self.columns and cell in MISSING:
                    return f"{self.name}, row {number}, column {name!r}: a missing value; a stream takes whole rows."
                if name in self.columns and not (is_number(cell, self._dialect.decimal) and "inf" not in cell.lower()):
                    return f"{self.name}, row {number}, column {name!r}: {cell!r} is not a finite number."
        return (
            f"{self.name}: rows {n_before + 1} to {n_before + len(records)} hold a value that is not a finite number."
        )
