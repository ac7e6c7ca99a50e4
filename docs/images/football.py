"""Draws docs/images/football.png: the staircase of the football graph and its clusters, side by side.

KFREE_DATA names the folder of the data.
"""

from pathlib import Path

from matplotlib.figure import Figure

from kfree import GraphDPMeans, datasets, plot


def main():
    model = GraphDPMeans().fit(datasets.load("graph-football").edges)
    left, right = Figure(figsize=(11, 4.8), layout="constrained").subplots(1, 2, width_ratios=[1, 1.2])
    model.path_.plot(left)
    plot.graph(model, right)
    left.figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
