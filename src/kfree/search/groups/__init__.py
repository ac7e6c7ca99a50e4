"""Search for clusters that groups share."""
