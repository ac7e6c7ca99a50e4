"""Engines hold the rows: nearest sites, and sufficient statistics of the assignment."""
