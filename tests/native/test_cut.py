"""Penalised cuts: compiled code against its twin, deltas against recomputed cuts, the search against all partitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.graph import (
    kernel_k_means,
    lowest_cut,
    one_step_better,
    partitions,
    penalised_cut,
    random_graph,
)

from kfree import GraphDPMeans
from kfree.engines.graph import Graph, in_order_of_first
from kfree.native import _core
from kfree.native.reference import cut as reference_cut
from kfree.objectives.cut import CUTS, CutStats, shares
from kfree.search.graph.multilevel import (
    CutState,
    Recombine,
    grown,
    joined_neighbours,
    merge_clusters,
    move_nodes,
    split_clusters,
)

both_cuts = pytest.mark.parametrize("cut", list(CUTS))
both_weights = pytest.mark.parametrize("weights", ["whole", "real"])


def graph_of(A, engine="auto"):
    return Graph.of(sp.csr_array(A), engine)


def some_labels(rng, n, k):
    return in_order_of_first(rng.integers(k, size=n).astype(np.int32))


def penalty(rng, A, cut):
    return -rng.uniform(0.05, 1.2) * (1.0 if cut == "normalized" else A.sum(axis=1).mean())


@both_cuts
@both_weights
@pytest.mark.parametrize("thorough", [False, True])
def test_moves_are_those_of_the_twin(cut, weights, thorough, rng):
    for _ in range(25):
        A = random_graph(rng, 30, density=0.15, weights=weights, loops=True)
        objective = CUTS[cut](penalty(rng, A, cut))
        start = some_labels(rng, 30, rng.integers(1, 31))
        block = np.zeros(30, dtype=np.int32) if thorough else start // 3
        rest = objective.lam, 1e-12, thorough, rng.permutation(30), block
        graph, found = graph_of(A), []
        for kernels in (_core, reference_cut):
            labels = start.copy()
            volume = objective.volume(graph)
            arrays = graph.begin, graph.neighbour, graph.weight, graph.out, volume
            found.append((kernels.move_nodes(*arrays, *rest, labels), labels.tolist()))
        assert found[0] == found[1]
        assert penalised_cut(A, labels, objective.lam, cut) <= penalised_cut(A, start, objective.lam, cut) + 1e-9
        if not thorough:
            assert all(len(np.unique(block[labels == c])) == 1 for c in np.unique(labels))


@both_weights
def test_contracted_graphs_and_merges_are_those_of_the_twin(weights, rng):
    for _ in range(25):
        A, labels = random_graph(rng, 40, density=0.1, weights=weights, loops=True), some_labels(rng, 40, 25)
        coarse = [graph_of(A, engine).contracted(labels) for engine in ("native", "reference")]
        for name in ("begin", "neighbour", "weight", "out", "degree", "size"):
            np.testing.assert_array_equal(getattr(coarse[0], name), getattr(coarse[1], name))
        member = np.eye(labels.max() + 1)[labels]
        np.testing.assert_allclose(coarse[0].degree - coarse[0].out, np.diag(member.T @ A @ member), atol=1e-9)
        for volume in (coarse[0].degree, coarse[0].size):
            below = rng.choice([np.inf, -0.3])
            (pairs, costs), (twin_pairs, twin_costs) = (one.merged(volume, below) for one in coarse)
            np.testing.assert_allclose(costs, twin_costs, atol=1e-9)
            if weights == "real":  # else there are ties, which other roundings may decide
                np.testing.assert_array_equal(pairs, twin_pairs)


@both_cuts
def test_deltas_are_differences_of_recomputed_cuts(cut, rng):
    for _ in range(30):
        A, labels = random_graph(rng, 12, weights="real", loops=True), some_labels(rng, 12, 4)
        lam, k = penalty(rng, A, cut), labels.max() + 1
        objective, clusters = CUTS[cut](lam), graph_of(A).contracted(labels)
        before = penalised_cut(A, labels, lam, cut)
        assert objective.cost(clusters) == pytest.approx(before)
        assert objective.cost(CutStats.of(sp.csr_array(A), labels)) == pytest.approx(before)
        for a in range(k):
            deltas = objective.merge_deltas(clusters, a, clusters.links_of(a))
            for b in set(range(k)) - {a}:
                merged = penalised_cut(A, np.where(labels == a, b, labels), lam, cut)
                assert deltas[b] == pytest.approx(merged - before, abs=1e-9)
        check_moves_of_nodes(A, labels, objective, before, cut)


def check_moves_of_nodes(A, labels, objective, before, cut):
    graph = graph_of(A)
    arrays = graph.begin, graph.neighbour, graph.weight, graph.out, objective.volume(graph)
    mover = reference_cut._Mover(*arrays, objective.lam, 0.0, np.zeros_like(labels), labels)
    mover.measure()
    for i in range(len(A)):
        own = labels[i]
        linked = {c: A[i, (labels == c) & (np.arange(len(A)) != i)].sum() for c in range(labels.max() + 1)}
        for c in set(linked) - {own}:
            new = np.where(np.arange(len(A)) == i, c, labels)
            delta = mover.leaving(i, own, linked) + mover.joining(i, c, linked)
            assert delta == pytest.approx(penalised_cut(A, new, objective.lam, cut) - before, abs=1e-9)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("thorough", [False, True])
def test_moves_that_never_end_are_cut_short(engine, thorough, rng):
    # A negative least gain makes every visit a move, as rounding may.
    graph = Graph.of(sp.csr_array(random_graph(rng, 6)), engine)
    with pytest.warns(RuntimeWarning, match="nodes of the graph still moved after [1-9]"):
        labels = graph.moved(graph.alone(), graph.degree, -0.5, -1e9, thorough=thorough)
    assert len(labels) == 6


def test_shares_and_the_merge_delta_in_shares(rng):
    A, labels = random_graph(rng, 10), some_labels(rng, 10, 3)
    clusters = graph_of(A).contracted(labels)
    inside = [A[labels == c][:, labels == c].sum() / A[labels == c].sum() for c in range(3)]
    assert shares(clusters) == pytest.approx(inside)
    merged = graph_of(A).contracted(np.where(labels == 2, 1, labels).astype(np.int32))
    delta = inside[1] + inside[2] - shares(merged)[1] - (1 - 0.4)
    assert CUTS["normalized"](-0.4).merge_deltas(clusters, 1, clusters.links_of(1))[2] == pytest.approx(delta)


def test_theorem_5_3_of_kulis_and_jordan(rng):
    """J(K, W) + lam·k of weighted kernel k-means differs from Cut(A) + lam'·k by a constant."""
    for _ in range(20):
        n = 9
        A, labels = random_graph(rng, n, weights="real"), some_labels(rng, n, 4)
        k, d, sigma, lam = labels.max() + 1, A.sum(axis=1), rng.uniform(1, 5), rng.uniform(0, 3)
        K = sigma * np.diag(1 / d) + A / d[:, None] / d
        constant = sigma * n + np.trace(A / np.sqrt(d)[:, None] / np.sqrt(d))
        ours = CUTS["normalized"](lam - sigma - 1).cost(graph_of(A).contracted(labels))
        assert kernel_k_means(K, d, labels) + lam * k == pytest.approx(constant + ours)
        L, ratio = np.diag(d) - A, CUTS["ratio"](lam - sigma)
        assert kernel_k_means(sigma * np.eye(n) - L, np.ones(n), labels) + lam * k == pytest.approx(
            sigma * n - np.trace(L) + ratio.cost(graph_of(A).contracted(labels))
        )


