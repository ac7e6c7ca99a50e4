"""Odashima, Ueki & Sawasaki (2016): A split-merge DP-means algorithm to avoid local minima."""
