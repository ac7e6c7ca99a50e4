"""The lam path: the best clustering for every penalty."""
