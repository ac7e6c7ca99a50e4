"""summary() of every estimator, against slow obvious versions."""

import numpy as np
import pytest
import scipy.sparse as sp

import kfree
from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    TableEncoder,
)
from kfree.explain.features import profile
from kfree.explain.sentences import sentences
from kfree.explain.units import Unit, percent, short
from kfree.explain.view import View, nearest_centres

BY_ROWS = {
    "DPMeans": DPMeans(lam=150.0),
    "KMeans": KMeans(3, random_state=0),
    "OnlineDPMeans": OnlineDPMeans(lam=200.0),
    "KernelDPMeans": KernelDPMeans(lam=5.0),
    "HardHDP": HardHDP(lam_local=30.0, lam_global=30.0),
    "HardHDP, kernel": HardHDP(lam_local=2.0, lam_global=2.0, kernel="rbf"),
    "SpectralDPMeans": SpectralDPMeans(),
    "BayesianKMeans": BayesianKMeans(),
    "AgglomerativeBayes": AgglomerativeBayes(),
}
CENTRES = np.array([[0.0, 0.0, 5.0], [12.0, 0.0, 5.0], [0.0, 30.0, 5.0]])


@pytest.fixture
def X(rng):
    return rng.permutation(np.vstack([rng.normal(size=(n, 3)) + c for n, c in zip([60, 40, 50], CENTRES, strict=True)]))


def effect_of(column, labels, c):
    """The difference of means inside and outside of c, in standard deviations within clusters."""
    within = sum(((column[labels == b] - column[labels == b].mean()) ** 2).sum() for b in np.unique(labels))
    deviation = np.sqrt(within / (len(column) - len(np.unique(labels))))
    return (column[labels == c].mean() - column[labels != c].mean()) / deviation


# Sparse columns are not shifted.
@pytest.mark.parametrize(("make", "offset"), [(np.asarray, 0.0), (np.asarray, 1e5), (sp.csr_array, 0.0)])
def test_effects_are_in_standard_deviations_within_clusters(make, offset, X):
    labels = np.random.default_rng(1).integers(4, size=len(X))
    found = profile(make(X + offset), labels, 4)
    for c in range(4):
        for j in range(3):
            assert found.effects[c, j] == pytest.approx(effect_of(X[:, j], labels, c), rel=1e-6)
            assert found.means[c, j] == pytest.approx(X[labels == c, j].mean() + offset)
            assert found.others[c, j] == pytest.approx(X[labels != c, j].mean() + offset)


def test_a_far_cluster_does_not_widen_the_deviation(rng):
    """Of three clusters, the third lies far out in the column that tells the first two apart."""
    labels = np.repeat([0, 1, 2], 100)
    column = np.array([0.0, 3.0, 200.0])[labels] + rng.normal(size=300)
    X = np.column_stack([column, rng.normal(size=300)])
    summary = KMeans(3, init=[[0, 0], [3, 0], [200, 0]], label_order="found").fit(X).summary(X)
    for c in range(3):
        feature = summary.clusters[c].features[0]
        assert (feature.name, abs(feature.effect) > 50) == ("x0", True)


def test_effect_sizes_leave_noise_out_and_know_constant_columns(X):
    labels = np.random.default_rng(1).integers(-1, 2, size=len(X))
    effects = profile(np.column_stack([X, labels == 0, np.full(len(X), 7.0)]), labels, 2).effects
    kept, kept_labels = X[labels >= 0], labels[labels >= 0]
    assert effects[0, 0] == pytest.approx(effect_of(kept[:, 0], kept_labels, 0))
    finite = np.sqrt(len(kept) / 2)  # where no cluster varies
    assert effects[:, 3:] == pytest.approx(np.array([[finite, 0.0], [-finite, 0.0]]))


def test_nearest_centres_against_all_pairs(rng, monkeypatch):
    centres = rng.normal(size=(17, 2))
    monkeypatch.setattr("kfree.explain.view._BLOCK", 40)
    nearest, gaps = nearest_centres(centres)
    for c in range(17):
        distances = [np.linalg.norm(centres[c] - other) if i != c else np.inf for i, other in enumerate(centres)]
        assert (nearest[c], gaps[c]) == (np.argmin(distances), pytest.approx(min(distances)))


