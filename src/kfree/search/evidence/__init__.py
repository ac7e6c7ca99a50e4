"""Search for the clustering of least free energy."""
