"""DPMeans with divergences and with distances on counts and shares with known clusters.

``python benchmarks/divergences.py`` writes ``results/divergences.md``. All fits are told the number of clusters.
"""

import warnings

import numpy as np
from kept import Kept
from sklearn.metrics import normalized_mutual_info_score

from kfree import DPMeans

N_ROWS, N_CLUSTERS, N_DRAWS = 600, 6, 10


def counts(rng, total, d, factor=1):
    """Multinomial rows about shares that clusters draw; totals are ``total``, at most ``factor`` times more or less."""
    shares = rng.dirichlet(np.full(d, 0.5), size=N_CLUSTERS)
    truth = rng.integers(N_CLUSTERS, size=N_ROWS)
    totals = np.exp(rng.uniform(np.log(total / factor), np.log(total * factor), size=N_ROWS)).round().astype(int)
    return np.array([rng.multinomial(n, shares[c]) for n, c in zip(totals, truth, strict=True)]).astype(float), truth


def shares(rng, concentration, d):
    """Rows from Dirichlet distributions about shares that clusters draw."""
    centres = rng.dirichlet(np.full(d, 0.5), size=N_CLUSTERS) + 1e-3
    truth = rng.integers(N_CLUSTERS, size=N_ROWS)
    return np.array([rng.dirichlet(concentration * centres[c] / centres[c].sum()) for c in truth]), truth


def standardised(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def shared(X):
    return X / X.sum(axis=1, keepdims=True)


# Metric, rows and weights. Counts of a row of total n have the likelihood of shares that count n times.
CONTESTANTS = {
    "kl": lambda X: ("kl", X, None),
    "kl, shares weighted by totals": lambda X: ("kl", shared(X), X.sum(axis=1)),
    "euclidean": lambda X: ("euclidean", X, None),
    "euclidean, standardised": lambda X: ("euclidean", standardised(X), None),
    "cosine": lambda X: ("cosine", X, None),
    "cosine, standardised": lambda X: ("cosine", standardised(X), None),
}
CASES = {
    "counts, 15 columns, 20 a row": lambda rng: counts(rng, 20, 15),
    "counts, 60 columns, 20 a row": lambda rng: counts(rng, 20, 60),
    "counts, 15 columns, 5 to 80 a row": lambda rng: counts(rng, 20, 15, factor=4),
    "counts, 60 columns, 5 to 80 a row": lambda rng: counts(rng, 20, 60, factor=4),
    "shares, 15 columns, concentration 10": lambda rng: shares(rng, 10, 15),
    "shares, 15 columns, concentration 30": lambda rng: shares(rng, 30, 15),
    "shares, 60 columns, concentration 30": lambda rng: shares(rng, 30, 60),
}


def agreement():
    """Normalised mutual information with the clusters that rows were drawn from: mean over 10 draws of 600 rows in 6
    clusters."""
    for case, draw in CASES.items():
        found = {name: [] for name in CONTESTANTS}
        for seed in range(N_DRAWS):
            X, truth = draw(np.random.default_rng(seed))
            for name, prepared in CONTESTANTS.items():
                metric, rows, weight = prepared(X)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # where no penalty gives six
                    model = DPMeans(target_k=N_CLUSTERS, metric=metric, random_state=0)
                    labels = model.fit(rows, sample_weight=weight).labels_
                found[name].append(normalized_mutual_info_score(truth, labels))
        means = {name: round(float(np.mean(values)), 3) for name, values in found.items()}
        KEPT.keep("agreement", {"rows": case, **means}, same=("rows",))


PARTS = {"agreement": agreement}
KEPT = Kept("divergences", PARTS, "numpy", "scipy", "scikit-learn")


if __name__ == "__main__":
    agreement()
