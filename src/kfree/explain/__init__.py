"""Explanations of a clustering: sizes, spreads, distances, exemplars and distinguishing features."""

from kfree.explain.summary import ClusterSummary, Summary, summarize
from kfree.explain.view import View

__all__ = ["ClusterSummary", "Summary", "View", "summarize"]
