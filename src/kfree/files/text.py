"""Text tables (CSV, TSV): blocks of whole records, which pyarrow parses one after the other.

A block is parsed at once and from memory. So no thread of pyarrow reads ahead, the memory is that of a block, and the
records that were parsed are those that :mod:`kfree.files.records` cut.
"""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, Any, cast

import numpy as np

from kfree.core.printing import printable
from kfree.core.progress import is_heard, tell
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.files.cells import PLAIN_NUMBER, FormDetector, converted, form_of
from kfree.files.dialect import FALLBACK_ENCODING, Dialect, TextOptions, found_dialect, not_encoded
from kfree.files.numbers import MISSING, any_match
from kfree.files.places import arrow, opened, stamp
from kfree.files.records import EndlessCellError, cells_of, misquoted, record_blocks, record_places, split_records

# Bytes that show the dialect, and bytes that are read at a time.
_SAMPLE, _BLOCK = 1 << 20, 1 << 18
# All digits as one.
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)


@dataclass(frozen=True)
class TextFormat:
    """How one text file is parsed: its dialect, and the names and Arrow types of its columns."""

    path: str
    dialect: Dialect
    names: tuple[str, ...]
    types: tuple[Any, ...] = ()
    # How the text of a column becomes its type, where pyarrow's parser does not know; see kfree.files.cells.
    rules: tuple[str | None, ...] = ()
    # Columns of whole numbers of which some begin with zeros.
    codes: tuple[str, ...] = ()
    # Marks that were read as missing values, with the number of each, by column.
    marks: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()

    def with_codes_as_text(self) -> TextFormat:
        """The same table, with columns of codes as they are written."""
        text = arrow("").string()
        types = [text if name in self.codes else kind for name, kind in zip(self.names, self.types, strict=True)]
        return replace(self, types=tuple(types))

    def blocks(self) -> Iterator[bytes]:
        """The rows as UTF-8, in blocks of whole records without the header."""
        for block in _body(self.path, self.dialect):
            yield block
            arrow("").default_memory_pool().release_unused()  # pyarrow would keep what it parsed blocks in

    def heading(self) -> tuple[str, str]:
        """The first record as it is written, and the line end that the file uses."""
        dialect = self.dialect
        block = next(record_blocks(_utf8_blocks(self.path, dialect.encoding), dialect.delimiter))
        begin, end = next(record_places(block, dialect.delimiter))
        return block[begin:end].decode(), "\r\n" if block[end : end + 2] == b"\r\n" else "\n"

    def parsed(self, block: bytes, columns: Sequence[str] | None = None) -> Any:
        """Some columns of the records of a block, as a table of pyarrow; types are inferred if none are known."""
        pc, content = arrow("csv"), arrow("").allocate_buffer(len(block))
        # A copy: a thread of pyarrow that drops a Python object while the interpreter ends would abort it.
        np.frombuffer(content, np.uint8)[:] = np.frombuffer(block, np.uint8)
        known = dict(zip(self.names, self.types, strict=True)) if self.types else {}
        rules = {name: rule for name, rule in zip(self.names, self.rules, strict=bool(self.rules)) if rule}
        parsed = pc.read_csv(
            arrow("").BufferReader(content),
            # Threads of pyarrow would keep memory that no other thread can use or give back.
            pc.ReadOptions(use_threads=False, column_names=self.names, block_size=len(block) + 1),
            pc.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=b'"' in block),
            pc.ConvertOptions(
                column_types={name: arrow("").string() if name in rules else kind for name, kind in known.items()},
                include_columns=None if columns is None else list(columns),
                decimal_point=self.dialect.decimal,
                null_values=sorted(MISSING | {*self.dialect.missing}),
                strings_can_be_null=True,
            ),
        )
        for name in rules.keys() & set(parsed.column_names):
            column = converted(parsed.column(name), rules[name], self.dialect)
            parsed = parsed.set_column(parsed.column_names.index(name), name, column)
        return parsed


