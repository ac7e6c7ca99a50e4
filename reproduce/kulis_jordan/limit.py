"""§3.1: the sampler with α = (1 + ρ/σ)^(d/2)·exp(−λ/(2σ)) becomes DP-means as σ → 0."""

import math

import numpy as np
from sklearn.metrics import adjusted_rand_score

from kfree import DPMeans, plot
from kfree.baselines import GibbsDPMixture
from kfree.datasets import make_three_gaussians
from reproduce.result import Result
from reproduce.table import Line, half_width

LAM, RHO, N_SWEEPS = 20.0, 100.0, 15
N_SETS, QUICK_SETS = 20, 4
# λ/(2σ), up to what float64 has an α for.
NATS = [2, 5, 10, 20, 50, 100, 200, 500, 700]


def agreement(nats, seed):
    """Adjusted Rand index of the last Gibbs sweep and DP-means, and the sampler's clusters."""
    X, _ = make_three_gaussians(random_state=seed)
    sigma = LAM / (2 * nats)
    alpha = (1 + RHO / sigma) ** (X.shape[1] / 2) * math.exp(-nats)
    chain = {"n_burn_in": N_SWEEPS - 1, "n_samples": 1, "thin": 1, "random_state": seed}
    model = GibbsDPMixture(alpha, sigma, rho=RHO, **chain).fit(X)
    return adjusted_rand_score(DPMeans(lam=LAM, search="sweep").fit(X).labels_, model.labels_), model.n_clusters_


def result(quick):
    """Agreement after fifteen sweeps from one cluster, over σ."""
    seeds, lines = range(QUICK_SETS if quick else N_SETS), []
    for nats in NATS:
        found, k = np.transpose([agreement(nats, seed) for seed in seeds])
        lines.append(
            Line(
                case=f"λ/(2σ) = {nats}",
                method="Gibbs and DP-means",
                quantity="adjusted Rand index",
                paper=None,
                ours=found.mean(),
                spread=half_width(found),
                n=len(found),
                goal=None,
                note=f"{k.mean():.1f} clusters; {int((found == 1).sum())} of {len(found)} are equal",
            )
        )
    ax = plot.axes()
    ax.plot(NATS, [line.ours for line in lines], "k.-")
    ax.set(xscale="log", xlabel="λ / (2σ)", ylabel="agreement with DP-means", ylim=(0, 1.02))
    return Result(lines, ax.figure)
