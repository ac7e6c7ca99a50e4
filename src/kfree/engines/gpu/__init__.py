"""Rows on a GPU: the part contract with torch and Triton, and the bits of the CPU."""
