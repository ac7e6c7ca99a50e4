"""Slow, obvious versions that the library is held against."""
