"""Real graphs with known groups: NMI, penalised cut and time against Leiden and spectral clustering.

Everybody's clusters are scored by kfree's own objective at the penalty that kfree chose without being told anything.
Leiden (leidenalg: GPL, for comparison only) maximises modularity, or the constant Potts model with the density of the
graph as resolution; SpectralClustering is told the true number of groups, and runs where its dense matrix is small.
Edges are taken as undirected, repeated ones add up, and all contestants see the same weights. Nodes without links take
no part in the NMI, nor do nodes without a known group. KFREE_DATA names the folder of the data.
"""

import time
import warnings

import igraph
import leidenalg
import numpy as np
import scipy.sparse as sp
from ratio import arguments, chosen, race, report
from sklearn.cluster import SpectralClustering
from sklearn.metrics import normalized_mutual_info_score

from kfree import GraphDPMeans, datasets
from kfree.objectives.cut import CutStats, NormalizedCut

NAMES = ["karate", "dolphins", "football", "polbooks", "polblogs", "email-eu-core", "cora", "citeseer", "pubmed"]
# Spectral clustering needs a connected graph and a number of groups, and its time grows with the cube of the nodes.
MOST_NODES_FOR_SPECTRAL = 4000
N_SEEDS = 8


def adjacency(graph):
    weight = np.ones(len(graph.edges)) if graph.weight is None else graph.weight.astype(float)
    A = sp.coo_array((weight, tuple(graph.edges.T)), shape=(graph.n_nodes, graph.n_nodes)).tocsr()
    A.setdiag(0)
    A = sp.csr_array(A + A.T)
    A.eliminate_zeros()
    linked = np.flatnonzero(np.diff(A.indptr))
    y = None if graph.y is None else graph.y[linked]
    return sp.csr_array(A[linked][:, linked]), y


def leiden(A, partition, seed=0, **settings):
    upper = sp.triu(A).tocoo()
    graph = igraph.Graph(n=A.shape[0], edges=np.column_stack([upper.row, upper.col]).tolist())
    weights = upper.data.tolist()
    found = leidenalg.find_partition(graph, partition, weights=weights, seed=seed, **settings)
    return np.array(found.membership)


def spectral(A, k):
    return SpectralClustering(k, affinity="precomputed", assign_labels="cluster_qr", random_state=0).fit_predict(A)


def contestants(A, y):
    density = A.sum() / (A.shape[0] * (A.shape[0] - 1))
    cpm = {"resolution_parameter": density}
    peers = {
        "kfree": lambda: GraphDPMeans().fit(A).labels_,
        "Leiden, modularity": lambda: leiden(A, leidenalg.ModularityVertexPartition),
        "Leiden, CPM": lambda: leiden(A, leidenalg.CPMVertexPartition, **cpm),
    }
    if y is not None and A.shape[0] < MOST_NODES_FOR_SPECTRAL:
        k = len(np.unique(y[y >= 0]))
        peers["spectral, k given"] = lambda: spectral(A, k)
    return peers


def describe(A, y, lam):
    """k, the penalised cut and the NMI of some labels."""

    def note(_, labels):
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        cost = NormalizedCut(lam).cost(CutStats.of(A, labels))
        text = f"k = {labels.max() + 1}, penalised cut {cost:.4f}"
        return text if y is None else f"{text}, NMI {nmi(y, labels):.3f}"

    return note


def nmi(y, labels):
    return normalized_mutual_info_score(y[y >= 0], labels[y >= 0])


def main():
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    rows = []
    for name in chosen(NAMES, options):
        A, y = adjacency(datasets.load(f"graph-{name}"))
        lam = GraphDPMeans().fit(A).lam_
        title = f"{name}: {A.shape[0]:,} nodes, {A.nnz // 2:,} links, lam = {lam:.3f}"
        row = race(title, contestants(A, y), options.rounds, notes=describe(A, y, lam), clock=time.process_time)
        if y is not None:
            seeds = [nmi(y, leiden(A, leidenalg.ModularityVertexPartition, seed)) for seed in range(N_SEEDS)]
            row.notes["Leiden, modularity"] += f" (mean of {N_SEEDS} seeds {np.mean(seeds):.3f})"
        rows.append(row)
    report("graphs", rows, "leidenalg", "igraph", "scikit-learn", "numpy", only=options.only)


if __name__ == "__main__":
    main()