def test_confidence_is_a_margin():
    dist, second = np.array([0.0, 1.0, 2.0, 0.0, 3.0]), np.array([2.0, 2.0, 2.0, 0.0, np.inf])
    labels, other = np.zeros(5, dtype=np.int32), np.array([1, 1, 1, 1, -1], dtype=np.int32)
    view = View(labels, dist, other, second, labels[:1], second[:1], "distance")
    assert view.confidence.tolist() == [1.0, 0.5, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", BY_ROWS)
def test_summary_of_every_estimator(name, X):
    model = BY_ROWS[name].fit(X)
    summary = model.summary(X, feature_names=["a", "b", "c"])
    assert [cluster.size for cluster in summary.clusters] == np.bincount(model.labels_).tolist()
    assert sum(cluster.share for cluster in summary.clusters) == pytest.approx(1.0)
    for cluster in summary.clusters:
        inside = model.labels_ == cluster.label
        assert inside[list(cluster.exemplars)].all()
        assert len(cluster.exemplars) == min(3, cluster.size)
        effects = [(effect_of(X[:, j], model.labels_, cluster.label), "abc"[j]) for j in range(3)]
        by_hand = sorted(effects, key=lambda pair: -abs(pair[0]))
        assert [feature.name for feature in cluster.features] == [name for _, name in by_hand]
        assert [feature.effect for feature in cluster.features] == pytest.approx([effect for effect, _ in by_hand])
        assert summary.clusters[cluster.nearest].label == cluster.nearest != cluster.label


@pytest.mark.parametrize("name", ["DPMeans", "KMeans"])
def test_distances_of_a_summary_by_hand(name, X):
    model = BY_ROWS[name].fit(X)
    for cluster in model.summary(X).clusters:
        rows = np.flatnonzero(model.labels_ == cluster.label)
        centre = X[rows].mean(axis=0)
        distances = np.linalg.norm(X[rows] - centre, axis=1)
        assert cluster.spread == pytest.approx(np.sqrt((distances**2).mean()))
        assert list(cluster.exemplars) == rows[np.argsort(distances)[:3]].tolist()
        gaps = np.linalg.norm(model.cluster_centers_ - centre, axis=1)
        assert cluster.nearest_distance == pytest.approx(np.sort(gaps)[1])


def test_names_come_from_a_frame_and_are_escaped(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["<script>alert(1)</script>", "b", "c"])
    summary = DPMeans(lam=150.0).fit(frame).summary(frame)
    assert {feature.name for feature in summary.clusters[0].features} == set(frame.columns)
    assert "<script>" not in summary._repr_html_()
    assert "&lt;script&gt;" in summary._repr_html_()
    table = summary.to_frame()
    assert table["size"].tolist() == [cluster.size for cluster in summary.clusters]
    assert str(summary).startswith("3 clusters of 150 rows\n")


def test_summary_of_a_graph_counts_links():
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (6, 6)]
    model = GraphDPMeans(lam=-0.4).fit([(str(a), str(b)) for a, b in edges])
    summary = model.summary()
    assert [cluster.size for cluster in summary.clusters] == np.bincount(model.labels_).tolist()
    first, second, alone = summary.clusters
    # Nodes 0 and 1 have all their links in the first triangle; one of its seven link ends leaves it.
    assert (first.exemplars[0], first.nearest, second.nearest, alone.nearest) == (0, 1, 0, -1)
    assert first.spread == pytest.approx(1 / 7)
    assert first.nearest_distance == pytest.approx(1 - 1 / 7)
    assert {feature.name for feature in first.features} == {"degree", "share of links inside"}
    assert summary.row_names.tolist() == list("0123456")
    assert str(summary).startswith("3 clusters of 7 nodes\n")


def test_precomputed_values_have_no_columns(X):
    K = X @ X.T
    summary = KernelDPMeans(lam=150.0, kernel="precomputed").fit(K).summary(K)
    plain = DPMeans(lam=150.0).fit(X).summary(X)
    assert [cluster.features for cluster in summary.clusters] == [()] * 3
    by_size = [
        sorted((c.size, round(c.spread, 6), round(c.nearest_distance, 6)) for c in s.clusters) for s in (summary, plain)
    ]
    assert by_size[0] == by_size[1]
    with pytest.raises(ValueError, match="κ"):
        KernelDPMeans(lam=150.0, kernel="precomputed").fit(K).summary(K[:5])


