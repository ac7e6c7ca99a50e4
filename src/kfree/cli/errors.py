"""Errors of the command line."""


class CommandError(Exception):
    """An error in the data or the file system; the command ends with status 1."""


class UsageError(Exception):
    """An error in the command line itself; the command ends with status 2."""
