"""Gaussian clusters of random shape, no two closer than wished (after Kurihara & Welling 2009, §11.1)."""

import numpy as np
from sklearn.utils import check_random_state

# Standard deviations are drawn up to this, while centres fill a cube of side 1.
_LARGEST_STD = 0.2
# So many vain attempts to place a cluster show that the cube is too small for them; then it grows by a tenth.
_ATTEMPTS = 1000


def make_gaussians(n_rows=5000, n_features=2, n_clusters=10, separation=2.0, random_state=None):
    """Rows from Gaussians with full covariance matrices.

    Centres are uniform in a cube and standard deviations between 0 and a fifth of its side, such that no two clusters
    are closer than ``separation`` times the mean of their standard deviations. Then the rows of each cluster are
    multiplied, around its centre, with a random matrix of its own.

    Parameters
    ----------
    n_rows, n_features, n_clusters : int
    separation : float, default=2.0
        0.1 for clusters that mostly overlap, 3 for clusters that hardly do.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        The cluster that each row came from.

    Examples
    --------
    >>> from kfree.datasets import make_gaussians
    >>> X, y = make_gaussians(500, n_features=3, random_state=0)
    >>> X.shape, len(set(y))
    ((500, 3), 10)
    """
    rng = check_random_state(random_state)
    centres, stds = _apart(n_features, n_clusters, separation, rng)
    y = rng.randint(n_clusters, size=n_rows)
    matrices = rng.standard_normal((n_clusters, n_features, n_features)) / np.sqrt(n_features)
    X = rng.standard_normal((n_rows, n_features))
    for c in range(n_clusters):
        X[y == c] = centres[c] + stds[c] * X[y == c] @ matrices[c]
    return X, y


def _apart(n_features, n_clusters, separation, rng):
    """Centres and standard deviations, one cluster after the other, far enough from all before it."""
    centres, stds, side, failed = np.empty((0, n_features)), np.empty(0), 1.0, 0
    while len(stds) < n_clusters:
        centre, std = rng.uniform(0, side, n_features), rng.uniform(0, _LARGEST_STD)
        if (np.linalg.norm(centres - centre, axis=1) >= separation * (stds + std) / 2).all():
            centres, stds = np.vstack([centres, centre]), np.append(stds, std)
        else:
            failed += 1
            side *= 1.1 if failed % _ATTEMPTS == 0 else 1.0
    return centres, stds
