"""Validation of what users give: parameters, rows, weights, kernels, groups, graphs."""