def test_what_a_summary_refuses(X):
    model = DPMeans(lam=150.0).fit(X)
    with pytest.raises(ValueError, match="X=None is not allowed"):
        model.summary()
    with pytest.raises(ValueError, match="2 names for 3 columns"):
        model.summary(X, ["a", "b"])
    with pytest.raises(ValueError, match="give the 150 rows of fit"):
        AgglomerativeBayes().fit(X).summary(X[:5])
    with pytest.raises(ValueError, match="another graph"):
        GraphDPMeans(lam=-0.4).fit(np.ones((3, 3))).summary(np.ones((4, 4)))


def test_other_rows_do_not_have_the_labels_of_as_many_rows_of_fit(X, tmp_path):
    """Rows are recognised by their values, also by a model that was saved."""
    other, names = X[::-1].copy(), np.arange(len(X)) % 2
    for model, refusal in [
        (HardHDP(lam_local=50.0, lam_global=150.0).fit(X, groups=names), "has 2 named groups, such as 0."),
        (AgglomerativeBayes().fit(X), "X holds other rows than fit"),
    ]:
        model.save(tmp_path / "model.kfree")
        again = kfree.load(tmp_path / "model.kfree")
        assert str(again.summary(X)) == str(model.summary(X))
        for asked in (model, again):
            with pytest.raises(ValueError, match=refusal):
                asked.summary(other)
    links = np.ones((4, 4))
    model = GraphDPMeans(lam=-0.4).fit(links)
    assert str(model.summary(links)) == str(model.summary())
    with pytest.raises(ValueError, match="another graph"):
        model.summary(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))


def test_exemplars_are_found_block_by_block(rng, monkeypatch):
    from kfree.explain import summary

    labels = rng.integers(-1, 7, size=500).astype(np.int32)
    labels[labels == 3] = 2  # a cluster without rows
    dist = rng.integers(5, size=500).astype(float)  # ties go to the earlier row
    nothing = np.zeros(500)
    view = View(labels, dist, labels, nothing, np.zeros(7, dtype=np.int32), nothing, distance="")
    expected = [sorted(np.flatnonzero(labels == c), key=lambda row: (dist[row], row))[:3] for c in range(7)]
    for n_rows in (1, 64, 1000):
        monkeypatch.setattr(summary, "_ROWS_AT_ONCE", n_rows)
        assert summary.exemplars_of(view) == expected


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_effect_sizes_of_huge_values_do_not_overflow(kind):
    rows = np.array([[1.0, 2.0], [2.0, 2.5], [8.0, 1.0], [9.0, 3.0]])
    labels = np.array([0, 0, 1, 1])
    expected, huge = (profile(kind(rows * scale), labels, 2) for scale in (1.0, 1e300))
    assert huge.effects == pytest.approx(expected.effects)
    assert huge.means / 1e300 == pytest.approx(expected.means)


def test_a_single_cluster_is_set_apart_by_nothing(rng):
    X = rng.normal(size=(40, 2))
    summary = KMeans(1).fit(X).summary(X)
    assert "+0.00" not in str(summary)
    assert summary.to_frame()["set_apart_by"].tolist() == [""]
    assert [feature.name for feature in summary.clusters[0].features] == ["x0", "x1"]


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        (Unit.of("number", 1500.0, 1e4), 8980.4, "8,980"),
        (Unit.of("number", 0.3, 5.0), -1.288e-14, "0.00"),
        (Unit.of("number", 0.3, 5.0), -5.026, "−5.03"),
        (Unit.of("number", 0.0, 7.0), 7.0, "7.0"),
        (Unit.of("number", 1e-12, 1e-12), 3e-12, "3e−12"),
        (Unit.of("number", 1e20, 1e21), 1e21, "1e+21"),
        (Unit.of("share", 0.3, 1.0), 0.417, "42 %"),
        (Unit.of("share", 0.3, 1.0), 1 - 1e-15, "100 %"),
        (Unit.of("share", 0.3, 1.0), 0.996, ">99 %"),
        (Unit.of("share", 0.3, 1.0), 0.004, "<1 %"),
        (Unit.of("share", 0.3, 1.0), 0.0, "0 %"),
        (Unit.of("share", 0.3, 1.0), 0.125 - 1e-16, "13 %"),
        (Unit.of("share", 0.3, 1.0), 0.125, "13 %"),
        (Unit.of("date", 0.5, 2030.0), 2028.0, "2028-01-01"),
        (Unit.of("date", 0.5, 2030.0), 1970 + 0.75 / 365.2425, "1970-01-01"),
        (Unit.of("date", 0.5, 2030.0), 1970 + (1 - 1e-9) / 365.2425, "1970-01-02"),
        (Unit.of("date", 1e-4, 2030.0), 1970 + 1.25 / 365.2425, "1970-01-02 06:00"),
        (Unit.of("time of day", 3600.0, 8e4), 3600 * 9 + 60 * 5.5, "09:05"),
        (Unit.of("seconds", 3.0, 90.0), 12.34, "12.3 s"),
        (Unit.of("number", 1.0, 1.0), np.inf, "∞"),
        (Unit.of("number", np.inf, np.inf), 1.0, "1"),
    ],
)
def test_values_are_written_as_a_reader_knows_them(unit, value, text):
    assert unit.text(value) == text


