"""Rows on a GPU, with torch and Triton, and the bits of the CPU."""
