"""Rows in the feature space of a kernel."""
