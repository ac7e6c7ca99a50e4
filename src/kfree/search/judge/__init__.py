"""The judge of the number and kind of clusters: what was found, compared with what is found where there is nothing."""
