"""Growth with the number of links: planted partitions and LFR graphs of 10⁴ to 10⁶ links, mixing 0.1 to 0.5.

NMI with the planted groups and time, without any parameter, against Leiden (leidenalg: GPL, for comparison only) with
modularity. The goal: at 10⁶ links at most twice Leiden's time. Leiden's graph is made before its clock starts.
"""

import time
import warnings

import igraph
import leidenalg
import numpy as np
import scipy.sparse as sp
from planted_graphs import lfr, planted
from ratio import arguments, chosen, race, report
from sklearn.metrics import normalized_mutual_info_score

from kfree import GraphDPMeans

MODELS = {"planted": planted, "LFR": lfr}
CASES = [(model, m, mixing) for m in (10_000, 100_000, 1_000_000) for model in MODELS for mixing in (0.1, 0.3, 0.5)]


def run(model, n_links, mixing, rounds):
    A, y = MODELS[model](n_links, mixing)
    linked = np.flatnonzero(np.diff(A.indptr))
    A, y = sp.csr_array(A[linked][:, linked]), y[linked]
    upper = sp.triu(A).tocoo()
    graph = igraph.Graph(n=A.shape[0], edges=np.column_stack([upper.row, upper.col]).tolist())

    def leiden():
        found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=0)
        return np.array(found.membership)

    def describe(_, labels):
        found = f"k = {labels.max() + 1} of {len(np.unique(y))}"
        return f"{found}, NMI {normalized_mutual_info_score(y, labels):.3f}"

    title = f"{model}, {A.shape[0]:,} nodes, {A.nnz // 2:,} links, mixing {mixing}"
    contestants = {"kfree": lambda: GraphDPMeans().fit(A).labels_, "Leiden, modularity": leiden}
    target = 0.5 if n_links >= 10**6 else None
    return race(title, contestants, rounds, target, notes=describe, clock=time.process_time)


def main():
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    rows = [run(*case, 1 if case[1] >= 10**6 else options.rounds) for case in chosen(CASES, options)]
    report("graph_growth", rows, "leidenalg", "igraph", "scikit-learn", "numpy", only=options.only)


if __name__ == "__main__":
    main()