@both_cuts
def test_no_move_raises_the_cost(cut, rng):
    A = random_graph(rng, 60, density=0.1, weights="real")
    graph, objective = graph_of(A), CUTS[cut](penalty(rng, A, cut) / 2)
    moves = [move_nodes, merge_clusters, split_clusters]
    for k in (1, 5, 20, 60):
        state = CutState.of(some_labels(rng, 60, k), graph, objective)
        for move in moves:
            new = move(state, graph, objective)
            assert new.cost == pytest.approx(penalised_cut(A, new.labels, objective.lam, cut))
            assert new.cost <= state.cost + 1e-12
            state = new
        new = Recombine(np.random.RandomState(0), finest=0.3)(state, graph, objective)
        assert new.cost == pytest.approx(penalised_cut(A, new.labels, objective.lam, cut))


ALL_PARTITIONS = {n: partitions(n) for n in (5, 7, 8)}


@both_cuts
def test_the_search_finds_the_best_of_all_partitions(cut, rng):
    """It need not, but nearly always does; and no node, merge or split is left that would gain."""
    trials, hits = 0, 0
    for n, every in ALL_PARTITIONS.items():
        for density in (0.3, 0.5, 0.8):
            for _ in range(12):
                A = random_graph(rng, n, density, rng.choice(["whole", "real"]), loops=rng.random() < 0.3)
                lam = penalty(rng, A, cut)
                model = GraphDPMeans(lam=lam, cut=cut).fit(A)
                assert model.cost_ == pytest.approx(penalised_cut(A, model.labels_, lam, cut))
                assert one_step_better(A, model.labels_, lam, cut) < 1e-9
                lowest = lowest_cut(A, lam, cut, every)
                assert model.cost_ >= lowest - 1e-9
                trials, hits = trials + 1, hits + (model.cost_ < lowest + 1e-9)
    assert hits >= 0.97 * trials, (hits, trials)


def test_weak_clusters_merge_without_links_too():
    """Twenty cliques with a leaf each, and the leaves in two clusters, which have no links with each other."""
    A = np.kron(np.eye(20), np.pad(np.ones((4, 4)), (0, 1)) - np.diag([1, 1, 1, 1, 0]))
    leaf, clique = np.arange(4, 100, 5), np.arange(0, 100, 5)
    A[leaf, clique] = A[clique, leaf] = 1
    labels = np.repeat(np.arange(20), 5).astype(np.int32)
    labels[leaf] = 20 + np.arange(20) % 2
    graph, objective = graph_of(A), CUTS["normalized"](-0.7)
    state = CutState.of(labels, graph, objective)
    assert joined_neighbours(state.clusters, objective).tolist() == list(range(22))
    merged = merge_clusters(state, graph, objective)
    assert merged.clusters.n_nodes == 21
    assert merged.cost == pytest.approx(state.cost - (1 - 0.7))


def test_at_most_one_cluster_does_not_pay_for_itself(rng):
    for _ in range(20):
        A = random_graph(rng, 40, density=0.08)
        model = GraphDPMeans(lam=-rng.uniform(0.1, 0.9)).fit(A)
        assert (model.shares_ < 1 + model.lam_ - 1e-9).sum() <= 1


def test_clusters_grow_within_blocks(rng):
    A, block = random_graph(rng, 50, density=0.1), some_labels(rng, 50, 4)
    labels = grown(graph_of(A), CUTS["normalized"](-0.3), block)
    assert all(len(np.unique(block[labels == c])) == 1 for c in np.unique(labels))
