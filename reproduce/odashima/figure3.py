"""Fig. 3: split DP-means on few and on many rows of five Gaussians, and merged."""

from kfree import plot
from kfree.datasets import make_two_groups
from reproduce.odashima.algorithms import ALGORITHMS
from reproduce.result import Result
from reproduce.table import Line

LAM = 100.0
# Panel: rows and algorithm. The paper prints no numbers of clusters.
PANELS = {"a": (40, "SD"), "b": (500, "SD"), "c": (500, "SMD")}


def result(quick):
    """The three panels; sizes are those of any run."""
    figure, lines = plot.axes().figure, []
    figure.clear()
    figure.set_size_inches(12, 4)
    for ax, (panel, (n_rows, algorithm)) in zip(figure.subplots(1, 3), PANELS.items(), strict=True):
        X, _ = make_two_groups(n_rows, random_state=0)
        model = ALGORITHMS[algorithm](X, LAM)
        k = len(model.cluster_centers_)
        plot.clusters(X, model, ax).set_title(f"({panel}) {algorithm}, {n_rows} rows: {k} clusters")
        lines.append(Line(f"({panel}) {n_rows} rows", algorithm, "clusters", None, k, goal=None))
    return Result(lines, figure)
