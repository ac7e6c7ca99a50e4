"""Where the records of a CSV text end: at line ends outside of quoted cells.

A cell is quoted if it begins with a quote; a quote elsewhere is a character like any other. That is the rule of
pyarrow's parser, which gets blocks of whole records, and of the output, which copies records: both are cut here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

# A longer record is taken for a quoted cell without an end.
_LONGEST = 1 << 26
_LINE = re.compile(rb"[^\r\n]+")


class EndlessCellError(ValueError):
    """A quoted cell has no end; ``begin`` is where its record begins, in bytes of UTF-8."""

    def __init__(self, begin: int):
        self.begin = begin


def record_blocks(blocks: Iterable[bytes], delimiter: str) -> Iterator[bytes]:
    """The bytes of a UTF-8 text in blocks that end where records end."""
    rest, begin = b"", 0
    for block in blocks:
        rest += block
        end = _last_end(rest, delimiter)
        if end:
            yield rest[:end]
            begin += end
            rest = rest[end:]
        if len(rest) > _LONGEST:
            raise EndlessCellError(begin)
    if rest.strip(b"\r\n"):
        if b'"' in rest and any(_is_open(cell) for cell in _quoted(delimiter).finditer(rest)):
            raise EndlessCellError(begin)
        yield rest


def split_records(block: bytes, delimiter: str) -> list[bytes]:
    """The records of a block without their line ends; empty lines are left out."""
    if b'"' not in block:
        return [line for line in block.splitlines() if line]
    return [block[begin:end] for begin, end in record_places(block, delimiter)]


def record_places(block: bytes, delimiter: str) -> Iterator[tuple[int, int]]:
    """Where the records of a block begin and end, without their line ends."""
    if b'"' in block:
        block = _quoted(delimiter).sub(lambda cell: re.sub(rb"[\r\n]", b"x", cell[0]), block)
    return (line.span() for line in _LINE.finditer(block))


def cells_of(record: bytes, delimiter: str) -> list[str]:
    """The cells of a record. They may be of any length; the reader of Python's library has a limit."""
    if b'"' not in record:
        return record.decode().split(delimiter) if record else []
    glue, begin, cells = delimiter.encode(), 0, []
    for hidden in _quoted(delimiter).sub(lambda cell: b"x" * len(cell[0]), record).split(glue):
        cells.append(_content(record[begin : begin + len(hidden)], delimiter).decode())
        begin += len(hidden) + len(glue)
    return cells


def _content(cell: bytes, delimiter: str) -> bytes:
    """What a cell holds: without the quotes around it, and with those in it once."""
    found = _quoted(delimiter).match(cell)
    if found is None:
        return cell
    return found[0][1 : len(found[0]) - len(found[1])].replace(b'""', b'"') + cell[found.end() :]


def misquoted(block: bytes, delimiter: str, n_records: int) -> int | None:
    """Where a quoted cell of several lines begins that has text after its last quote; None if there is none.

    A quote too many at the beginning of a cell makes such cells: they hold all rows up to the next such quote.
    """
    if b'"' not in block or n_records == sum(map(bool, block.splitlines())):
        return None  # every cell is on one line
    follows = b"\r\n" + delimiter.encode()
    for cell in _quoted(delimiter).finditer(block):
        if cell.end() < len(block) and block[cell.end()] not in follows and len(cell[0].splitlines()) > 1:
            return cell.start()
    return None


def _last_end(text: bytes, delimiter: str) -> int:
    """Where the last whole record of a text ends, 0 if none does."""
    # A carriage return may be the first half of a line end, and a quote the first half of two.
    end = len(text) - 1 if text.endswith(b"\r") else len(text)
    begins, ends = [], [0]
    if b'"' in text:
        for cell in _quoted(delimiter).finditer(text):
            begins.append(cell.start())
            ends.append(len(text) if _is_open(cell) or cell.end() == len(text) else cell.end())
    for begin, stop in zip(reversed(ends), reversed([*begins, end]), strict=True):
        last = max(text.rfind(b"\n", begin, stop), text.rfind(b"\r", begin, stop))
        if last >= 0:
            return last + 1
    return 0


@cache
def _quoted(delimiter: str) -> re.Pattern[bytes]:
    """A quoted cell, up to its last quote; the group is empty if it has none."""
    before = re.escape(delimiter.encode())
    return re.compile(rb"(?:\A|(?<=[\r\n])|(?<=" + before + rb'))"[^"]*(?:""[^"]*)*("?)')


def _is_open(cell: re.Match[bytes]) -> bool:
    return not cell[1]
