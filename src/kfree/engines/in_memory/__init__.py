"""What parts share whose labels and distances are arrays: of NumPy, or of torch on a GPU."""
