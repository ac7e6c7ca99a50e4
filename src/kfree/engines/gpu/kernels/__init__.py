"""Triton kernels. Products and sums of float64 are never fused, so that their bits are those of the CPU."""
