"""Data that come with kfree, and public data sets by name."""

from kfree.datasets.archipelago import load_archipelago
from kfree.datasets.customers import make_customers
from kfree.datasets.gaussians import make_gaussians
from kfree.datasets.loading import Dataset, Graph, load, names

__all__ = ["Dataset", "Graph", "load", "load_archipelago", "make_customers", "make_gaussians", "names"]
