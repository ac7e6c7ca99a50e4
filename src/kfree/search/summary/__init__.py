"""Search for any number of rows: on weighted micro-clusters in memory, then by exact passes over all rows."""