def test_means_of_an_encoded_table_are_those_of_the_table(rng):
    pandas = pytest.importorskip("pandas")
    kind = rng.integers(2, size=400)
    table = pandas.DataFrame(
        {
            "income": np.exp(6 + 2 * kind + 0.8 * rng.normal(size=400)),
            "plan": np.array(["basic", "gold"])[kind],
            "since": pandas.Timestamp("2021-03-01") + pandas.to_timedelta(400 * kind + rng.integers(90, size=400), "D"),
        }
    )
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    assert "log" in encoder.describe()
    model = DPMeans(target_k=2).fit(X)
    for cluster in model.summary(X, encoder=encoder).clusters:
        inside = table[model.labels_ == cluster.label]
        features = {feature.name: feature for feature in cluster.features}
        assert features["income"].mean == pytest.approx(inside["income"].mean())
        assert features["income"].others == pytest.approx(table[model.labels_ != cluster.label]["income"].mean())
        assert features["plan=gold"].text == percent((inside["plan"] == "gold").mean())
        assert features["since"].text == str(inside["since"].mean().date())


def test_a_small_cluster_is_not_told_as_no_share():
    X = np.append(np.zeros(2499), 9.0)[:, None] + np.linspace(0, 1e-3, 2500)[:, None]
    summary = KMeans(2, random_state=0).fit(X).summary(X)
    assert [line.split()[2:4] for line in str(summary).splitlines()[2:4]] == [[">99.9", "%"], ["<0.1", "%"]]
    assert [sentence.split(";")[0] for sentence in sentences(summary)] == [
        "Cluster 0: 2,499 rows (>99 %)",
        "Cluster 1: 1 row (<1 %)",
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(8012.3, "8,012"), (1.1749, "1.17"), (0.00123, "0.00123"), (0.0, "0"), (np.inf, "∞")]
)
def test_short_numbers(value, text):
    assert short(value) == text


def test_levels_that_make_up_a_cluster_are_told_by_their_shares(rng):
    """Each of twelve plans is one cluster, so that no cluster varies in any of them."""
    kind = np.arange(240) % 12
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"plan": [f"p{k}" for k in kind], "x": 9.0 * kind + rng.normal(size=240)})
    encoder = TableEncoder()
    Z = encoder.fit_transform(table)
    summary = KMeans(12, init=Z[:12], label_order="found").fit(Z).summary(Z, encoder=encoder)
    for c, cluster in enumerate(summary.clusters):
        effects = {feature.name: feature.effect for feature in cluster.features}
        assert np.isfinite(list(effects.values())).all()
        assert max(effects, key=effects.get) in (f"plan=p{c}", "x")
    assert "plan=p3 100 % (others 0 %)" in str(summary).splitlines()[5]
    assert "inf" not in str(summary)
    assert "plan=p4" not in str(summary).splitlines()[5]


def test_an_encoder_of_another_order_of_columns_is_refused():
    """Means of one column were told in the name and unit of the other."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"height": [1.6, 1.7, 1.8, 1.9] * 5, "income": [100, 220, 310, 90] * 5})
    encoder = TableEncoder().set_output(transform="pandas").fit(table)
    model = KMeans(2, random_state=0).fit(encoder.transform(table))
    other = TableEncoder().fit(table[["income", "height"]])
    with pytest.raises(ValueError, match="in another order than .*Give the encoder that made X"):
        model.summary(encoder.transform(table), encoder=other)


def test_summaries_with_names_of_rows_are_compared():
    """Names are an array, whose comparison has no truth value."""
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "e")]
    renamed = [(start.upper(), end.upper()) for start, end in edges]
    first, same, other = (GraphDPMeans(lam=-0.4).fit(links).summary() for links in (edges, edges, renamed))
    assert first == same
    assert hash(first) == hash(same)
    assert first != other
    assert first != "3 clusters"
