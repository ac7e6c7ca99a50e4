"""Pictures of commands, written whole or not at all."""

from pathlib import Path

from kfree import plot
from kfree.cli.errors import CommandError, UsageError
from kfree.cli.output import written
from kfree.plot.look import matplotlib

_ENDINGS = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
# Places of nodes take a matrix of all pairs.
_MOST_NODES = 3000


def require_picture(path, option="--plot"):
    """Raise unless a picture can be written to this path; None asks for none."""
    if path is None:
        return
    if _format_of(path) is None:
        raise UsageError(f"{option} {path}: the ending sets the format; use one of {', '.join(_ENDINGS)}")
    matplotlib("figure")  # an error says how to install it


def require_few_nodes(n_nodes):
    """Raise unless places can be found for the nodes of a graph."""
    if n_nodes > _MOST_NODES:
        raise CommandError(f"--plot draws graphs of up to {_MOST_NODES} nodes; this one has {n_nodes}.")


def draw(path, kind, *given, **settings):
    """Draw what a function of :mod:`kfree.plot` draws."""
    save(path, getattr(plot, kind)(*given, ax=plot.axes(), **settings))


def save(path, ax):
    """Write the figure of some axes, in the format that the ending of the path names."""
    with written(path) as file:
        ax.figure.savefig(file, format=_format_of(path), dpi=120)


def _format_of(path):
    ending = Path(path).suffix.lower()
    return ending[1:] if ending in _ENDINGS else None
