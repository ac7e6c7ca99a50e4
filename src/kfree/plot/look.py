"""Shared by all plots: colours and markers of clusters, axes, and the lazy import of matplotlib."""

import numpy as np

from kfree.core.optional import optional
from kfree.core.printing import printable

# Neighbouring numbers are far apart in hue, so that clusters with consecutive numbers are easy to distinguish.
_GOLDEN_ANGLE = 0.381966
# Lightness alternates, so that neighbouring numbers also differ in grey; all stand out from white and from black.
_SATURATION, _VALUE = np.array([0.75, 0.62, 0.6]), np.array([0.8, 0.82, 0.62])
# Markers distinguish clusters of similar colours. All are solid: thin ones vanish where rows are drawn small.
MARKERS = "os^Dv<>phd"
# Rows of no cluster.
NOISE = "0.5"


def colours(n):
    """One colour per cluster, (n, 3), the same for the same number in every picture."""
    number = np.arange(n)
    hsv = np.column_stack([(number * _GOLDEN_ANGLE) % 1, _SATURATION[number % 3], _VALUE[number % 3]])
    return matplotlib("colors").hsv_to_rgb(hsv)


def axes(new_figure=None):
    """Axes in kfree's style, on a figure that no window shows unless ``new_figure`` opens one."""
    new_figure = new_figure or matplotlib("figure").Figure
    return new_figure(figsize=(8, 5), layout="constrained").add_subplot()


def given_or_new(ax):
    """These axes, or those of a new figure, without spines that carry no information."""
    ax = axes(matplotlib("pyplot").figure) if ax is None else ax
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def ink():
    """The colour of lines and text: black on white, white on black, as the style in use says."""
    return matplotlib("pyplot").rcParams["text.color"]


def literal(name):
    """A name as it is: no dollar begins a formula, and no control character makes an SVG file that cannot be read."""
    return printable(name).replace("$", r"\$")


def number_at(ax, place, label, colour):
    """Write the number of a cluster on a disc beside ``place``, so that it can be read on any rows."""
    face = {"boxstyle": "circle,pad=0.25", "facecolor": ax.get_facecolor(), "edgecolor": colour, "alpha": 0.85}
    told = {"ha": "center", "va": "center", "fontsize": 9, "color": ink(), "bbox": face, "zorder": 5}
    ax.annotate(str(label), place, (11, 11), textcoords="offset points", **told)


def matplotlib(module):
    """A module of matplotlib."""
    return optional(f"matplotlib.{module}", 'plots need matplotlib: pip install "kfree[plot]"')
