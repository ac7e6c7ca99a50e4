"""Draws docs/images/staircase.png: the map of islands and its staircase, side by side."""

from pathlib import Path

from matplotlib.figure import Figure

from kfree import KMeans, datasets, lambda_path


def main():
    X = datasets.load_archipelago()
    path = lambda_path(X)
    model = KMeans(path.suggest().k, n_init=10, random_state=0).fit(X)
    left, right = Figure(figsize=(11, 4.2), layout="constrained").subplots(1, 2)
    path.plot(left)
    model.plot(X, ax=right, feature_names=["east (km)", "north (km)"])
    left.figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
