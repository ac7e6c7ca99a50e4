"""Fitted clusterings: how rows that were not in the fit get labels and distances, one module per kind of cluster."""
