"""Moves that lower an objective, and the one loop that drives them."""
