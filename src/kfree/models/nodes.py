"""Nodes of a graph beside its clusters: a view by links, and which nodes belong to no cluster."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import betainc

from kfree.core.stats import Floats, Labels
from kfree.explain import View

# Clusters of fewer nodes do not say what share of its links a node usually keeps.
_FEWEST = 5


def view_of_nodes(adjacency: sp.csr_array, labels: Labels, names: Any, shares: Floats) -> View:
    """A view of the nodes of a graph, by links: the distance between a and b is 1 − links / √(degree·degree)."""
    n, k = len(labels), len(shares)
    members = sp.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, k))
    degree, links = np.asarray(adjacency.sum(axis=1)).ravel(), sp.csr_array(adjacency @ members)
    cluster_degree = degree @ members
    inside = links[np.arange(n), labels]
    dist = 1.0 - _affinity(links, degree, cluster_degree)[np.arange(n), labels]
    second, second_dist = _nearest_other(links, degree, cluster_degree, labels)
    between = sp.csr_array(members.T @ links)
    nearest, gaps = _nearest_other(between, cluster_degree, cluster_degree, np.arange(k))
    share_inside = np.divide(inside, degree, out=np.ones(n), where=degree > 0)
    return View(
        labels,
        np.where(degree > 0, dist, 0.0),
        second,
        second_dist,
        nearest,
        gaps,
        distance="1 − links / √(degree·degree)",
        columns=np.column_stack([degree, share_inside]),
        names=["degree", "share of links inside"],
        row_names=names,
        spreads=1.0 - shares,
        spread="share of links that leave the cluster",
        word="node",
    )


def _affinity(links: sp.csr_array, degree: Floats, cluster_degree: Floats) -> sp.csr_array:
    """Links over the square roots of both degrees, sparse like ``links`` (m, k)."""
    row, column = links.tocoo().coords
    scale = np.sqrt(degree[row] * cluster_degree[column])
    return sp.csr_array((links.tocoo().data / np.where(scale > 0, scale, 1.0), (row, column)), shape=links.shape)


def _nearest_other(links: sp.csr_array, degree: Floats, cluster_degree: Floats, own: Any) -> tuple[Labels, Floats]:
    """The nearest cluster of each row of ``links`` but its own, and the distance; −1 and infinity without links."""
    affinity = _affinity(links, degree, cluster_degree).tocoo()
    row, column = affinity.coords
    others = sp.csr_array((np.where(column == own[row], 0.0, affinity.data), (row, column)), shape=links.shape)
    nearest = np.asarray(others.argmax(axis=1)).ravel()
    best = others[np.arange(len(own)), nearest]
    return np.where(best > 0, nearest, -1).astype(np.int32), np.where(best > 0, 1.0 - best, np.inf)


def node_scores(rows: sp.csr_array, labels: Labels, shares: Floats, false_alarms: float) -> Floats:
    """How unusual the links (m, n) of nodes are, the least over all clusters; above 1, they belong to no cluster.

    A node has L links, and those into a cluster that keeps the share p inside are Binomial(L, p). The score is
    log P(so few or fewer) / log ``false_alarms``. Links of unequal weight count as (Σ weight)²/Σ weight² links.
    """
    n_nodes = np.bincount(labels, minlength=len(shares))
    judged = n_nodes >= min(_FEWEST, n_nodes.max())
    members = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), len(shares)))
    inside, total = (rows @ members).toarray(), np.asarray(rows.sum(axis=1)).ravel()
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    scores, linked = np.full(len(total), np.inf), total > 0
    n_links = total[linked] ** 2 / squares[linked]
    share_in = inside[linked][:, judged] / total[linked, None]
    scores[linked] = (_log_tail(n_links[:, None], share_in, shares[judged]) / np.log(false_alarms)).min(axis=1)
    return scores


def _log_tail(n_links: Floats, share_in: Floats, p: Floats) -> Floats:
    """log P(Binomial(n_links, p) ≤ n_links·share_in), by the incomplete beta function, also of fractional numbers."""
    n_in = np.minimum(n_links * share_in, n_links)
    few = n_links - n_in > 1e-9 * n_links
    with np.errstate(divide="ignore"):
        tail = np.where(few, betainc(np.where(few, n_links - n_in, 1.0), n_in + 1, 1 - p), 1.0)
        return np.log(tail)
