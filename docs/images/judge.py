"""Draws docs/images/judge.png: rows, a surrogate, the links that both cut, and the score by number of clusters."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from kfree import AutoCluster
from kfree.search.judge.choose import CURVED_GATE, Judge
from kfree.search.judge.surrogates import GaussianCopula

TICKS = [2, 3, 5, 10, 20, 50]


def main():
    X = make_moons(500, noise=0.06, random_state=0)[0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = AutoCluster().fit(X)
    figure = Figure(figsize=(15, 3.8), layout="constrained")
    rows, surrogate, links, score = figure.subplots(1, 4)
    rows.scatter(*X.T, c=model.labels_, s=8, cmap="coolwarm")
    rows.set_title(f"rows: {model.n_clusters_} clusters, {model.model_name_}")
    surrogate.scatter(*GaussianCopula.of(X).draw(np.random.default_rng(0)).T, s=8, color="grey")
    surrogate.set_title("a surrogate: same columns, no clusters")
    draw_links(links, X)
    for name, curve in model.curves_.items():
        score.plot(curve["k"], curve["score"], "o-", markersize=3, label=name)
    score.axhline(CURVED_GATE, color="grey", linestyle="--", label="rows without clusters")
    score.set_title("score")
    for axes in (links, score):
        axes.set(xscale="log", xlabel="number of clusters", xticks=TICKS, xticklabels=TICKS)
        axes.minorticks_off()
        axes.legend(frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=100)


def draw_links(axes, X):
    """The share of links that clusters of the graph cut, in the rows and on average in surrogates."""
    judge = Judge(X, False, np.random.default_rng(0))
    found = judge.views.in_graph(0, judge.numbers, judge.rng)
    axes.plot(found.numbers, found.cut[:, 0], "o-", markersize=3, label="rows")
    axes.plot(found.numbers, judge.nulls[0].cut_at(found.numbers)[:, 0], "--", color="grey", label="surrogates")
    axes.set_title("share of links that are cut")


if __name__ == "__main__":
    main()
