"""The reference implementation of the compiled code, in NumPy."""
