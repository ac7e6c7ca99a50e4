"""Rows that are streamed: an engine over files, or over arrays, that keeps nothing as long as the rows."""
