"""Made tables with a known number of clusters, for ``stress.py``: each family takes a random generator and gives X, y.

Families are what tables hold besides round and well separated clusters: clusters that are close, small, many-columned,
rounded or beside outliers; and tables without any cluster that are discrete, skewed or heavy-tailed.
"""

import numpy as np


def centres_apart(rng, k, d, gap):
    """k centres that are ``gap`` apart: all of them where there are enough columns, else at least, and as close as
    random drawing finds them."""
    if k <= d:
        return np.linalg.qr(rng.normal(size=(d, k)))[0].T * gap / np.sqrt(2)
    side, centres = gap * k ** (1 / d) / 2, np.zeros((1, d))
    while len(centres) < k:
        new = rng.uniform(-side, side, size=d)
        if (np.linalg.norm(centres - new, axis=1) >= gap).all():
            centres = np.vstack([centres, new])
        side *= 1.002  # so that it ends
    return centres


def blobs(rng, k=5, d=2, gap=6.0, n=1000, sigma=None, sizes=None):
    """Round Gaussians, ``gap`` standard deviations apart; equal in size and spread unless said otherwise."""
    sizes = np.full(k, n // k) if sizes is None else np.asarray(sizes)
    sigma = np.ones(len(sizes)) if sigma is None else np.asarray(sigma)
    y = np.repeat(np.arange(len(sizes)), sizes)
    centres = centres_apart(rng, len(sizes), d, gap * sigma.max())
    return centres[y] + sigma[y, None] * rng.normal(size=(len(y), d)), y


def with_outliers(rng, share, width=4.0, **options):
    """Blobs and rows from a Gaussian ``width`` times as wide as all of them; outliers have labels of nobody else."""
    X, y = blobs(rng, **options)
    m = max(round(share * len(X)), 1)
    far = X.mean(axis=0) + width * X.std(axis=0) * rng.normal(size=(m, X.shape[1]))
    return np.vstack([X, far]), np.append(y, np.full(m, -1))


def with_bad_rows(rng, count, factor):
    """Blobs and a few rows that are a wrong unit away."""
    X, y = blobs(rng)
    X = np.vstack([X, factor * X.std() * rng.normal(size=(count, X.shape[1]))])
    return X, np.append(y, np.full(count, -1))


def one_long(rng, n=800):
    """Three round clusters and one that is twice as long as wide."""
    y = np.repeat(np.arange(4), n // 4)
    X = rng.normal(size=(len(y), 2))
    X[y == 3] *= [2.0, 1.0]
    return X + 8.0 * np.array([[0, 0], [1, 0], [0, 1], [1.3, 1.3]])[y], y


def noise_columns(rng):
    """Two columns in which four clusters are eight standard deviations apart, and eight columns of noise as wide."""
    X, y = blobs(rng, k=4, gap=8.0)
    return np.hstack([X, X.std() * rng.normal(size=(len(X), 8))]), y


def embeddings(rng, k=8, d=384, n=1000, alike=0.3):
    """Unit rows around a topic each: rows of a topic have the cosine ``alike``, on average, and others about 0."""
    topics = rng.normal(size=(k, d))
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    y = rng.integers(k, size=n)
    X = np.sqrt(alike) * topics[y] + np.sqrt((1 - alike) / d) * rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def strips(rng, ratio, n=1000):
    y = np.repeat(np.arange(4), n // 4)
    X = rng.normal(size=(len(y), 2)) * [ratio, 1.0]
    X[:, 1] += 6.0 * y
    return X, y


def banana(rng, n=1000):
    angle = rng.normal(size=n) * 0.7
    return np.column_stack([np.sin(angle), np.cos(angle)]) * 8 + rng.normal(size=(n, 2)), np.zeros(n, dtype=int)


def ring(rng, n=1000):
    angle = rng.uniform(0, 2 * np.pi, size=n)
    return np.column_stack([np.sin(angle), np.cos(angle)]) * 8 + 0.7 * rng.normal(size=(n, 2)), np.zeros(n, dtype=int)


def two_rings(rng, n=1000):
    y = rng.integers(2, size=n)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    radius = np.array([2.0, 8.0])[y] + 0.4 * rng.normal(size=n)
    return np.column_stack([np.sin(angle), np.cos(angle)]) * radius[:, None], y


def nothing(draw):
    """A family without clusters."""

    def family(rng):
        X = np.asarray(draw(rng), dtype=float)
        return X, np.zeros(len(X), dtype=int)

    return family


def one_hot(values):
    return np.eye(values.max() + 1)[values]


def zero_inflated(rng, n, d):
    return rng.lognormal(0, 1, size=(n, d)) * (rng.uniform(size=(n, d)) < 0.5)


def hours(rng, n=1000):
    angle = rng.integers(24, size=n) * 2 * np.pi / 24
    return np.column_stack([np.sin(angle), np.cos(angle), rng.normal(size=n)])


ANSWERS = {
    "k = 5, 6 sd, 2 columns": blobs,
    "k = 12, 6 sd, 10 columns": lambda rng: blobs(rng, k=12, d=10, n=1200),
    "k = 40, 6 sd, 2 columns": lambda rng: blobs(rng, k=40, n=2000),
    "variances to 30 : 1": lambda rng: blobs(rng, sigma=np.sqrt(np.geomspace(1, 30, 5)), gap=4.0),
    "every row twice": lambda rng: (lambda X, y: (np.repeat(X, 2, axis=0), np.repeat(y, 2)))(*blobs(rng, n=500)),
    "whole numbers": lambda rng: (lambda X, y: (np.round(X), y))(*blobs(rng)),
    "closer: 3 sd, 10 columns": lambda rng: blobs(rng, d=10, gap=3.0),
    "closer: 3.5 sd, 10 columns": lambda rng: blobs(rng, d=10, gap=3.5),
    "closer: 4 sd, 10 columns": lambda rng: blobs(rng, d=10, gap=4.0),
    "128 columns, 6 sd": lambda rng: blobs(rng, d=128),
    "512 columns, 6 sd": lambda rng: blobs(rng, d=512),
    "embeddings of 8 topics": embeddings,
    "sizes 100 : 1": lambda rng: blobs(rng, sizes=[1000, 316, 100, 31, 10], gap=10.0),
    "one big, four of 2 %": lambda rng: blobs(rng, sizes=[920, 20, 20, 20, 20], gap=10.0),
    "3 % outliers": lambda rng: with_outliers(rng, 0.03),
    "10 % outliers": lambda rng: with_outliers(rng, 0.10),
    "10 % outliers, 10 columns": lambda rng: with_outliers(rng, 0.10, d=10, gap=8.0),
    "one gross outlier": lambda rng: with_bad_rows(rng, 1, 300.0),
    "three bad rows": lambda rng: with_bad_rows(rng, 3, 20.0),
    "one twice as long as wide": one_long,
    "noise in 8 of 10 columns": noise_columns,
}
NULLS = {
    "Gaussian": nothing(lambda rng: rng.normal(size=(1000, 5)) * [3, 1, 1, 1, 1]),
    "uniform": nothing(lambda rng: rng.uniform(size=(1000, 3))),
    "whole-year ages": nothing(lambda rng: np.clip(np.round(rng.normal(40, 12, size=(1000, 1))), 18, 90)),
    "counts in 3 columns": nothing(lambda rng: rng.poisson(2.0, size=(1000, 3))),
    "Likert items": nothing(
        lambda rng: np.clip(np.round(3 + rng.normal(size=(1000, 1)) * 0.6 + rng.normal(size=(1000, 6))), 1, 5)
    ),
    "one-hot of three categories": nothing(
        lambda rng: np.hstack([one_hot(rng.integers(k, size=1000)) for k in (3, 4, 5)])
    ),
    "yes/no beside Gaussian": nothing(
        lambda rng: np.hstack([rng.normal(size=(1000, 5)), rng.integers(2, size=(1000, 1))])
    ),
    "every row five times": nothing(lambda rng: np.repeat(rng.normal(size=(200, 3)), 5, axis=0)),
    "hours as sine and cosine": nothing(hours),
    "log-normal, 5,000 rows": nothing(lambda rng: rng.lognormal(0, 1, size=(5000, 3))),
    "exponential": nothing(lambda rng: rng.exponential(size=(2000, 4))),
    "zero-inflated": nothing(lambda rng: zero_inflated(rng, 1000, 3)),
    "Student's t, 3 degrees": nothing(lambda rng: rng.standard_t(3, size=(1000, 4))),
    "Cauchy": nothing(lambda rng: rng.standard_cauchy(size=(1000, 3))),
}
# Clusters that are not round: k-means cannot be right, and a warning is due.
WRONG_MODEL = {
    "strips 6 : 1": lambda rng: strips(rng, 6.0),
    "strips 10 : 1": lambda rng: strips(rng, 10.0),
    "two rings": two_rings,
    "ring": ring,
    "banana": banana,
}
FAMILIES = ANSWERS | NULLS | WRONG_MODEL
