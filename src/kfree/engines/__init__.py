"""Engines hold the rows: who is nearest, and sufficient statistics of the answer."""
