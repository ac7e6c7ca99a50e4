"""Draws docs/images/shapes.png: moons, circles and spirals, clustered by SpectralDPMeans; k is not specified."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_circles, make_moons

from kfree import SpectralDPMeans


def spirals(n=1000, noise=0.1, seed=0):
    """Two arms that wind around each other one and a half times."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(2, size=n)
    turn = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, n))
    X = turn[:, None] * np.column_stack([np.cos(turn + np.pi * arm), np.sin(turn + np.pi * arm)]) / 3
    return X + rng.normal(size=X.shape) * noise


def main():
    shapes = {
        "moons": make_moons(1000, noise=0.08, random_state=0)[0],
        "circles": make_circles(1000, noise=0.05, factor=0.5, random_state=0)[0],
        "spirals": spirals(),
    }
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for ax, (name, X) in zip(figure.subplots(1, 3), shapes.items(), strict=True):
        model = SpectralDPMeans().fit(X)
        model.plot(X, ax=ax)
        ax.set(title=f"{name}: {model.n_clusters_} clusters", xlabel="", ylabel="", xticks=[], yticks=[])
        ax.set_aspect("equal", adjustable="datalim")
        ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
