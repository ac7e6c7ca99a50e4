"""Tables from files: CSV and TSV, Parquet, Arrow, .npy, or text from standard input."""

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kfree.cli.errors import CommandError, quoted
from kfree.core.memory import return_freed_memory

PARQUET, ARROW, NPY, TEXT = "parquet", "arrow", "npy", "text"
_ENDINGS = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
    ".npy": NPY,
}
# The type of a file by its first bytes, whatever its name.
_SIGNATURES = {b"PAR1": PARQUET, b"ARROW1": ARROW, b"\x93NUMPY": NPY}
_NEEDS_PYARROW = 'needs pyarrow: pip install "kfree[files]"'


@dataclass(frozen=True)
class Source:
    """Where a table comes from: a path, or ``-`` for standard input, whose bytes are kept to be read again."""

    name: str
    content: bytes | None = None

    @classmethod
    def of(cls, name):
        """A readable file, or standard input."""
        if name == "-":
            return cls("standard input", sys.stdin.buffer.read())
        require_readable(name)
        return cls(name)

    def open(self):
        return open(self.name, "rb") if self.content is None else io.BytesIO(self.content)

    @property
    def format(self):
        with self.open() as file:
            head = file.read(8)
        for signature, kind in _SIGNATURES.items():
            if head.startswith(signature):
                return kind
        return _ENDINGS.get(Path(self.name).suffix.lower(), TEXT)


def require_readable(name):
    """Raise unless ``name`` is a file that can be read."""
    if os.path.isdir(name):
        raise CommandError(f"{name} is a directory; give a file.")
    try:
        with open(name, "rb"):
            pass
    except FileNotFoundError:
        raise CommandError(f"{name} does not exist.") from None
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None


class Table:
    """Columns by name, each a NumPy array: numbers with NaN for missing values, or objects with None."""

    def __init__(self, source, columns, dialect=None):
        self.source, self.dialect = source, dialect
        self._columns = columns
        # Of all columns of the file, also of those that were not read; read_table says so where it knows better.
        self.source_names = list(columns)
        self.n_rows = len(next(iter(columns.values()))) if columns else 0

    @property
    def names(self):
        return list(self._columns)

    def kind(self, name):
        """ "number", or what else the column holds."""
        return "number" if self._columns[name].dtype.kind in "fiub" else "text"

    def numbers(self, name):
        """A column as float64 or float32, NaN where a value is missing."""
        column = self._columns[name]
        return column if column.dtype.kind == "f" else column.astype(np.float64)

    def values(self, name):
        """A column as it is, for names of groups and nodes."""
        return self._columns[name]

    def column(self, name):
        """A column for a table of pyarrow."""
        return self._columns[name]

    def is_whole(self, name):
        """Whether all values are whole numbers."""
        column = self._columns[name]
        return column.dtype.kind in "iu" or (column.dtype.kind == "f" and bool(np.all(column == np.floor(column))))

    def is_single(self, name):
        """Whether float32 holds all values."""
        return self._columns[name].dtype == np.float32

    def n_distinct(self, name):
        return len(np.unique(self._columns[name]))

    def drop(self, name):
        """Drop a column that is no longer needed."""
        del self._columns[name]

    def release(self):
        """Return the memory of dropped columns to the system."""

    def require(self, names, option):
        """Raise unless these columns exist."""
        missing = [name for name in names if name not in self._columns]
        if missing:
            raise CommandError(
                f"{self.source.name} has no column {quoted(missing)} ({option}); it has {quoted(self.names, 20)}."
            )


class ArrowTable(Table):
    """The same, with columns that Arrow keeps."""

    def kind(self, name):
        types = arrow().types
        kind = self._columns[name].type
        if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind):
            return "number"
        if types.is_dictionary(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
            return "text"
        return str(kind)

    def numbers(self, name):
        import pyarrow

        column = self._columns[name]
        wanted = column.type if pyarrow.types.is_float32(column.type) else pyarrow.float64()
        if pyarrow.types.is_boolean(column.type):
            column = column.cast(pyarrow.uint8())
        return column.cast(wanted).to_numpy()

    def values(self, name):
        import pyarrow

        column = self._columns[name]
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column.to_numpy()

    def is_whole(self, name):
        return arrow().types.is_integer(self._columns[name].type)

    def release(self):
        arrow().default_memory_pool().release_unused()
        return_freed_memory()

    def is_single(self, name):
        return arrow().types.is_float32(self._columns[name].type)

    def n_distinct(self, name):
        import pyarrow.compute

        return pyarrow.compute.count_distinct(self._columns[name]).as_py()


def read_table(source, *, encoding=None, delimiter=None, header=None, columns=None, say=lambda text: None):
    """The table in a source; ``columns`` names the only ones that are needed, ``say`` takes remarks."""
    if source.format == TEXT:
        from kfree.cli.text_tables import read_text

        return read_text(source, encoding=encoding, delimiter=delimiter, header=header, columns=columns, say=say)
    from kfree.cli.binary_tables import READERS

    table = READERS[source.format](source, columns)
    if not table.n_rows or not table.names:
        raise CommandError(f"{source.name} holds no rows; give a table with at least one.")
    return table


def require_unique(names, source):
    """Raise if two columns have one name."""
    seen = {}
    for place, name in enumerate(names, start=1):
        if name in seen:
            raise CommandError(
                f"{source.name} has two columns named {name!r}, number {seen[name]} and {place}; rename one of them."
            )
        seen[name] = place


def arrow(module=None, purpose="this"):
    from importlib import import_module

    try:
        return import_module("pyarrow" if module is None else f"pyarrow.{module}")
    except ImportError:
        raise CommandError(f"{purpose} {_NEEDS_PYARROW}") from None
