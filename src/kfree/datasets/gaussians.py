"""The papers' made-up data: Gaussian clusters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from kfree.validation.parameters import is_number, random_generator, require, require_choice, require_count

# Standard deviations are drawn up to this, while centres fill a cube of side 1.
_LARGEST_STD = 0.2
# After this many failed attempts to place a cluster, the side of the cube grows by a tenth.
_ATTEMPTS = 1000
# The side grows by tenths, which takes long beyond this.
_MOST_SEPARATION = 1000
# The side of the triangle at which DP-means agrees with the three Gaussians as well as in the paper: NMI 0.89.
_TRIANGLE_SIDE = 4.45
# Two Gaussians on the left and three on the right, each group within a circle of diameter λ = 10.
_TWO_GROUPS = np.array([[0.0, -2.5], [0.0, 2.5], [14.0, -2.5], [12.0, 1.5], [16.0, 1.5]])


def make_three_gaussians(n_rows: int = 300, random_state: Any = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows from three round Gaussians at the corners of a triangle (Kulis & Jordan 2012, Fig. 2a).

    The paper prints no numbers; the distance is such that DP-means reaches the paper's NMI of 0.89.

    Parameters
    ----------
    n_rows : int, default=300
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_rows, 2)
    y : ndarray of shape (n_rows,)
        The Gaussian that each row came from.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((300, 2), [100, 100, 100])
    """
    corners = np.array([[-0.5, -np.sqrt(3) / 6], [0.5, -np.sqrt(3) / 6], [0.0, np.sqrt(3) / 3]])
    return _round_gaussians(_TRIANGLE_SIDE * corners, n_rows, random_state)


def make_two_groups(n_rows: int = 1000, random_state: Any = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows from five round Gaussians, two on the left and three on the right (Odashima et al. 2016, Fig. 3).

    Each group lies within a circle of diameter λ = 10, so that DP-means with lam = λ² = 100 finds two clusters however
    many rows there are, though five cost less when there are many. The paper prints no numbers.

    Parameters
    ----------
    n_rows : int, default=1000
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_rows, 2)
    y : ndarray of shape (n_rows,)
        The Gaussian that each row came from.

    Examples
    --------
    >>> from kfree import DPMeans
    >>> from kfree.datasets import make_two_groups
    >>> X, y = make_two_groups(random_state=0)
    >>> DPMeans(lam=100.0, search="sweep").fit(X).n_clusters_, DPMeans(lam=100.0).fit(X).n_clusters_
    (2, 5)
    """
    return _round_gaussians(_TWO_GROUPS, n_rows, random_state, std=0.5)


def _round_gaussians(centres, n_rows, random_state, std=1.0):
    """As many rows from each, in random order."""
    require_count("n_rows", n_rows)
    rng = random_generator(random_state)
    y = rng.permutation(np.arange(n_rows) % len(centres))
    return centres[y] + std * rng.standard_normal((n_rows, 2)), y


def make_gaussians(
    n_rows: int = 5000,
    n_features: int = 2,
    n_clusters: int = 10,
    separation: float = 2.0,
    random_state: Any = None,
    *,
    placement: str = "well-separated",
    narrowest: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows from Gaussians of random shape (after Kurihara & Welling 2009, §11.1).

    The paper draws centres and standard deviations "such that no two clusters are closer than τ × (the sum of two
    stds.)/2", and then multiplies the rows of each cluster with a random matrix. It does not say from which
    distributions, nor what a standard deviation is in several columns: ``placement`` and ``narrowest`` choose.

    Parameters
    ----------
    n_rows, n_features, n_clusters : int
    separation : float, default=2.0
        τ: 0.1 for clusters that mostly overlap, 3 for clusters that hardly do; 1000 at most.
    random_state : int, RandomState or None, default=None
    placement : {"well-separated", "closest-pair"}, default="well-separated"
        How far apart clusters are. Centres are uniform in a cube. ``"well-separated"``: the cube is five times as wide
        as the largest standard deviation, and a cluster that is closer than τ·(mean of two standard deviations) to an
        earlier one is drawn again. τ is a lower bound: uniform centres are far apart in many columns, so that for τ ≤ 2
        and 32 columns or more nothing is drawn again, and τ has no effect. ``"closest-pair"``: the cube is scaled so
        that the closest pair is *exactly* τ·√n_features·(mean of two standard deviations) apart. √n_features is the
        distance of a row to its centre in standard deviations, so that τ means as much overlap in many columns as in
        few.
    narrowest : float, default=0.0
        Standard deviations are uniform between this share of the largest possible one and that; 1 for equal ones.

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
    for name, value in {"n_rows": n_rows, "n_features": n_features, "n_clusters": n_clusters}.items():
        require_count(name, value)
    for name, value, most in (("separation", separation, _MOST_SEPARATION), ("narrowest", narrowest, 1)):
        require(is_number(value) and 0 <= value <= most, name, value, f"a number from 0 to {most}")
    require_choice("placement", placement, list(_PLACEMENTS))
    rng = random_generator(random_state)
    centres, stds = _PLACEMENTS[placement](n_features, n_clusters, separation, narrowest, rng)
    y = rng.randint(n_clusters, size=n_rows)
    matrices = rng.standard_normal((n_clusters, n_features, n_features)) / np.sqrt(n_features)
    X = rng.standard_normal((n_rows, n_features))
    for c in range(n_clusters):
        X[y == c] = centres[c] + stds[c] * X[y == c] @ matrices[c]
    return X, y


def _apart(n_features, n_clusters, separation, narrowest, rng):
    """Centres and standard deviations, one cluster after the other, far enough from all before it."""
    centres, stds, side, failed = np.empty((0, n_features)), np.empty(0), 1.0, 0
    while len(stds) < n_clusters:
        centre, std = rng.uniform(0, side, n_features), _LARGEST_STD * rng.uniform(narrowest, 1)
        if (np.linalg.norm(centres - centre, axis=1) >= separation * (stds + std) / 2).all():
            centres, stds = np.vstack([centres, centre]), np.append(stds, std)
        else:
            failed += 1
            side *= 1.1 if failed % _ATTEMPTS == 0 else 1.0
    return centres, stds


def _closest_pair(n_features, n_clusters, separation, narrowest, rng):
    """Centres in a cube of such a size that the closest pair is as far apart as wished, and standard deviations."""
    centres = rng.uniform(size=(n_clusters, n_features))
    stds = _LARGEST_STD * rng.uniform(narrowest, 1, n_clusters)
    if n_clusters == 1:
        return centres, stds
    mean_std = (stds[:, None] + stds)[np.triu_indices(n_clusters, 1)] / 2
    closest = (pdist(centres) / mean_std).min()
    return centres * (separation * np.sqrt(n_features) / closest), stds


_PLACEMENTS = {"well-separated": _apart, "closest-pair": _closest_pair}
