"""Pictures of commands, written whole or not at all."""

from pathlib import Path

from kfree import plot
from kfree.cli.errors import CommandError, UsageError
from kfree.cli.output import written

_ENDINGS = {".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp"}
# Places of nodes take a matrix of all pairs.
_MOST_NODES = 3000


def draw_clusters(model, X, names, path):
    """The clusters of rows."""
    _write(plot.clusters(model, X, plot.axes(), feature_names=names), path)


def draw_path(path, picture):
    """The staircase."""
    _write(plot.staircase(path, plot.axes()), picture)


def draw_tree(model, labels, names, path):
    """The dendrogram, cut into the clusters of ``labels``."""
    n_clusters = int(labels.max()) + 1
    _write(plot.dendrogram(model.linkage_, n_clusters, names=names, labels=labels, ax=plot.axes()), path)


def draw_graph(model, path):
    """The nodes of a graph, if it is small enough for places to be found."""
    if len(model.labels_) > _MOST_NODES:
        raise CommandError(f"--plot draws graphs of up to {_MOST_NODES} nodes; this one has {len(model.labels_)}.")
    _write(plot.graph(model, plot.axes()), path)


def _write(ax, path):
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise UsageError(f"--plot {path}: the ending sets the format; use one of {', '.join(_ENDINGS)}")
    with written(path) as file:
        ax.figure.savefig(file, format=ending[1:], dpi=120)
