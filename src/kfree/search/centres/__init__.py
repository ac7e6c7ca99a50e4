"""Search for clusters that have centres."""
