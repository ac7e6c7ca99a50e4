"""Errors of the command line."""

from contextlib import contextmanager


class CommandError(Exception):
    """An error in the data or the file system; the command ends with status 1."""


class UsageError(Exception):
    """An error in the command line itself; the command ends with status 2."""


@contextmanager
def parameters_of_the_command():
    """What a parameter may not be is a fault of the command line, in terms of its options."""
    try:
        yield
    except ValueError as error:
        from kfree.cli.advice import in_options

        raise UsageError(in_options(str(error))) from None
