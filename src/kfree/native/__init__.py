"""Passes over rows, arrays in and arrays out: compiled (``_core``) and in NumPy (``reference``)."""
