"""The table that a command reads: a file, the files of a folder or pattern, or standard input."""

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager

from kfree.cli.errors import CommandError, UsageError
from kfree.core.printing import printable, quoted
from kfree.files.dialect import TextOptions
from kfree.files.table import column_name, open_table, require_same_columns

STANDARD_INPUT = "standard input"
_BATCH_ROWS = 65536


class InputTable:
    """The columns of the input by name, read when they are asked for."""

    def __init__(self, options):
        self.table, described = open_table(options.path, text_options(options))
        require_same_columns(self.table, described)
        # What messages call it.
        self.title = STANDARD_INPUT if options.input == "-" else printable(options.input)
        self.columns = {column_name(column): column for column in self.table.types}
        if not self.n_rows:
            raise CommandError(f"{self.title} has no rows; give a table with at least one.")

    @property
    def codes(self):
        """Columns of whole numbers with leading zeros."""
        return {name for file in self.table.files if file.text for name in file.text.codes}

    @property
    def names(self):
        return list(self.columns)

    @property
    def n_rows(self):
        return self.table.n_rows

    @property
    def is_array(self):
        """Whether the rows are those of .npy files, whose columns have no names."""
        return any(isinstance(column, int) for column in self.columns.values())

    def type(self, name):
        return self.table.types[self.columns[name]]

    def require(self, names, option):
        """Raise unless these columns exist."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise CommandError(
                f"{self.title} has no column {quoted(missing)} ({option}); it has {quoted(self.names, 20)}."
            )

    def read(self, names):
        """Some columns of all rows, as a table of pyarrow."""
        return self.table.read([self.columns[name] for name in names])

    def batches(self, names, size=_BATCH_ROWS):
        """Some columns a few rows at a time, as dicts of arrays."""
        columns = [self.columns[name] for name in names]
        for batch in self.table.batches(columns, 0, self.n_rows, size):
            yield dict(zip(names, batch.columns, strict=True))


def text_options(options):
    """What was said about how text is read."""
    header = None if options.header is None else options.header == "yes"
    return TextOptions(
        options.encoding, options.delimiter, header, options.decimal, options.thousands, tuple(options.na)
    )


@contextmanager
def readable_input(options, console):
    """Set ``options.path``; what standard input holds is kept in a file meanwhile, so that it can be read again."""
    options.path = options.input
    if options.input != "-":
        yield
        return
    with tempfile.TemporaryDirectory(prefix="kfree-") as folder:
        console.hidden = folder
        options.path = os.path.join(folder, STANDARD_INPUT)
        with open(options.path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield


def require_apart(inputs, outputs):
    """Raise if an output would replace an input or another output; ``outputs`` are paths by option."""
    taken = {_identity(path): what for what, path in inputs.items() if path not in (None, "-")}
    for option, path in outputs.items():
        if path in (None, "-") or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        other = taken.setdefault(_identity(path), option)
        if other != option:
            raise UsageError(f"{option} {path} is also {other}, which it would replace; give another name")


def _identity(path):
    """What is the same for two names of one file."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def files_of(path):
    """The files that an input names, by what they are to a message."""
    from kfree.files.places import found

    if path == "-" or "://" in path:
        return {}
    files = found(path)
    return {"the input": files[0]} if len(files) == 1 else {f"the input {name}": name for name in files}
