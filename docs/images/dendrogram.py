"""Draws dendrogram.png: rows from clusters of several shapes, and their tree, in the same colours."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kfree import AgglomerativeBayes


def shapes(random_state=0):
    """A long cluster, a flat one that it nearly touches, and two round ones."""
    rng = np.random.default_rng(random_state)
    long, flat, round_, small = rng.normal(size=(4, 60, 2))
    parts = [long @ [[5, 2.5], [0, 0.3]], flat * [4, 0.25] + [2, -4.5], round_ * 1.0 + [9, 9], small * 0.6 + [-8, 4]]
    return np.vstack(parts)


def main():
    X = shapes()
    tree = AgglomerativeBayes().fit(X)
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    rows, branches = figure.subplots(1, 2, width_ratios=[1, 1.3])
    tree.plot(X, kind="scatter", ax=rows)
    tree.plot(ax=branches)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
