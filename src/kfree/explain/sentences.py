"""A sentence about each cluster, in the names and units of the table."""

from __future__ import annotations

from collections.abc import Mapping

from kfree.core.printing import isolated
from kfree.explain.certainty import counted
from kfree.explain.features import Feature, one_per_column
from kfree.explain.table import ClusterSummary, Summary
from kfree.explain.units import DATE, RANK, SHARE, TIME, percent

# Columns in a sentence, and the least difference, in standard deviations within clusters, that is told.
_MOST, _LEAST = 4, 0.5
# From this ratio on, a mean is so many times that of the others.
_TIMES = 2.0


def sentences(summary: Summary, names: Mapping[int, str] | None = None) -> list[str]:
    """One sentence per cluster: its name, how many rows it has, and what sets it apart."""
    return [sentence(cluster, summary, names or {}) for cluster in summary.clusters]


def sentence(cluster: ClusterSummary, summary: Summary, names: Mapping[int, str]) -> str:
    """The sentence about one cluster."""
    size = f"{counted(cluster.size, summary.word)} ({percent(cluster.share)})"
    head = f"{isolated(name_of(cluster.label, names))}: {size}"
    if cluster.place is not None:
        return f"{head}; {cluster.place}."
    told = [phrase(feature) for feature in distinct(cluster.features)]
    if not told:
        alike = len(summary.clusters) > 1 and len(cluster.features) > 0
        return f"{head}, not set apart by any single column." if alike else f"{head}."
    return f"{head}; {', '.join(told)}."


def name_of(label: int, names: Mapping[int, str]) -> str:
    """What a cluster is called."""
    return names.get(label, f"Cluster {label}")


def phrase(feature: Feature) -> str:
    """What a column says about a cluster: "income 8,980 (others 1,159)"."""
    name = isolated(feature.column)
    here, there = feature.unit.text(feature.mean), feature.unit.text(feature.others)
    if feature.unit.kind == SHARE:
        what = f"{name} is {isolated(feature.level)}" if feature.source else name
        return f"{what} in {here} (others {there})"
    if feature.unit.kind in (DATE, TIME):
        return f"{name} {'later' if feature.mean > feature.others else 'earlier'}: {here} (others {there})"
    slightly = "slightly " if feature.unit.kind == RANK and here == there else ""
    return f"{slightly}{_compared(feature)} {name}: {here} (others {there})"


def _compared(feature: Feature) -> str:
    """Higher or lower; or how many times, where the mean of others is a deviation or more above zero.

    Ranks are no multiples of each other.
    """
    is_higher = feature.mean > feature.others
    if feature.unit.kind == RANK:
        return "higher" if is_higher else "lower"
    deviation = abs(feature.mean - feature.others) / abs(feature.effect)
    if 0 < _TIMES * feature.others <= feature.mean and feature.others >= deviation:
        ratio = feature.mean / feature.others
        return f"{ratio:.1f} times the" if ratio < 10 else f"{ratio:.0f} times the"
    return "higher" if is_higher else "lower"


def distinct(features: tuple[Feature, ...]) -> list[Feature]:
    """The features that are told: large effects, and one level of a column."""
    return one_per_column(features, _LEAST)[:_MOST]
