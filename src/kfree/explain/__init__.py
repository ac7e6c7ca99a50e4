"""Explanations of a clustering: sizes, spreads, distances, exemplars and distinguishing features."""

from kfree.explain.duplicates import Duplicates
from kfree.explain.summary import ClusterSummary, Feature, Summary, summarize
from kfree.explain.view import View

__all__ = ["ClusterSummary", "Duplicates", "Feature", "Summary", "View", "summarize"]
