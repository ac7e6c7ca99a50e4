"""One name for a wished number of clusters, and input that users really have."""

import numpy as np
import pytest

from kfree import DPMeans, GraphDPMeans, HardHDP, KernelDPMeans, KMeans, SpectralDPMeans


@pytest.fixture
def X(rng):
    return rng.normal(size=(150, 2)) + 8 * rng.integers(3, size=(150, 1))


def linked(X):
    return (np.linalg.norm(X[:, None] - X, axis=2) < 1.2) * 1.0


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("model", [DPMeans(), KernelDPMeans(), HardHDP(), SpectralDPMeans()], ids=repr)
def test_target_k(model, k, X):
    if isinstance(model, SpectralDPMeans) and k == 2:
        with pytest.warns(UserWarning, match="target_k=2 .* as some are equal; lam_=1 gives 3"):
            model.set_params(target_k=2).fit(X)  # three parts without links have three eigenvalues of one
        return
    model = model.set_params(target_k=k).fit(X)
    assert model.n_clusters_ == k == len(np.unique(model.labels_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_target_k_of_groups_scales_what_is_automatic(X):
    model = HardHDP(lam_local=10.0, target_k=4).fit(X, groups=np.arange(150) % 3)
    assert (model.n_clusters_, model.lam_local_) == (4, 10.0)


def cliques(sizes):
    A = np.zeros((sum(sizes),) * 2)
    begin = 0
    for n in sizes:
        A[begin : begin + n, begin : begin + n] = 1 - np.eye(n)
        begin += n
    ends = np.cumsum(sizes)[:-1]
    A[ends - 1, ends] = A[ends, ends - 1] = 1
    return A


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_target_k_of_a_graph(k):
    A = cliques([6, 6, 6, 6])
    assert GraphDPMeans(target_k=k).fit(A).n_clusters_ == k
    alone = np.zeros((26, 26))
    alone[1:-1, 1:-1] = A
    assert GraphDPMeans(target_k=k + 2).fit(alone).n_clusters_ == k + 2


def test_target_k_that_cannot_be(X):
    with pytest.raises(ValueError, match="target_k=2 is not allowed; give at least 3"):
        GraphDPMeans(target_k=2).fit(cliques_apart(3))
    with pytest.raises(ValueError, match="target_k=200 is not allowed; give at most the 150 rows"):
        SpectralDPMeans(target_k=200).fit(X)
    for model in (
        GraphDPMeans(lam=-0.5, target_k=2),
        SpectralDPMeans(lam=0.5, target_k=2),
        HardHDP(lam_local=1.0, lam_global=1.0, target_k=2),
    ):
        with pytest.raises(ValueError, match="target_k=2 is not allowed; give None (with|unless)"):
            model.fit(linked(X))


def cliques_apart(n):
    """Pairs of triangles with a bridge, and nothing between the pairs."""
    return np.kron(np.eye(n), cliques([3, 3]))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, int])
def test_penalties_of_any_type_of_number(dtype, X):
    assert DPMeans(lam=dtype(30)).fit(X).lam_ == 30.0
    assert HardHDP(lam_local=dtype(30), lam_global=dtype(30)).fit(X).lam_local_ == 30.0


def test_numbers_beyond_float64_are_refused(X):
    for lam in (10**400, np.inf, np.nan, np.float32(np.inf)):
        with pytest.raises(ValueError, match="lam="):
            DPMeans(lam=lam).fit(X)


def test_messages_show_plain_numbers(X):
    with pytest.raises(ValueError, match=r"n_clusters=0 is not allowed"):
        KMeans(np.int64(0)).fit(X)
    with pytest.raises(ValueError, match=r"lam=-1\.0 is not allowed"):
        DPMeans(lam=np.float64(-1)).fit(X)
    with pytest.raises(ValueError, match="such as 7;"):
        HardHDP(lam_local=9.0, lam_global=9.0).fit(X, groups=np.repeat([7, 8], 75)).predict(X)


def test_one_thread_is_one_thread(X):
    assert KMeans(2, n_threads=1).fit(X).engine_.endswith(", 1 thread)")


def test_groups_are_not_taken_for_y(X):
    shop = np.repeat(["north", "south"], 75)
    with pytest.raises(ValueError, match="y holds names, such as 'north'.*the parameter groups"):
        HardHDP(lam_local=9.0, lam_global=9.0).fit(X, shop)
    with pytest.raises(ValueError, match="y holds names"):
        HardHDP(lam_local=9.0, lam_global=9.0).partial_fit(X, shop.tolist())
    with pytest.warns(UserWarning, match="y holds whole numbers that repeat"):
        HardHDP(lam_local=9.0, lam_global=9.0).fit(X, np.repeat([0, 1], 75))


@pytest.mark.parametrize("named", [False, True])
def test_text_columns_are_named(named, X):
    rows = np.column_stack([X.astype(object), np.repeat("red", 150)])
    if named:
        rows = pytest.importorskip("pandas").DataFrame(rows, columns=["a", "b", "colour"])
    with pytest.raises(ValueError, match=r"in 1 column\(s\): " + ("'colour'" if named else "2")):
        DPMeans(lam=9.0).fit(rows)


EDGES = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dot"), ("dot", "eve"), ("eve", "fay"), ("fay", "dot")]


@pytest.mark.parametrize("weight", [None, 2.0])
def test_edges_with_names_from_arrays_and_frames(weight):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rows = EDGES if weight is None else [(*edge, weight) for edge in EDGES]
    expected = GraphDPMeans(lam=-0.4).fit(rows)
    columns = {name: list(column) for name, column in zip("abw", zip(*rows, strict=True), strict=False)}
    for edges in (pandas.DataFrame(columns), polars.DataFrame(columns), np.array(rows, dtype=object)):
        model = GraphDPMeans(lam=-0.4).fit(edges)
        assert model.node_names_.tolist() == expected.node_names_.tolist()
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert (model.adjacency_ != expected.adjacency_).nnz == 0
    if weight is None:
        np.testing.assert_array_equal(GraphDPMeans(lam=-0.4).fit(np.array(rows)).labels_, expected.labels_)


def test_edges_by_number_from_a_frame_and_bad_weights():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"from": [5, 10, 30], "to": [10, 30, 5], "weight": [1.0, 2.0, 0.5]})
    model = GraphDPMeans(lam=-0.5).fit(frame.iloc[:2])
    assert model.node_names_.tolist() == [5, 10, 30]
    links = 2 * (np.ones((3, 3)) - np.eye(3))
    # Numbers that are held as objects are a matrix too, and no list of edges.
    for square in (pandas.DataFrame(links), pandas.DataFrame(links.astype(object)), links.astype(object)):
        assert GraphDPMeans(lam=-0.5).fit(square).adjacency_.sum() == 12
    with pytest.raises(ValueError, match="third column of a list of edges must hold weights"):
        GraphDPMeans().fit(np.array([("a", "b", "much"), ("b", "c", "little")]))


@pytest.mark.parametrize("model", [KernelDPMeans(lam=5.0), SpectralDPMeans(gamma=1.0)], ids=repr)
def test_rows_out_of_reach_are_warned_about(model, X):
    model.fit(X)
    far = np.array([[900.0, -900.0], [0.0, 0.0]])
    with pytest.warns(UserWarning, match=r"1 row\(s\) of X are so far.*allow_new"):
        model.predict(far)
    assert model.predict(far, allow_new=True)[0] == -1
    model.predict(X)
