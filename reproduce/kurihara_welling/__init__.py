"""Kurihara & Welling (2009): Bayesian k-means as a maximization-expectation algorithm."""
