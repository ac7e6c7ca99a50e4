"""Rows in files: a description of them that is cheap to make and to send, and streams of chunks in row order."""

from kfree.files.rows import FileRows, open_rows
from kfree.files.table import RowFile

__all__ = ["FileRows", "RowFile", "open_rows"]
