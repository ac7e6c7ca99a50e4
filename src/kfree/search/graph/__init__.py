"""Search for clusters of a graph."""
