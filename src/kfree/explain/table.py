"""The table of clusters that a summary is: shown as text, as HTML and as a data frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Annotated, Any

import numpy as np

from kfree.core.marks import OPTIONAL
from kfree.core.optional import optional
from kfree.core.printing import html_table, printable
from kfree.explain.features import Feature, one_per_column
from kfree.explain.places import Place
from kfree.explain.units import SHARE, percent, short

# As many features fit on a line.
_SHOWN = 3
# Smaller effects would be shown as zero.
_LEAST = 0.005


@dataclass(frozen=True)
class ClusterSummary:
    """One cluster.

    Attributes
    ----------
    label, size : int
    share : float
        The share of all rows, those left out as noise included.
    spread : float
        Root mean square of the distances of its rows to the cluster; for graphs, the share of links that leave it.
    nearest : int
        The nearest other cluster; −1 if there is none.
    nearest_distance : float
        How far that is; infinite if there is none.
    exemplars : tuple of int
        Row numbers, the nearest to the centre first.
    features : tuple of Feature
        The columns that set the cluster apart most, at most ten: name, effect, mean, and the mean of other rows.
    place : Place or None
        Where the cluster is, if rows are places on the Earth.
    """

    label: int
    size: int
    share: float
    spread: float
    nearest: int
    nearest_distance: float
    exemplars: tuple[int, ...]
    features: tuple[Feature, ...]
    place: Annotated[Place | None, OPTIONAL] = None


@dataclass(frozen=True)
class Summary:
    """What :func:`summarize` returns: a text when printed, a table in a notebook, a frame by :meth:`to_frame`.

    Attributes
    ----------
    clusters : tuple of ClusterSummary
    n_rows, n_noise : int
        All rows, and those of them that belong to no cluster (label −1).
    distance, spread : str
        What a distance and a spread are for this estimator, in words.
    row_names : array or None
        Names of the rows that ``exemplars`` count, where rows have names.
    word : str
        What a row is called.
    others : str
        What features compare the rows of a cluster with.
    """

    clusters: tuple[ClusterSummary, ...]
    n_rows: int
    n_noise: int
    distance: str
    spread: str
    row_names: Any = field(default=None, hash=False)
    word: str = "row"
    others: Annotated[str, OPTIONAL] = "other rows"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        mine, theirs = ({**vars(one), "row_names": None} for one in (self, other))
        return mine == theirs and np.array_equal(self.row_names, other.row_names)

    def row_name(self, row: int) -> str:
        """The name of a row, which is its number unless rows have names."""
        return str(row) if self.row_names is None else str(self.row_names[row])

    def __str__(self) -> str:
        return _as_text(self)

    def _repr_html_(self) -> str:
        return _as_html(self)

    def to_frame(self) -> Any:
        """One row per cluster, as a pandas data frame."""
        return _as_frame(self)


def _as_text(summary: Summary) -> str:
    """A table in plain text, columns aligned."""
    # A line of the table stays one line, whatever the names of columns and rows hold.
    table = [[printable(cell) for cell in row] for row in [_header(summary), *_cells(summary)]]
    widths = [max(len(row[j]) for row in table) for j in range(len(table[0]))]
    # Numbers stand to the right, text to the left.
    lines = [
        "  ".join(row[j].rjust(width) if j < 5 else row[j].ljust(width) for j, width in enumerate(widths))
        for row in table
    ]
    return printable("\n".join([_title(summary), *(line.rstrip() for line in lines), _notes(summary)]), keep="\n")


def _as_html(summary: Summary) -> str:
    """A table in HTML; names are escaped."""
    return f"{html_table(_header(summary), _cells(summary), _title(summary))}<p>{escape(_notes(summary))}</p>"


def _as_frame(summary: Summary) -> Any:
    """One row per cluster, indexed by its label."""
    pandas = optional("pandas", "to_frame needs pandas: pip install pandas")
    names = ["size", "share", "spread", "nearest", "nearest_distance"] + ["exemplars"] * _has_exemplars(summary)
    last = "place" if _are_places(summary) else "set_apart_by"
    rows = [
        {name: getattr(cluster, name) for name in names} | _exemplars(summary, cluster) | {last: _features(cluster)}
        for cluster in summary.clusters
    ]
    index = pandas.Index([cluster.label for cluster in summary.clusters], name="cluster")
    return pandas.DataFrame(rows, index=index)


def _exemplars(summary: Summary, cluster: ClusterSummary) -> dict[str, tuple[Any, ...]]:
    """Exemplars by the names of rows, where these have any."""
    if summary.row_names is None or not cluster.exemplars:
        return {}
    return {"exemplars": tuple(summary.row_names[row] for row in cluster.exemplars)}


def _title(summary: Summary) -> str:
    k, n = len(summary.clusters), summary.n_rows
    noise = f", {summary.n_noise} of them in no cluster" if summary.n_noise else ""
    return f"{k} cluster{'s' * (k != 1)} of {n:,} {summary.word}{'s' * (n != 1)}{noise}"


def _notes(summary: Summary) -> str:
    told = f"spread: {summary.spread}; distance: {summary.distance}"
    if _are_places(summary):
        return told
    apart = f"how many standard deviations within clusters from {summary.others} (mean)"
    has_levels = any(feature.unit.kind == SHARE for cluster in summary.clusters for feature in cluster.features)
    levels = ", and of levels the share of rows (that of others)" if has_levels else ""
    return f"{told}; set apart by: {apart}{levels}"


def _has_exemplars(summary: Summary) -> bool:
    """Whether rows are known by numbers or names: those that a stream remembers are not."""
    return any(cluster.exemplars for cluster in summary.clusters)


def _are_places(summary: Summary) -> bool:
    return any(cluster.place is not None for cluster in summary.clusters)


def _header(summary: Summary) -> list[str]:
    last = "place" if _are_places(summary) else "set apart by"
    exemplars = ["exemplars"] * _has_exemplars(summary)
    return ["cluster", f"{summary.word}s", "share", "spread", "nearest", *exemplars, last]


def _cells(summary: Summary) -> list[list[str]]:
    return [
        [
            str(cluster.label),
            str(cluster.size),
            percent(cluster.share, decimals=1),
            short(cluster.spread),
            "none" if cluster.nearest < 0 else f"{cluster.nearest} ({short(cluster.nearest_distance)})",
            *[", ".join(summary.row_name(row) for row in cluster.exemplars)] * _has_exemplars(summary),
            _features(cluster),
        ]
        for cluster in summary.clusters
    ]


def _features(cluster: ClusterSummary) -> str:
    """The largest effects, none where there is no other cluster or no difference from it; or where places are."""
    if cluster.place is not None:
        return str(cluster.place)
    return ", ".join(_told(feature) for feature in one_per_column(cluster.features, _LEAST)[:_SHOWN])


def _told(feature: Feature) -> str:
    if feature.unit.kind == SHARE:
        return f"{feature.name} {feature.text} (others {feature.unit.text(feature.others)})"
    effect = f"{feature.effect:+.2f}".replace("-", "−")
    return f"{feature.name} {effect} ({feature.text})"
