"""Draws docs/images/hdp.png: three of thirty groups alone, and the clusters that all of them share."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kfree import DPMeans, HardHDP, plot
from kfree.plot.look import MARKERS

N_GROUPS, N_SHOWN = 30, 3


def shops(seed=1):
    """Rows of groups that use three of eight clusters each, five rows of each."""
    rng = np.random.default_rng(seed)
    centres = np.array([[x, y] for x in (0.0, 2.0, 4.0) for y in (0.0, 2.0, 4.0) if (x, y) != (2.0, 2.0)])
    y = np.concatenate([np.repeat(rng.choice(len(centres), 3, replace=False), 5) for _ in range(N_GROUPS)])
    return centres[y] + 0.55 * rng.normal(size=(len(y), 2)), np.repeat(np.arange(N_GROUPS), 15)


def draw(ax, model, X, labels, size):
    """Rows by cluster, and the centres of these clusters."""
    colours = plot.colours(model.n_global_clusters_)
    for c in np.unique(labels):
        ax.scatter(*X[labels == c].T, color=colours[c], marker=MARKERS[c % len(MARKERS)], s=size, linewidths=0)
        ax.scatter(*model.cluster_centers_[c], c="black", marker="+", s=70, linewidths=1.4)


def main():
    X, group = shops()
    model = HardHDP().fit(X, groups=group)
    axes = Figure(figsize=(12, 3.7), layout="constrained").subplots(1, N_SHOWN + 1, sharex=True, sharey=True)
    for shown, ax in enumerate(axes[:-1]):
        rows = group == shown
        draw(ax, model, X[rows], model.labels_[rows], size=28)
        alone = DPMeans().fit(X[rows]).n_clusters_
        ax.set_title(f"group {shown}: {model.n_local_clusters_[shown]} clusters (alone: {alone})", fontsize=10)
    draw(axes[-1], model, X, model.labels_, size=9)
    axes[-1].set_title(f"all {N_GROUPS} groups: {model.n_global_clusters_} clusters", fontsize=10)
    for ax in axes:
        ax.set_aspect("equal")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