def described_text(path: str, options: TextOptions) -> tuple[int, TextFormat]:
    """The number of rows of a text file, and how it is read. All rows are read once, which shows the types."""
    with _bytes_of(path) as file:
        sample = file.read(_SAMPLE + 1)
    dialect = found_dialect(printable(path), sample, len(sample) <= _SAMPLE, options)
    try:
        return _described(path, dialect, path, options)
    except UnicodeDecodeError as error:
        if options.encoding is not None or dialect.encoding != "utf-8":
            raise _misplaced(path, error) from None
    try:
        found = _described(path, replace(dialect, encoding=FALLBACK_ENCODING), path, options)
    except UnicodeDecodeError as error:
        raise _misplaced(path, error) from None
    return found


def described_as(path: str, dialect: Dialect, options: TextOptions, title: str) -> tuple[int, TextFormat]:
    """``described_text`` for a file whose dialect is known but for the header; messages call it ``title``."""
    with _bytes_of(path) as file:
        sample = file.read(_SAMPLE + 1)
    if options.header is None:
        known = TextOptions(
            dialect.encoding,
            dialect.delimiter,
            decimal=dialect.decimal,
            rules=options.rules,
            numbers=options.numbers,
            texts=options.texts,
        )
        header = found_dialect(printable(title), sample, len(sample) <= _SAMPLE, known).header
    else:
        header = options.header
    return _described(path, replace(dialect, header=header), title, options)


def warn_of_encoding(table: TextFormat, options: TextOptions) -> None:
    """Say that the encoding was guessed."""
    if options.encoding is None and table.dialect.encoding == FALLBACK_ENCODING:
        name = printable(table.path)
        warn(f"{name} is not UTF-8 and was read as Windows-1252; give encoding if that is wrong.", DataAdvice)


def _described(path: str, dialect: Dialect, title: str, options: TextOptions) -> tuple[int, TextFormat]:
    table = TextFormat(path, dialect, _column_names(path, dialect))
    require_distinct(table.names, printable(title))
    n_rows, types = 0, [arrow("").null()] * len(table.names)
    n_read, n_bytes = 0, max(stamp(path).size, 1) if is_heard() else 1
    known = dict.fromkeys(options.numbers, PLAIN_NUMBER) | dict(options.rules)
    detectors = [FormDetector(dialect, known.get(name), options.decimal is None) for name in table.names]
    codes: dict[str, None] = {}
    long: list[str] = []
    try:
        for block in table.blocks():
            try:
                parsed = table.parsed(block)
            except arrow("").ArrowInvalid as error:
                raise _diagnosed(table, n_rows, block, error) from error
            _require_quotes(table, n_rows, block, parsed.num_rows)
            # Whole numbers that begin with zeros, and those of so many digits that pyarrow would round them.
            if _may_hold_codes(block, dialect.delimiter):
                codes |= dict.fromkeys(_columns_like("^0[0-9]", "is_integer", table, block, parsed.schema))
            if b"0" * 19 in block.translate(_DIGITS):
                long += _columns_like(r"^[+-]?\d{19,}$", "is_floating", table, block, parsed.schema)
            types = [common_type(*pair) for pair in zip(types, parsed.schema.types, strict=True)]
            for detector, column in zip(detectors, parsed.columns, strict=True):
                detector.see_block(column)
            n_rows, n_read = n_rows + parsed.num_rows, n_read + len(block)
            tell("reading", n_read / n_bytes)
    except EndlessCellError as error:
        raise ValueError(
            f"{printable(path)}, line {_line_at(table, error.begin)}: a quoted cell begins here or below, and has no "
            "end. Close its quotes."
        ) from None
    as_text = {*long, *options.texts}
    types = [arrow("").string() if name in as_text else kind for name, kind in zip(table.names, types, strict=True)]
    detectors = [
        FormDetector(dialect) if name in as_text else detector
        for name, detector in zip(table.names, detectors, strict=True)
    ]
    return n_rows, _decided(replace(table, types=tuple(types), codes=tuple(codes)), detectors, printable(title))


