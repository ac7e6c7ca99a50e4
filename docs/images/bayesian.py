"""Draws docs/images/bayesian.png: ten Gaussians at three separations, as in Fig. 3 of Kurihara & Welling (2009)."""

from pathlib import Path

from matplotlib.figure import Figure

from kfree import BayesianKMeans, datasets


def main():
    panels = Figure(figsize=(12, 3.8), layout="constrained").subplots(1, 3)
    for seed, (separation, ax) in enumerate(zip([0.1, 0.5, 2.0], panels, strict=True)):
        X, _ = datasets.make_gaussians(5000, separation=separation, random_state=seed)
        model = BayesianKMeans().fit(X)
        model.plot(X, ax=ax)
        ax.set(title=f"τ = {separation:g}: {model.n_clusters_} clusters", xlabel="", ylabel="", xticks=[], yticks=[])
    panels[0].figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
