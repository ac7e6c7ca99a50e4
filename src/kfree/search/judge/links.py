"""Links between each row and its nearest neighbours, and the share of them that a partition cuts."""

from __future__ import annotations

import numpy as np

from kfree.core.stats import Floats, Index

# Neighbours of a row: this share of the rows, within these bounds.
_SHARE, _FEWEST, _MOST = 1 / 12, 4, 10
# Copies of a row are neighbours in random order: rows are shaken by this share of their spread.
_SHAKE = 1e-6


def n_links(n_rows: int) -> int:
    """How many neighbours a row is linked to."""
    return int(min(max(n_rows * _SHARE, _FEWEST), _MOST))


def neighbours(rows: Floats, m: int, rng: np.random.Generator) -> Index:
    """The m nearest other rows of each row (n, m), in no order. Takes n² numbers."""
    centred = rows - rows.mean(axis=0)
    shaken = (centred + _SHAKE * centred.std() * rng.standard_normal(rows.shape)).astype(np.float32)
    sq_dist = np.einsum("ij,ij->i", shaken, shaken) - 2 * (shaken @ shaken.T)  # less the row's own square
    np.fill_diagonal(sq_dist, np.inf)
    nearest: Index = np.argpartition(sq_dist, m, axis=1)[:, :m]
    return nearest


def impurity(labels: Index) -> float:
    """1 − Σ p²: the chance that two random rows lie in different clusters."""
    share = np.bincount(labels) / len(labels)
    return float(1 - (share**2).sum())


def cut_share(near: Index, labels: Index) -> float:
    """The share of links that join different clusters, over that of random labels with the same sizes.

    0: no link is cut; 1: labels have nothing to do with neighbours. Needs at least two clusters.
    """
    return float((labels[near] != labels[:, None]).mean()) / impurity(labels)
