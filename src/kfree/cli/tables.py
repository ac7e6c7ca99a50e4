"""The table that a command reads: a file, the files of a folder or pattern, or standard input."""

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, nullcontext

from kfree.cli.errors import CommandError, UsageError, parameters_of_the_command
from kfree.clustering.tables import NamedFilesTable
from kfree.core.printing import printable
from kfree.files.dialect import TextOptions
from kfree.files.places import is_pipe, opened

STANDARD_INPUT = "standard input"


def input_table(options, plan=None):
    """The table that a command reads; with a ``plan``, as the table of the fit was read."""
    title = STANDARD_INPUT if options.input == "-" else printable(options.input)
    given = text_options(options)
    return NamedFilesTable(options.path, given if plan is None else plan.text_options(given), title)


def text_options(options):
    """What was said about how text is read."""
    header = None if options.header is None else options.header == "yes"
    with parameters_of_the_command():
        return TextOptions(
            options.encoding, options.delimiter, header, options.decimal, options.thousands, tuple(options.na)
        )


def standard_input():
    """The bytes of standard input, which a program that starts this one may have closed."""
    if sys.stdin is None:
        raise CommandError("standard input is closed; give a file, or a pipe that is open.")
    return sys.stdin.buffer


@contextmanager
def readable_input(options, console):
    """Set ``options.path``; what standard input or a pipe holds is kept in a file meanwhile, to be read again."""
    options.path = options.input
    if options.input != "-" and not is_pipe(options.input):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="kfree-") as folder:
        console.hidden = folder
        options.path = os.path.join(folder, STANDARD_INPUT)
        given = nullcontext(standard_input()) if options.input == "-" else opened(options.input)
        with given as source, open(options.path, "wb") as file:
            shutil.copyfileobj(source, file)
        yield


def require_apart(inputs, outputs):
    """Raise if an output has no place, or would replace an input or another one; ``outputs`` are paths by option."""
    taken = {_identity(path): what for what, path in inputs.items() if path not in (None, "-")}
    for option, path in outputs.items():
        if path == "":  # as a variable of a shell that is not set
            raise UsageError(f"{option} is empty; give the name of a file, or leave it out")
        if path == "-" and option != "--output":
            raise UsageError(f"{option} is not written to standard output; give the name of a file")
        _require_place(option, path)
        if path in (None, "-") or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        other = taken.setdefault(_identity(path), option)
        if other != option:
            raise UsageError(f"{option} {path} is also {other}, which it would replace; give another name")


def _require_place(option, path):
    """Raise if a file cannot be written there; after a fit of hours it would be too late."""
    if path in (None, "-"):
        return
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise UsageError(f"{option} {path} is a folder; give the name of a file")
    if not os.path.isdir(folder):
        raise UsageError(f"{option} {path}: there is no folder {folder}; create it, or give another path")


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
