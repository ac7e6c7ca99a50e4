"""§4: for many rows the free energy of given labels is −log likelihood + (M/2)·log N, if the prior is fixed.

Eq. 10 and 13–14 have the sign the other way round. With Eq. 21 the prior is not fixed: B0 has d_small², the squared
distance of the closest rows, which falls as rows come in. Each cluster then costs (η0/2)·D·log(1 / d_small²) more than
BIC says. In the plane d_small² falls like 1/N², and that is η0·D·log N a cluster.
"""

import numpy as np

from kfree.core.stats import GaussianStats
from kfree.objectives.free_energy import FreeEnergy
from kfree.objectives.gaussian import GaussianModel
from kfree.objectives.mixtures import MIXTURES
from kfree.objectives.priors import DATA_PHI0, informed_by_data
from reproduce.result import Result
from reproduce.table import Line

N_FEATURES, N_CLUSTERS = 2, 3
CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
SIZES, QUICK_SIZES = (100, 1_000, 10_000, 100_000), (100, 1_000, 10_000)
# Parameters: means, covariances, and shares that add up to 1.
N_PARAMETERS = N_CLUSTERS * (N_FEATURES + N_FEATURES * (N_FEATURES + 1) // 2) + N_CLUSTERS - 1


def drawn(n_rows):
    rng = np.random.RandomState(0)
    y = rng.randint(N_CLUSTERS, size=n_rows)
    return CENTRES[y] + rng.standard_normal((n_rows, N_FEATURES)), y


def stats_of(X, y):
    groups = [X[y == c] for c in range(N_CLUSTERS)]
    gaps = [rows - rows.mean(axis=0) for rows in groups]
    n = np.array([len(rows) for rows in groups], dtype=float)
    return GaussianStats(n, np.array([rows.sum(axis=0) for rows in groups]), np.array([gap.T @ gap for gap in gaps]))


def log_likelihood(stats):
    """log p(X, z | θ*) at the maximum likelihood estimates of shares, means and covariances."""
    n, covariances = stats.n, stats.scatter / stats.n[:, None, None]
    gaussian = -0.5 * n * (N_FEATURES * np.log(2 * np.pi) + np.linalg.slogdet(covariances)[1] + N_FEATURES)
    return float((gaussian + n * np.log(n / n.sum())).sum())


def priors(X):
    """One that does not change with the rows, and Eq. 21."""
    fixed = GaussianModel.conjugate(0.1, np.zeros(N_FEATURES), float(N_FEATURES), np.eye(N_FEATURES))
    # Eq. 21 looks for the neighbours of a tenth of the rows, in coordinates about their mean.
    return {"a fixed prior": fixed, "Eq. 21": informed_by_data(X - X.mean(axis=0), np.random.RandomState(0))[0]}


def remainder(name, n_rows):
    """Free energy of the true labels − [−log likelihood + (M/2)·log N]."""
    X, y = drawn(n_rows)
    model = priors(X)[name]
    objective = FreeEnergy(model, MIXTURES["finite"](DATA_PHI0))
    free_energy = objective.free_energy(stats_of(X - X.mean(axis=0) if name == "Eq. 21" else X, y))
    return free_energy + log_likelihood(stats_of(X, y)) - N_PARAMETERS / 2 * np.log(n_rows)


def result(quick):
    """What is left of the free energy after BIC: settles for a fixed prior, grows for Eq. 21."""
    lines = []
    for name in ("a fixed prior", "Eq. 21"):
        before = None
        for n_rows in QUICK_SIZES if quick else SIZES:
            left = remainder(name, n_rows)
            note = "" if before is None else f"{left - before:+.2f} for ten times the rows"
            lines.append(Line(f"N={n_rows}", name, "free energy − BIC/2", None, left, goal=None, note=note))
            before = left
    return Result(lines)
