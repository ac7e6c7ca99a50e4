"""Shared by all layers: statistics of clusters, distances, costs of rows."""
