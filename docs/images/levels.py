"""Draws docs/images/levels.png: rows in the hue of their group and the shade of their cluster, and the tree."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kfree import NestedDPMeans


def districts(seed=3):
    """Four groups of three to six clusters in two columns."""
    rng = np.random.default_rng(seed)
    groups = np.array([[0.0, 0.0], [60.0, 10.0], [15.0, 50.0], [70.0, 60.0]])
    centres = [group + 9.0 * rng.uniform(-1, 1, size=2) for group in np.repeat(groups, (6, 3, 4, 5), axis=0)]
    return np.array(centres)[rng.integers(18, size=1500)] + rng.normal(size=(1500, 2))


def main():
    X = districts()
    model = NestedDPMeans().fit(X)
    left, right = Figure(figsize=(12, 4.4), layout="constrained").subplots(1, 2)
    model.plot(X, ax=left)
    left.set_title(f"{model.levels_[-1]} clusters in {model.levels_[0]} groups", fontsize=10)
    model.plot(ax=right)
    left.figure.savefig(Path(__file__).with_suffix(".png"), dpi=90)


if __name__ == "__main__":
    main()
