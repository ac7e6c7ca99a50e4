"""Pictures of commands, written whole or not at all."""

from pathlib import Path

from kfree import plot
from kfree.cli.errors import UsageError
from kfree.cli.output import written

_ENDINGS = {".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp"}


def draw_clusters(model, X, names, path):
    """The clusters of rows."""
    ax = plot.axes()
    plot.clusters(X, model, ax=ax)
    ax.set(xlabel=names[0], ylabel=names[1])
    _write(ax, path)


def draw_path(path, picture):
    """The staircase."""
    _write(plot.staircase(path, plot.axes()), picture)


def draw_tree(model, n_clusters, names, path):
    """The dendrogram, cut into clusters."""
    _write(plot.dendrogram(model.linkage_, n_clusters, names=names, ax=plot.axes()), path)


def draw_graph(model, path):
    """The nodes of a graph."""
    _write(plot.graph(model, plot.axes()), path)


def _write(ax, path):
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise UsageError(f"--plot {path}: the ending says which kind of picture; use one of {', '.join(_ENDINGS)}")
    with written(path) as file:
        ax.figure.savefig(file, format=ending[1:], dpi=120)
