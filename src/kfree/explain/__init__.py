"""Explanations of a clustering: sizes, spreads, distances, exemplars and distinguishing features."""

from kfree.explain.duplicates import Duplicates
from kfree.explain.features import Feature
from kfree.explain.places import Place
from kfree.explain.summary import summarize
from kfree.explain.table import ClusterSummary, Summary
from kfree.explain.view import View

__all__ = ["ClusterSummary", "Duplicates", "Feature", "Place", "Summary", "View", "summarize"]
