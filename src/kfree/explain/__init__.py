"""Explanations of a clustering: what its clusters are, how far rows lie from them, what sets clusters apart."""

from kfree.explain.summary import ClusterSummary, Summary, summarize
from kfree.explain.view import View

__all__ = ["ClusterSummary", "Summary", "View", "summarize"]