def _decided(table: TextFormat, detectors: Sequence[FormDetector], title: str) -> TextFormat:
    """The table with rules for columns of text that hold numbers or dates."""
    dialect, is_float = table.dialect, arrow("types").is_floating
    # Where points are decimal marks, commas in numbers stand between thousands. Where commas divide cells, any number
    # with a point shows it; elsewhere, three digits after a point could be thousands as well.
    shows_decimal = any(map(is_float, table.types)) or any(detector.shows_decimal for detector in detectors)
    shows_decimal = (shows_decimal if dialect.delimiter == "," else dialect.shows_point) and dialect.decimal == "."
    about = list(zip(table.names, table.types, detectors, strict=True))
    rules = [detector.rule(title, name, kind, shows_decimal) for name, kind, detector in about]
    read = list(zip(about, rules, strict=True))
    types = tuple(kind if rule is None else form_of(rule).type for (_, kind, _), rule in read)
    marks = tuple(
        (name, tuple(detector.marks.items())) for (name, _, detector), rule in read if rule and detector.marks
    )
    return replace(table, types=types, rules=tuple(rules), marks=marks)


def _may_hold_codes(block: bytes, delimiter: str) -> bool:
    """Whether some cell begins with a zero and a digit, which is fast to say."""
    ends = b'"\r\n' + delimiter.encode()
    flat = b"," + block.translate(bytes.maketrans(ends + b"123456789", b"," * len(ends) + b"1" * 9))
    return b",00" in flat or b",01" in flat


def _require_quotes(table: TextFormat, n_before: int, block: bytes, n_records: int) -> None:
    """Raise if a quote too many has made rows part of a cell."""
    place = misquoted(block, table.dialect.delimiter, n_records)
    if place is None:
        return
    ends = [end for _, end in record_places(block, table.dialect.delimiter)]
    number = sum(end <= place for end in ends)
    row, n_lines = n_before + number + 1, len(block[place : ends[number]].splitlines())
    last = _line_of(table, row)
    raise ValueError(
        f"{printable(table.path)}, row {row} (line {last - n_lines + 1}): a quoted cell begins here, and has text "
        f"after its last quote, in line {last} or before. A cell that begins with a quote must be quoted as a whole, "
        "with quotes in it doubled. Correct these lines."
    )


def _columns_like(pattern: str, is_type: str, table: TextFormat, block: bytes, schema: Any) -> list[str]:
    """The columns of a type, by the name of its test in pyarrow, of which a cell is written like ``pattern``."""
    names = [field.name for field in schema if getattr(arrow("types"), is_type)(field.type)]
    if not names:
        return []
    text = replace(table, types=(arrow("").string(),) * len(table.names)).parsed(block, names)
    return [name for name in names if any_match(text.column(name), pattern)]


def read_text(table: TextFormat, columns: Sequence[str], begin: int, end: int, size: int) -> Iterator[Any]:
    """Columns of the rows ``begin`` … ``end`` − 1: lists of arrays of at most ``size`` rows of a block."""
    first = 0
    for block in table.blocks():
        parsed = table.parsed(block, columns)
        high = min(end - first, parsed.num_rows)
        for low in range(max(begin - first, 0), high, size):
            rows = parsed.slice(low, min(size, high - low))
            yield [rows.column(name).combine_chunks() for name in columns]
        first += parsed.num_rows
        if first >= end:
            return


def common_type(a: Any, b: Any) -> Any:
    """The Arrow type of a column whose blocks or files have these types: text where nothing else holds both."""
    pa, types = arrow(""), arrow("types")
    if a == b:
        return a
    for day, time in ((a, b), (b, a)):
        if types.is_date(day) and types.is_timestamp(time) and time.tz is None:
            return time
    try:
        (both,) = pa.unify_schemas([pa.schema({"": one}) for one in (a, b)], promote_options="permissive").types
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.string()
    return both


def column_names(cells: Sequence[str], header: bool) -> tuple[str, ...]:
    """Names from the header, or column 1, column 2, …"""
    given = [cell.strip() for cell in cells] if header else [""] * len(cells)
    return tuple(name or f"column {place}" for place, name in enumerate(given, start=1))


