"""Bayesian k-means as published, against a plain version of the box of Kurihara & Welling (2009), §6."""

import numpy as np
import pytest
from common import blobs
from scipy.stats import multivariate_normal

from kfree import BayesianKMeans
from kfree.core.stats import GaussianStats
from kfree.datasets import make_gaussians
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import MIXTURES

# Rows, columns, Gaussians, separation, seed. In the last two, another order of splits or merges ends elsewhere.
SETTINGS = [(50, 3, 4, 1.0, 2), (120, 2, 6, 0.7, 6), (150, 2, 8, 1.0, 9)]


class Box:
    """The box, step by step: labels are an array, and posteriors are computed from all rows each time."""

    def __init__(self, X, prior):
        self.X = X
        self.model = GaussianModel.conjugate(prior["xi0"], prior["m0"], prior["eta0"], prior["B0"])
        self.objective = FreeEnergy(self.model, MIXTURES["finite"](prior["phi0"]))

    def stats(self, z):
        groups = [self.X[z == c] for c in range(z.max() + 1)]
        scatter = np.array([(g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups])
        return GaussianStats(
            np.array([len(g) for g in groups], float), np.array([g.sum(axis=0) for g in groups]), scatter
        )

    def cost(self, z):
        return self.objective.free_energy(self.stats(z))

    def updated(self, z):
        """Steps 2iiia and 2iiib until nothing changes or the free energy rises."""
        while True:
            new = self.objective.labelling(self.stats(z)).costs(self.X).argmin(axis=1)
            new = np.unique(new, return_inverse=True)[1]
            if not self.cost(new) < self.cost(z) - 1e-9:
                return z
            z = new

    def responsibilities(self, z):
        stats = self.stats(z)
        post, weights = self.model.posterior(stats), self.objective.mixture.weights(stats.n)
        density = np.array(
            [multivariate_normal(m, B / e).pdf(self.X) for m, B, e in zip(post.m, post.B, post.eta, strict=True)]
        )
        P = weights[:, None] * density
        return P / P.sum(axis=0), density

    def split(self, z, c):
        """App. D.3."""
        rows = self.X[z == c]
        values, vectors = np.linalg.eigh(np.cov(rows.T, bias=True))
        step = np.sqrt(values[-1]) * vectors[:, -1]
        far = ((rows - rows.mean(axis=0) - step) ** 2).sum(axis=1) > ((rows - rows.mean(axis=0) + step) ** 2).sum(
            axis=1
        )
        new = z.copy()
        new[np.flatnonzero(z == c)[far]] = z.max() + 1
        return new

    def run(self):
        z = np.zeros(len(self.X), dtype=int)
        while True:
            z, changed = self.first(z, self.splits(z))
            if changed:
                continue
            z, changed = self.first(z, self.merges(z))
            if not changed:
                return z

    def first(self, z, candidates):
        for candidate in candidates:
            new = self.updated(candidate)
            if self.cost(new) < self.cost(z) - 1e-9:
                return new, True
        return z, False

    def splits(self, z):
        P, density = self.responsibilities(z)
        f = P / P.sum(axis=1, keepdims=True)
        j_split = np.sum(f * (np.log(np.maximum(f, 1e-300)) - np.log(np.maximum(density, 1e-300))), axis=1)
        return (self.split(z, c) for c in np.argsort(-j_split, kind="stable") if (z == c).sum() > 1)

    def merges(self, z):
        P, _ = self.responsibilities(z)
        length = np.linalg.norm(P, axis=1)
        pairs = sorted(
            ((a, b) for b in range(len(P)) for a in range(b)),
            key=lambda p: -P[p[0]] @ P[p[1]] / length[p[0]] / length[p[1]],
        )
        return (np.unique(np.where(z == b, a, z), return_inverse=True)[1] for a, b in pairs)


@pytest.mark.parametrize(("n", "d", "k", "tau", "seed"), SETTINGS)
def test_the_search_is_the_box(n, d, k, tau, seed):
    X, _ = make_gaussians(n, d, k, separation=tau, random_state=seed, placement="closest-pair", narrowest=0.5)
    model = BayesianKMeans(search="published").fit(X)
    found = Box(X, model.prior_).run()
    expected = np.unique(found, return_inverse=True)[1]
    assert model.n_clusters_ == expected.max() + 1
    assert len(set(zip(model.labels_.tolist(), expected.tolist(), strict=True))) == model.n_clusters_
    assert (np.diff(model.free_energy_history_) <= 0).all()


def test_the_default_search_ends_no_higher_on_most_data():
    """It is not a theorem: both are greedy."""
    lower = 0
    for seed in range(6):
        X, _ = make_gaussians(150, 2, 6, separation=0.7, random_state=seed, placement="closest-pair", narrowest=0.5)
        ours, published = (BayesianKMeans(search=search).fit(X).free_energy_ for search in ("auto", "published"))
        lower += ours <= published + 1e-9
    assert lower >= 5


def test_the_published_search_takes_counts_limits_and_equal_rows(rng):
    counts = rng.poisson(np.repeat([[1, 9, 2], [9, 1, 5]], 30, axis=0))
    assert BayesianKMeans("multinomial", search="published").fit(counts).n_clusters_ == 2
    X, _ = blobs(rng, n=90, d=2, k=3, spread=9.0)
    with pytest.warns(UserWarning, match="max_clusters=2 was reached"):
        assert BayesianKMeans(search="published", max_clusters=2).fit(X).n_clusters_ == 2
    equal = np.repeat([[0.0, 1.0], [5.0, 2.0], [9.0, 9.0]], 4, axis=0)
    prior = {"xi0": 0.1, "m0": [4.0, 4.0], "eta0": 3.0, "B0": 0.01 * np.eye(2), "phi0": 1.0}
    assert BayesianKMeans(prior=prior, search="published").fit(equal).n_clusters_ == 3
    with pytest.raises(ValueError, match="search='printed' is not allowed.*'published'"):
        BayesianKMeans(search="printed").fit(X)
