"""Kulis & Jordan (2012), "Revisiting k-means: new algorithms via Bayesian nonparametrics"."""
