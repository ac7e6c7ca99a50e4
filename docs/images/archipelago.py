"""Draws docs/images/archipelago.png: the map of islands and its clusters, as ``kfree demo`` does."""

from pathlib import Path

from kfree import DPMeans, datasets, plot


def main():
    X = datasets.load_archipelago()
    model = DPMeans().fit(X)
    ax = model.plot(X, ax=plot.axes(), feature_names=["east (km)", "north (km)"])
    ax.set(title=f"{model.n_clusters_} clusters, found without k")
    ax.figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
