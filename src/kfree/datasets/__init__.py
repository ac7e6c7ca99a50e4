"""Data that come with kfree, and public data sets by name."""

from kfree.datasets.customers import make_customers
from kfree.datasets.gaussians import make_gaussians, make_three_gaussians, make_two_groups
from kfree.datasets.loading import Dataset, Graph, load, load_archipelago, names

__all__ = [
    "Dataset",
    "Graph",
    "load",
    "load_archipelago",
    "make_customers",
    "make_gaussians",
    "make_three_gaussians",
    "make_two_groups",
    "names",
]