def require_distinct(names: Sequence[str], title: str) -> None:
    """Raise if two columns have one name."""
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if places.setdefault(name, place) != place:
            raise ValueError(f"{title} has two columns named {name!r}, number {places[name]} and {place}; rename one.")


def _column_names(path: str, dialect: Dialect) -> tuple[str, ...]:
    blocks = record_blocks(_utf8_blocks(path, dialect.encoding), dialect.delimiter)
    records = (block[slice(*place)] for block in blocks for place in record_places(block, dialect.delimiter))
    return column_names(cells_of(next(records, b""), dialect.delimiter), dialect.header)


def _body(path: str, dialect: Dialect) -> Iterator[bytes]:
    has_names = dialect.header
    for block in record_blocks(_utf8_blocks(path, dialect.encoding), dialect.delimiter):
        if has_names:
            _, end = next(record_places(block, dialect.delimiter), (0, 0))
            block, has_names = block[end:], not end
        if block.strip(b"\r\n"):
            yield block


def _utf8_blocks(path: str, encoding: str) -> Iterator[bytes]:
    decoder, n_blocks = codecs.getincrementaldecoder(encoding)(), 0
    with _bytes_of(path) as file:
        while True:
            block = file.read(_BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                before = sum(block.count(b"\n") for block in islice(_utf8_blocks(path, encoding), n_blocks))
                error.reason = str(before + error.object[: error.start].count(b"\n") + 1)  # the line
                raise
            if text:
                yield text.encode()
                n_blocks += 1
            if not block:
                return


@contextmanager
def _bytes_of(path: str) -> Generator[IO[bytes], None, None]:
    with opened(path) as file, unpacked(file) as content:
        yield content


@contextmanager
def unpacked(file: IO[bytes]) -> Generator[IO[bytes], None, None]:
    """A file that may be read only once, or what gzip packed in it."""
    readable: Any = file if hasattr(file, "peek") else io.BufferedReader(cast(Any, file))
    if readable.peek(2)[:2] == b"\x1f\x8b":
        with gzip.open(readable) as content:
            yield content  # type: ignore[misc]
    else:
        yield readable


def _misplaced(path: str, error: UnicodeDecodeError) -> ValueError:
    return not_encoded(printable(path), error.encoding, int(error.reason), error.object[error.start])


def _diagnosed(table: TextFormat, n_before: int, block: bytes, error: Exception) -> ValueError:
    """What is wrong with a block, in terms of rows; the file is read again to count lines."""
    name, width, delimiter = printable(table.path), len(table.names), table.dialect.delimiter
    for number, record in enumerate(split_records(block, delimiter), start=n_before + 1):
        n_cells = len(cells_of(record, delimiter))
        if n_cells != width:
            line = _line_of(table, number)
            return ValueError(
                f"{name}, row {number} (line {line}): {n_cells} cell(s), where the first line has {width}. Correct the "
                "row, quote cells that contain the delimiter, or give the right delimiter."
            )
    return ValueError(f"{name} cannot be read as a table: {str(error).strip().splitlines()[0][:200]}")


def _line_at(table: TextFormat, place: int) -> int:
    """The line of a place in the UTF-8 of a file, counted from 1."""
    n_lines = 1
    for block in _utf8_blocks(table.path, table.dialect.encoding):
        n_lines += block.count(b"\n", 0, place) or block.count(b"\r", 0, place)
        place -= len(block)
        if place <= 0:
            break
    return n_lines


def _line_of(table: TextFormat, row: int) -> int:
    """The last line of a row, counted from 1."""
    delimiter, n_before, n_lines = table.dialect.delimiter, row - 1 + table.dialect.header, 0
    for block in record_blocks(_utf8_blocks(table.path, table.dialect.encoding), delimiter):
        ends = [end for _, end in record_places(block, delimiter)]
        if n_before < len(ends):
            return n_lines + len(block[: ends[n_before]].splitlines())
        n_before, n_lines = n_before - len(ends), n_lines + len(block.splitlines())
    return n_lines
