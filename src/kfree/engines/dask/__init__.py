"""Rows on the workers of a Dask cluster: passes run where the rows are read, and O(k·d) numbers travel."""
