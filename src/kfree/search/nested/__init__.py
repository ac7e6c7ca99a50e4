"""Search for clusters of clusters (Maurer 2015, §4)."""
