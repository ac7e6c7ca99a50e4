"""Rows of a text table in chunks, as they come; none is kept."""

import codecs
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from shlex import quote

import numpy as np

from kfree.cli.errors import CommandError
from kfree.cli.tables import STANDARD_INPUT, standard_input, text_options
from kfree.clustering.preparation import Preparation, TextReading
from kfree.core.printing import printable, quoted
from kfree.files.dialect import found_dialect, not_encoded
from kfree.files.formats import as_numbers
from kfree.files.numbers import MISSING, NumberForm, is_number
from kfree.files.places import arrow, opened
from kfree.files.records import EndlessCellError, cells_of, record_blocks, split_records
from kfree.files.table import naming
from kfree.files.text import TextFormat, column_names, require_distinct, unpacked

# The dialect of a stream is inferred from this many lines.
_FIRST_LINES = 20


@contextmanager
def opened_stream(options, console):
    """A reader of a text file or of standard input, which may be packed by gzip."""
    name = STANDARD_INPUT if options.input == "-" else printable(options.input)
    with ExitStack() as stack:
        with naming(name):
            given = standard_input() if options.input == "-" else stack.enter_context(opened(options.input))
            file = stack.enter_context(unpacked(given))
        yield RowReader(file, name, options, console)


class RowReader:
    """Rows of numbers from the lines of a text table; ``columns`` names those that are used."""

    def __init__(self, file, name, options, console):
        self.name, lines = name, _lines(file, name)
        first, self._given = list(islice(lines, _FIRST_LINES)), text_options(options)
        self._dialect = dialect = found_dialect(name, b"".join(first), len(first) < _FIRST_LINES, self._given)
        self._form = NumberForm(dialect.decimal, dialect.thousands or "")
        blocks = record_blocks(_utf8(chain(first, lines), dialect.encoding, name), dialect.delimiter)
        self._records = _records(blocks, dialect, name)
        heading = next(self._records)
        self._names = column_names(cells_of(heading, dialect.delimiter), dialect.header)
        require_distinct(self._names, name)
        sample = next(self._records, None) if dialect.header else heading
        if sample is None:
            raise CommandError(f"{name} has no rows; give at least one.")
        self._records = chain([sample], self._records)
        self._choose(cells_of(sample, dialect.delimiter), options, console)

    @property
    def preparation(self):
        """How the rows are read, for further tables."""
        reading = TextReading(list(self._given.missing), self._given.thousands, self._given.decimal, {})
        return Preparation(self.columns, reading=reading)

    def chunks(self, n_rows):
        """Arrays of up to ``n_rows`` rows; a row of another length or without a number is an error."""
        # Numbers with marks between thousands are read as text, which pyarrow's parser does not know.
        number = arrow("").string() if self._dialect.thousands else arrow("").float64()
        types = tuple(number if name in self.columns else arrow("").string() for name in self._names)
        table, n_before = TextFormat(self.name, self._dialect, self._names, types), 0
        while records := list(islice(self._records, n_rows)):
            try:
                parsed = table.parsed(b"\n".join(records), self.columns)
            except arrow("").ArrowInvalid:
                raise CommandError(self._mistake(n_before, records)) from None
            chunk = np.column_stack([self._numbers(column) for column in parsed.columns])
            if len(chunk) != len(records) or not np.isfinite(chunk).all():
                raise CommandError(self._mistake(n_before, records))
            yield chunk
            n_before += len(records)

    def _numbers(self, column):
        """A column as numbers, NaN where it has other cells."""
        if not self._dialect.thousands:
            return as_numbers(column)
        cells = arrow("compute").utf8_trim_whitespace(column)
        are_numbers = cells.null_count == 0 and self._form.fits(cells)
        return as_numbers(self._form.converted(cells)) if are_numbers else np.full(len(cells), np.nan)

    def _is_number(self, cell):
        if not self._dialect.thousands:
            return is_number(cell, self._dialect.decimal)
        return self._form.fits(arrow("").array([cell.strip()]))

    def _choose(self, sample, options, console):
        absent = [name for name in [*(options.columns or []), *options.drop] if name not in self._names]
        if absent:
            raise CommandError(
                f"{self.name} has no column {quoted(absent)} (--columns or --drop); it has {quoted(self._names, 20)}."
            )
        cells = dict(zip(self._names, sample, strict=False))
        wanted = [name for name in options.columns or self._names if name not in options.drop]
        self.columns = [name for name in wanted if self._is_number(cells.get(name, ""))]
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
                if name in self.columns and cell in MISSING | {*self._dialect.missing}:
                    return (
                        f"{self.name}, row {number}, column {name!r}: a missing value; a stream takes whole rows. "
                        f"Leave the row out, or the column with --drop {quote(name)}."
                    )
                if name in self.columns and not (self._is_number(cell) and "inf" not in cell.lower()):
                    return f"{self.name}, row {number}, column {name!r}: {cell!r} is not a finite number."
        return (
            f"{self.name}: rows {n_before + 1} to {n_before + len(records)} hold a value that is not a finite number."
        )


def _lines(file, name):
    """The lines of a file, as bytes; errors name it."""
    with naming(name):
        yield from file


def _records(blocks, dialect, name):
    """The records of blocks; a quoted cell without an end is an error."""
    n_rows = -int(dialect.header)
    try:
        for block in blocks:
            records = split_records(block, dialect.delimiter)
            yield from records
            n_rows += len(records)
    except EndlessCellError:
        raise CommandError(
            f"{name}: a quoted cell begins below row {max(n_rows, 0)}, and has no end. Close its quotes."
        ) from None


def _utf8(lines, encoding, name):
    """Lines as UTF-8. A line may end within a character: it ends at a byte."""
    decoder, number = codecs.getincrementaldecoder(encoding)(), 0
    for number, line in enumerate(chain(lines, [b""]), start=1):
        try:
            text = decoder.decode(line, final=not line)
        except UnicodeDecodeError as error:
            raise not_encoded(name, encoding, number - (not line), error.object[error.start]) from None
        if text:
            yield text.encode()
