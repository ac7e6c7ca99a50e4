"""Triton kernels. Products and sums of float64 are never fused, so that their bits are those of the CPU.

Numbers of rows, clusters and groups are arguments that kernels are not specialised for: a birth compiles nothing.
"""
