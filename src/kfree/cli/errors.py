"""Errors of the command line."""


class CommandError(Exception):
    """An error in the data or the file system; the command ends with status 1."""


class UsageError(Exception):
    """An error in the command line itself; the command ends with status 2."""


def quoted(names, most=8):
    """Names for a message: quoted, and only the first few of many."""
    names = list(names)
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
