"""What every layer writes its formulas in: statistics of clusters, distances, costs of rows."""
