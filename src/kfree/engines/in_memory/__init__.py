"""What parts share whose labels and distances are arrays of this process."""
