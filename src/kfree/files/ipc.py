"""Arrow files and streams (.arrow, .feather). Rows that are not packed are those of the file, mapped into memory."""

from __future__ import annotations

import os
import struct
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kfree.core.memory import forget_pages
from kfree.core.printing import printable
from kfree.files.places import arrow, is_address, opened

_MAGIC = b"ARROW1"


class ArrowFile:
    """An Arrow file or stream at a local path or an address."""

    def __init__(self, path: str, source: Any, mapped: Any):
        self._path, self._source, self._mapped = path, source, mapped
        self._is_file = source.read(6) == _MAGIC

    @property
    def schema(self) -> Any:
        return self._reader(None).schema

    def heads(self) -> Iterator[tuple[int, bool]]:
        """For every record batch the number of its rows, and whether they take memory when they are read."""
        self._source.seek(8 if self._is_file else 0)
        for message in arrow("ipc").MessageReader.open_stream(self._source):
            if message.type == "record batch":
                n_rows, is_packed = _head(message.metadata.to_pybytes())
                yield n_rows, is_packed or self._mapped is None
            self.forget()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The record batches, with these columns at least."""
        # Packed columns are unpacked, and those of an address fetched; mapped ones cost nothing.
        is_costly = next((costly for _, costly in self.heads()), False)
        reader = self._reader([self.schema.names.index(name) for name in names] if is_costly else None)
        return map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else iter(reader)

    def _reader(self, fields: list[int] | None) -> Any:
        ipc = arrow("ipc")
        self._source.seek(0)
        options = ipc.IpcReadOptions(use_threads=False)
        if fields is not None:
            options.included_fields = fields
        return (ipc.open_file if self._is_file else ipc.open_stream)(self._source, options=options)

    def forget(self) -> None:
        """Unmap the pages that were read, which count as memory of the process."""
        if self._mapped is not None:
            # Pages beyond the end of a file that was cut cannot be read: the system would end the process.
            if os.stat(self._path).st_size < self._mapped.size:
                raise ValueError(f"{printable(self._path)} was cut while it was read")
            forget_pages(self._mapped.address, self._mapped.size)


@contextmanager
def opened_ipc(path: str) -> Generator[ArrowFile, None, None]:
    """An Arrow file or stream, closed at the end."""
    file: Any = opened(path) if is_address(path) else arrow("").memory_map(path)
    with file:
        mapped = None if is_address(path) else file.read_buffer()
        file.seek(0)
        yield ArrowFile(path, file, mapped)


def _head(message: bytes) -> tuple[int, bool]:
    """The number of rows of a record batch, and whether it is packed: fields 0 and 3 of the head of its message.

    Messages are flatbuffers. A table begins with the distance to its list of fields, which holds the places of fields
    that are there.
    """

    def place(table: int, field: int) -> int:
        fields = table - struct.unpack_from("<i", message, table)[0]
        is_listed = 4 + 2 * field < struct.unpack_from("<H", message, fields)[0]
        offset = struct.unpack_from("<H", message, fields + 4 + 2 * field)[0] if is_listed else 0
        return table + offset if offset else 0

    at = place(struct.unpack_from("<I", message)[0], 2)
    batch = at + struct.unpack_from("<I", message, at)[0]
    length = place(batch, 0)
    return struct.unpack_from("<q", message, length)[0] if length else 0, bool(place(batch, 3))
