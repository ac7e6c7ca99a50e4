"""GraphDPMeans: graphs as users have them, bad input, and what "auto" does with graphs that have clusters or none."""

from types import SimpleNamespace

import igraph
import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.graph import penalised_cut, random_graph
from sklearn.exceptions import NotFittedError
from sklearn.metrics import normalized_mutual_info_score

from kfree import GraphDPMeans


def planted(rng, sizes, inside, between):
    """Groups of nodes, each pair linked with one probability inside a group and another between groups."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    probability = np.where(y[:, None] == y, inside, between)
    A = np.triu(rng.random((len(y), len(y))) < probability, 1).astype(float)
    return A + A.T, y


def two_cliques(n=6):
    A = np.kron(np.eye(2), np.ones((n, n)) - np.eye(n))
    A[n - 1, n] = A[n, n - 1] = 1
    return A


def as_networkx(A):
    return networkx.from_numpy_array(A)


def as_igraph(A):
    a, b = np.nonzero(np.triu(A))
    graph = igraph.Graph(n=len(A), edges=np.column_stack([a, b]).tolist())
    graph.es["weight"] = A[a, b].tolist()
    return graph


def as_edges(A):
    a, b = np.nonzero(np.triu(A))
    return np.column_stack([a, b, A[a, b]])


FORMS = {
    "float": np.asarray,
    "list": lambda A: A.tolist(),
    "csr": sp.csr_array,
    "coo matrix": sp.coo_matrix,
    "csc int": lambda A: sp.csc_array(A.astype(int)),
    "int8": lambda A: A.astype(np.int8),
    "object": lambda A: A.astype(object),
    "matrix": np.matrix,
    "networkx": as_networkx,
    "igraph": as_igraph,
    "edges": as_edges,
    "list of edges": lambda A: [(int(a), int(b), w) for a, b, w in as_edges(A)],
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_graph_are_the_same_graph(form, rng):
    A = random_graph(rng, 25, density=0.15, loops=True)
    expected, model = GraphDPMeans(lam=-0.5).fit(A), GraphDPMeans(lam=-0.5).fit(FORMS[form](A))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.adjacency_.toarray(), A)
    assert model.cost_ == expected.cost_
    assert model.node_names_.tolist() == list(range(25))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32])
def test_zeros_and_ones_of_any_type(dtype):
    model = GraphDPMeans().fit(two_cliques().astype(dtype))
    assert model.labels_.tolist() == [0] * 6 + [1] * 6


def test_an_edge_list_of_pairs_and_a_square_one():
    edges = np.argwhere(np.triu(two_cliques()))
    assert GraphDPMeans().fit(edges).n_clusters_ == 2
    # Three rows of three numbers are a matrix.
    assert GraphDPMeans(lam=-0.5).fit([[0, 1, 1], [1, 0, 1], [1, 1, 0]]).n_features_in_ == 3


def test_names_are_kept():
    model = GraphDPMeans(lam=-0.5).fit([(70, 30), (30, 10), (10, 70), (10, 5), (5, 900), (900, 5)])
    assert model.node_names_.tolist() == [5, 10, 30, 70, 900]
    assert model.labels_.tolist() == [1, 0, 0, 0, 1]
    assert model.adjacency_[[0], [4]].tolist() == [2.0]  # equal edges add up
    words = GraphDPMeans(lam=-0.5).fit([("b", "a", 2.0), ("c", "a", 1.0)])
    assert words.node_names_.tolist() == ["a", "b", "c"]
    graph = networkx.Graph([((0, 1), "x"), ("x", 7)])
    assert GraphDPMeans(lam=-0.5).fit(graph).node_names_.tolist() == [(0, 1), "x", 7]
    named = igraph.Graph.TupleList([("u", "v"), ("v", "w")])
    assert GraphDPMeans(lam=-0.5).fit(named).node_names_.tolist() == ["u", "v", "w"]


BAD_GRAPHS = {
    "negative": (-np.eye(4), "4 negative weight.s., the lowest -1"),
    "an edge negative once": ([("a", "b", -1.0), ("a", "b", 3.0), ("b", "c", 1.0)], "1 negative weight.s., .* -1"),
    "a parallel edge that is negative": (
        igraph.Graph(n=3, edges=[(0, 1), (0, 1), (1, 2)], edge_attrs={"weight": [-1.0, 3.0, 1.0]}),
        "1 negative weight.s., the lowest -1",
    ),
    "two rows, negative": (
        np.array([[0, -1.0], [-1.0, 0]]),
        "as an adjacency matrix, which has no values below 0",
    ),
    "nan": (np.array([[0, np.nan], [np.nan, 0]]), "2 link.s. whose weight is NaN or inf"),
    "not square": (np.ones((3, 4)), r"shape \(3, 4\), which is not square; give a square adjacency"),
    "not square, sparse": (sp.csr_array(np.ones((3, 2))), r"shape \(3, 2\), which is not square"),
    "empty": (np.zeros((0, 0)), "the graph is empty"),
    "no edges": (np.zeros((0, 2)), "the graph is empty"),
    "no edges, of names": (np.zeros((0, 2), dtype=object), "the graph is empty"),
    "no edges, in a table": (pd.DataFrame({"from": [], "to": []}), "the graph is empty"),
    "nothing": ([], "not square"),
    "a vector": (np.ones(5), r"shape \(5,\), which is not square"),
    "texts": (np.array([["0", "1", "2", "3"]] * 4), "given as ndarray of <U1, not as numbers"),
    "a word": ("graph", "given as str"),
    "objects": (np.array([[0, {}], [{}, 0]], dtype=object), "not supported between instances of 'dict' and 'int'"),
    "complex": (sp.csr_array(np.eye(2) * 1j), "weights of type complex128"),
    "fractions as names": (np.array([[0, 1.5], [1, 2], [0, 2]]), "fractions, NaN or numbers beyond"),
}


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_bad_graphs_are_refused_with_a_reason(case):
    graph, reason = BAD_GRAPHS[case]
    with pytest.raises((TypeError, ValueError), match=reason):
        GraphDPMeans().fit(graph)


def test_an_empty_networkx_graph():
    with pytest.raises(ValueError, match="the graph is empty"):
        GraphDPMeans().fit(networkx.Graph())


def test_an_asymmetric_matrix_is_made_symmetric_with_a_warning():
    A = two_cliques()
    A[0, 1] = 3.0
    with pytest.warns(UserWarning, match="asymmetric: each pair of nodes is linked by the mean"):
        model = GraphDPMeans(lam=-0.5).fit(A)
    np.testing.assert_array_equal(model.adjacency_.toarray(), (A + A.T) / 2)
    with pytest.warns(UserWarning, match="directed"):
        GraphDPMeans(lam=-0.5).fit(networkx.DiGraph([(0, 1), (1, 2)]))


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_nodes_without_links_are_clusters_of_their_own(cut):
    A = np.zeros((14, 14))
    A[1:13, 1:13] = two_cliques()
    model = GraphDPMeans(cut=cut).fit(A)
    assert model.labels_.tolist() == [2] + [0] * 6 + [1] * 6 + [3]
    assert model.shares_[[2, 3]].tolist() == [1.0, 1.0]
    assert model.cost_ == pytest.approx(model.cut_ + 4 * model.lam_)
    assert model.cost_history_[-1] == model.cost_
    assert (np.diff(model.cost_history_) <= 1e-12).all()


@pytest.mark.parametrize("lam", ["auto", -0.5])
@pytest.mark.parametrize("n", [1, 4])
def test_a_graph_without_links(lam, n):
    model = GraphDPMeans(lam=lam).fit(np.zeros((n, n)))
    assert model.labels_.tolist() == list(range(n))
    assert (model.cut_, model.cost_, model.converged_, model.path_) == (0.0, -0.5 * n, True, None)


def test_a_loop_is_a_link_inside():
    model = GraphDPMeans(lam=-0.5).fit(np.array([[5.0, 1.0], [1.0, 5.0]]))
    assert model.labels_.tolist() == [0, 1]
    assert model.shares_ == pytest.approx([5 / 6, 5 / 6])
    assert GraphDPMeans().fit(np.eye(3)).labels_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"lam": 0.0}, "with a penalty ≥ 0 one cluster is always best"),
        ({"lam": 3}, "with a penalty ≥ 0 one cluster is always best"),
        ({"lam": -2.0}, "penalty of -2 or less single nodes are always best.*better above -1"),
        ({"lam": -12.0, "cut": "ratio"}, "penalty of -12 or less single nodes are always best"),
        ({"lam": np.nan}, "lam=nan is not allowed"),
        ({"lam": "autp"}, "lam='autp' is not allowed; give a number below 0 or 'auto'"),
        ({"lam": True}, "lam=True is not allowed"),
        ({"cut": "normalised"}, "did you mean 'normalized'"),
        ({"engine": "gpu"}, "engine='gpu' is not allowed"),
        ({"patience": -1}, "patience=-1 is not allowed"),
        ({"max_iter": 0}, "max_iter=0 is not allowed"),
    ],
)
def test_bad_parameters_are_refused_with_a_reason(settings, reason):
    with pytest.raises(ValueError, match=reason):
        GraphDPMeans(**settings).fit(two_cliques())


def test_a_penalty_just_inside_the_range_gives_what_the_error_says():
    A = two_cliques()
    assert GraphDPMeans(lam=-1e-9).fit(A).n_clusters_ == 1
    assert GraphDPMeans(lam=-1.99).fit(A).n_clusters_ == 12
    assert GraphDPMeans(lam=-11.99, cut="ratio").fit(A).n_clusters_ == 12


def test_a_search_cut_short_says_so(rng):
    with pytest.warns(UserWarning, match="GraphDPMeans did not converge within max_iter=1; .* Raise max_iter"):
        model = GraphDPMeans(lam=-0.5, max_iter=1).fit(random_graph(rng, 20))
    assert not model.converged_


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_one_random_state_one_answer_from_either_engine(cut, rng):
    A = random_graph(rng, 40, density=0.15, weights="real")
    for settings in ({"lam": -0.6}, {}):
        fits = [
            GraphDPMeans(cut=cut, engine=engine, random_state=3, patience=2, **settings).fit(A)
            for engine in ("auto", "native", "reference")
        ]
        for model in fits[1:]:
            np.testing.assert_array_equal(model.labels_, fits[0].labels_)
            assert model.cost_ == fits[0].cost_
            assert model.n_iter_ == fits[0].n_iter_


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_what_is_published_fits_together(cut, rng):
    A = random_graph(rng, 30, density=0.2, weights="real")
    model = GraphDPMeans(lam=-0.4 if cut == "normalized" else -1.0, cut=cut, label_order="found").fit(A)
    assert model.cost_ == pytest.approx(penalised_cut(A, model.labels_, model.lam_, cut))
    assert model.cut_ == pytest.approx(penalised_cut(A, model.labels_, 0.0, cut))
    assert model.n_clusters_ == model.labels_.max() + 1 == len(model.shares_)
    assert model.cost_history_[-1] == model.cost_
    assert (np.diff(model.cost_history_) <= 1e-12).all()
    assert np.unique(model.labels_, return_index=True)[1].tolist() == sorted(
        np.unique(model.labels_, return_index=True)[1].tolist()
    )


@pytest.mark.parametrize(
    ("sizes", "inside", "between"),
    [([30] * 5, 0.5, 0.05), ([10, 20, 40, 80], 0.5, 0.03), ([25] * 12, 0.6, 0.02), ([100, 100], 0.2, 0.05)],
)
def test_auto_finds_planted_clusters(sizes, inside, between, rng):
    A, y = planted(rng, sizes, inside, between)
    for graph in (A, A * 0.001, A * 50):
        model = GraphDPMeans().fit(graph)
        assert model.n_clusters_ == len(sizes)
        assert normalized_mutual_info_score(y, model.labels_) > 0.97
        assert model.path_.suggest().k == len(sizes)
        assert model.path_.at(k=len(sizes)).lam == model.lam_


def test_auto_finds_planted_clusters_by_ratio_cut(rng):
    A, y = planted(rng, [30] * 5, 0.5, 0.05)
    assert normalized_mutual_info_score(y, GraphDPMeans(cut="ratio").fit(A).labels_) > 0.97


@pytest.mark.parametrize("density", [0.02, 0.05, 0.2])
def test_auto_leaves_a_random_graph_whole(density, rng):
    for _ in range(5):
        model = GraphDPMeans().fit(random_graph(rng, 150, density))
        components = model.path_.k[0]
        assert model.n_clusters_ == components
        assert not (model.path_.evidence > 1e-9).any()


def test_components_are_clusters_without_evidence():
    A = np.kron(np.eye(3), np.ones((5, 5)) - np.eye(5))
    model = GraphDPMeans().fit(A)
    assert model.labels_.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert model.cut_ == 0.0


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_new_nodes_join_where_the_cost_rises_least(cut, rng):
    A, _ = planted(rng, [25, 12, 5], 0.6, 0.05)
    A = A * np.round(rng.exponential(size=A.shape), 3)
    A = np.maximum(A, A.T)
    lam = -0.5 if cut == "normalized" else -7.0
    model = GraphDPMeans(lam=lam, cut=cut).fit(A)
    k = model.n_clusters_
    assert k > 2
    rows = (rng.random((200, 42)) < rng.random((200, 1)) / 2) * rng.exponential(size=(200, 42))
    rows[:, 0] += 1e-3
    rows[-1] = 0.0
    labels, alone = model.predict_nodes(rows), model.predict_nodes(rows, allow_new=True)
    assert labels[-1] == alone[-1] == -1
    for row, label, or_new in zip(rows[:-1], labels[:-1], alone[:-1], strict=True):
        bigger = np.block([[A, row[:, None]], [row, 0.0]])
        costs = [penalised_cut(bigger, np.append(model.labels_, c), lam, cut) for c in range(k + 1)]
        assert costs[label] == pytest.approx(min(costs[:k]), rel=1e-12)
        assert or_new == (-1 if costs[k] < min(costs[:k]) else label)
    np.testing.assert_array_equal(model.predict_nodes(sp.csr_array(rows)), labels)
    np.testing.assert_array_equal(model.set_params(cut="ratio", lam=-1.0).predict_nodes(rows), labels)
    assert 0 < (alone == -1).mean() < 1


def test_a_new_node_may_join_one_that_had_no_links():
    A = np.zeros((7, 7))
    A[:6, :6] = two_cliques()[:6, :6]
    model = GraphDPMeans(lam=-0.5).fit(A)
    assert model.predict_nodes(np.eye(7)[6]).tolist() == [model.labels_[6]]


def test_nodes_are_named_in_one_way():
    with pytest.raises(ValueError, match="some nodes by numbers and some by texts.*Use one type for all names"):
        GraphDPMeans().fit([(1, "1"), (1, 2), ("1", 3)])


def test_new_nodes_that_do_not_fit_the_graph():
    with pytest.raises(NotFittedError):
        GraphDPMeans().predict_nodes([[1.0]])
    model = GraphDPMeans(lam=-0.5).fit(two_cliques())
    with pytest.raises(ValueError, match=r"new_rows has shape \(1, 3\); give one row per new node .* 12 nodes"):
        model.predict_nodes([1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="negative"):
        model.predict_nodes(-np.ones((1, 12)))


def test_a_failed_fit_changes_nothing():
    model = GraphDPMeans(lam=-0.5).fit(two_cliques())
    before = dict(vars(model))
    with pytest.raises(ValueError, match="negative"):
        model.fit(-two_cliques())
    assert vars(model) == before


def test_the_staircase_speaks_of_penalty_below_zero():
    path = GraphDPMeans().fit(two_cliques()).path_
    assert path.at(k=1).lam_high == 0.0
    assert path.at(lam=-0.3).k == path.suggest().k == 2
    assert "suggested: k=2 for lam between" in repr(path)
    with pytest.raises(ValueError, match="lam=0.5 is not allowed; give a number below 0"):
        path.at(lam=0.5)
    with pytest.raises(ValueError, match="k=0 is not allowed; give a whole number ≥ 1"):
        path.at(k=0)
    with pytest.raises(ValueError, match="k=99 is more than the"):
        path.at(k=99)


def test_pictures_of_a_graph_and_its_staircase():
    figure = pytest.importorskip("matplotlib.figure")
    from kfree import plot

    model = GraphDPMeans().fit(two_cliques())
    ax = plot.graph(model, figure.Figure().add_subplot())
    between, inside = (len(lines.get_segments()) for lines in ax.collections[:2])
    assert (between, inside) == (1, 30)
    one, other = (nodes.get_offsets() for nodes in ax.collections[2:])
    assert np.linalg.norm(one - one.mean(axis=0), axis=1).max() < np.linalg.norm(one.mean(axis=0) - other.mean(axis=0))
    assert [text.get_text() for text in model.path_.plot(figure.Figure().add_subplot()).texts] == ["k = 2"]
    given = plot.graph(model, figure.Figure().add_subplot(), positions=np.arange(24).reshape(12, 2))
    assert given.collections[2].get_offsets()[3].tolist() == [6, 7]


def test_the_path_ends_where_a_search_and_the_staircase_disagree(monkeypatch):
    """A cut whose gain is lost in rounding: the search takes it again and again, and the staircase never shows it."""
    n_searches = []

    def disagreeing(labels, graph, *rest, patience):
        n_searches.append(patience)
        assert len(n_searches) < 50
        found = np.arange(graph.n_nodes, dtype=np.int32) if patience == 0 else labels
        return SimpleNamespace(state=SimpleNamespace(labels=found))

    monkeypatch.setattr("kfree.search.graph.cut_path.search", disagreeing)
    A = np.ones((8, 8)) - np.eye(8)
    assert GraphDPMeans().fit(A).n_clusters_ == 1
    assert 0 in n_searches
