"""NestedDPMeans: levels, labels and trees for users, bad input, files, and agreement with DPMeans."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, is_monotonic, is_valid_linkage
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import kfree
from kfree import DPMeans, NestedDPMeans, open_rows


def hierarchy(seed=0, d=3, n_groups=4, n_each=4, rows=40):
    """Well separated groups of well separated clusters: rows, groups and clusters."""
    rng = np.random.default_rng(seed)
    groups = 200.0 * rng.permutation(np.eye(max(d, n_groups))[:n_groups, :d] + np.arange(n_groups)[:, None] % 3)
    centres = np.repeat(groups, n_each, axis=0) + 15.0 * rng.normal(size=(n_groups * n_each, d))
    y = np.repeat(np.arange(len(centres)), rng.integers(rows // 2, 2 * rows, size=len(centres)))
    y = rng.permutation(y)
    return centres[y] + rng.normal(size=(len(y), d)), y // n_each, y


@pytest.fixture(scope="module")
def fitted():
    X, groups, clusters = hierarchy()
    return NestedDPMeans().fit(X), X, groups, clusters


def test_levels_and_their_numbers_are_found(fitted):
    model, _, groups, clusters = fitted
    assert model.levels_ == (4, 16)
    assert adjusted_rand_score(groups, model.level_labels_[0]) == 1.0
    assert adjusted_rand_score(clusters, model.labels_) == 1.0
    assert model.evidence_[0] >= 3


def test_levels_are_strictly_nested_and_predicted(fitted):
    model, X, _, _ = fitted
    pairs = np.unique(np.column_stack([model.labels_, model.level_labels_[0]]), axis=0)
    assert len(pairs) == model.n_clusters_
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.predict(X, level=0), model.level_labels_[0])
    assert np.array_equal(model.predict(X, level=-1), model.labels_)
    new = model.predict(np.full((1, X.shape[1]), 1e6), level=0, allow_new=True)
    assert new.tolist() == [-1]


def test_groups_are_numbered_by_weight(fitted):
    model, _, _, _ = fitted
    for level, labels in enumerate(model.level_labels_):
        sizes = np.bincount(labels)
        assert (np.diff(sizes) <= 0).all()
        assert np.array_equal(model.tree_.sizes[model.tree_.nodes(level)], sizes)


def test_the_cost_is_that_of_the_equation_and_of_score(fitted):
    model, X, _, _ = fitted
    tree, (tau,) = model.tree_, model.tau_
    clusters = tree.nodes(1)
    inertia = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    pull = tau * ((tree.centres[clusters] - tree.centres[tree.parents[clusters]]) ** 2).sum()
    expected = inertia + pull + model.lam_ * 16 + model.lam_group_[0] * 4
    assert model.cost_ == pytest.approx(expected, rel=1e-9)
    assert model.score(X) == pytest.approx(-expected, rel=1e-9)
    assert model.cost_history_[-1] == model.cost_
    assert (np.diff(model.cost_history_) <= 0).all()


def test_a_tree_as_newick_frame_and_linkage(fitted):
    model, _, _, _ = fitted
    tree = model.tree_
    newick = tree.to_newick([f"it's {c}" for c in range(16)])
    assert newick.count("(") == newick.count(")") == 5
    assert "'it''s 3':" in newick
    assert newick.endswith(");")
    with pytest.raises(ValueError, match="names has 1 names for 16 clusters"):
        tree.to_newick(["one"])
    frame = tree.to_frame()
    assert frame["size"][frame.level == 0].sum() == frame["size"][frame.level == 1].sum() == len(model.labels_)
    assert frame.n_children[frame.level == 0].sum() == 16
    assert is_valid_linkage(tree.linkage_)
    assert is_monotonic(tree.linkage_)
    cut = fcluster(tree.linkage_, 4, "maxclust")[model.labels_]
    assert adjusted_rand_score(cut, model.level_labels_[0]) == 1.0


def test_three_levels():
    rng = np.random.default_rng(1)
    top = 3000.0 * np.eye(3)
    middle = np.repeat(top, 3, axis=0) + 250.0 * np.tile(np.eye(3), (3, 1))
    centres = np.repeat(middle, 3, axis=0) + 20.0 * np.tile(np.eye(3), (9, 1))
    X = centres[rng.integers(27, size=1500)] + rng.normal(size=(1500, 3))
    model = NestedDPMeans().fit(X)
    assert model.levels_ == (3, 9, 27)
    given = NestedDPMeans((3, 9, 27)).fit(X)
    assert all(map(np.array_equal, given.level_labels_, model.level_labels_))
    assert NestedDPMeans(max_levels=2).fit(X).levels_ == (9, 27)


def test_clusters_without_groups_are_one_level():
    rng = np.random.default_rng(2)
    centres = 40.0 * rng.normal(size=(15, 3))
    X = centres[rng.integers(15, size=900)] + rng.normal(size=(900, 3))
    model = NestedDPMeans().fit(X)
    assert model.levels_ == (15,)
    assert model.evidence_[0] < 3
    assert len(model.level_labels_) == 1
    assert model.lam_group_ == model.tau_ == ()
    flat = DPMeans().fit(X)
    assert np.array_equal(flat.labels_, model.labels_)
    assert model.cost_ == pytest.approx(flat.cost_)


@pytest.mark.parametrize("levels", [(1, 2), (3, 9), (2, 4, 30), (7,), (2, 33)])
def test_numbers_that_are_asked_for_are_met(levels):
    X, _, _ = hierarchy(seed=3)
    model = NestedDPMeans(levels).fit(X)
    assert model.levels_ == levels
    assert [len(np.unique(own)) for own in model.level_labels_] == list(levels)


@pytest.mark.parametrize("settings", [{}, {"levels": (4, 16)}, {"group_weight": "rows"}, {"metric": "cosine"}])
@pytest.mark.parametrize("scale", [2.0**-20, 2.0**17])
def test_nothing_depends_on_the_scale_of_the_data(settings, scale):
    X, _, _ = hierarchy(seed=4)
    X = X + 300.0 * (settings.get("metric") == "cosine")
    model, scaled = NestedDPMeans(**settings).fit(X), NestedDPMeans(**settings).fit(scale * X)
    assert scaled.levels_ == model.levels_
    assert scaled.tau_ == model.tau_
    assert all(map(np.array_equal, scaled.level_labels_, model.level_labels_))


def test_repeats_of_all_rows_change_nothing():
    X, _, _ = hierarchy(seed=5)
    model, repeated = NestedDPMeans((4, 16)).fit(X), NestedDPMeans((4, 16)).fit(np.repeat(X, 3, axis=0))
    weighted = NestedDPMeans((4, 16)).fit(X, sample_weight=np.full(len(X), 3.0))
    for other, labels in ((repeated, [own[::3] for own in repeated.level_labels_]), (weighted, weighted.level_labels_)):
        assert other.tau_[0] == pytest.approx(3 * model.tau_[0])
        assert other.inertia_ == pytest.approx(3 * model.inertia_, rel=1e-9)
        assert all(map(np.array_equal, labels, model.level_labels_))
    np.testing.assert_allclose(repeated.tree_.centres, model.tree_.centres, rtol=1e-9)


def test_rows_of_no_weight_count_for_nothing():
    X, _, _ = hierarchy(seed=6)
    far = np.vstack([X, np.full((5, 3), 1e4)])
    model = NestedDPMeans((4, 16)).fit(X)
    other = NestedDPMeans((4, 16)).fit(far, sample_weight=np.append(np.ones(len(X)), np.zeros(5)))
    assert np.array_equal(other.labels_[: len(X)], model.labels_)
    np.testing.assert_allclose(other.tree_.centres, model.tree_.centres, rtol=1e-9)


def test_sparse_rows_frames_engines_and_summaries_agree(fitted):
    model, X, _, _ = fitted
    for other in (
        NestedDPMeans().fit(sp.csr_array(X)),
        NestedDPMeans().fit(pd.DataFrame(X, columns=["a", "b", "c"])),
        NestedDPMeans(engine="reference").fit(X),
        NestedDPMeans(search="summary").fit(X),
        NestedDPMeans(memory="50MB").fit(X),
    ):
        assert other.levels_ == model.levels_
        assert all(map(np.array_equal, other.level_labels_, model.level_labels_))
        np.testing.assert_allclose(other.tree_.centres, model.tree_.centres, rtol=1e-6)


def test_files(fitted, tmp_path):
    model, X, _, _ = fitted
    np.save(tmp_path / "rows.npy", X)
    rows = open_rows(tmp_path / "rows.npy")
    other = NestedDPMeans(memory="50MB").fit(rows)
    assert other.levels_ == model.levels_
    assert np.array_equal(other.predict(X, level=0), model.level_labels_[0])
    assert other.score(rows) == pytest.approx(-other.cost_, rel=1e-9)
    assert not hasattr(other, "level_labels_")
    with pytest.raises(ValueError, match="out="):
        other.predict(rows, level=0, out=tmp_path / "labels")


def test_it_is_saved_and_loaded(fitted, tmp_path):
    model, X, _, _ = fitted
    again = kfree.load(model.save(tmp_path / "model.kfree") and tmp_path / "model.kfree")
    assert again.levels_ == model.levels_
    assert np.array_equal(again.predict(X, level=0), model.level_labels_[0])
    assert again.score(X) == model.score(X)
    assert again.tree_.to_newick() == model.tree_.to_newick()


def test_a_summary_compares_siblings(fitted):
    model, X, _, _ = fitted
    top, finest = model.summary(X, level=0), model.summary(X)
    assert [node.size for node in top.clusters] == np.bincount(model.level_labels_[0]).tolist()
    assert "standard deviations within clusters from other rows (mean)" in str(top)
    assert "standard deviations within clusters from other rows of the same group (mean)" in str(finest)
    node = model.tree_.at_level(np.array([0]), 0)[0]
    inside = model.level_labels_[0] == node
    own = model.labels_[inside] == 0
    rows = X[inside]
    parts = [rows[model.labels_[inside] == c] for c in np.unique(model.labels_[inside])]
    within = sum(((part - part.mean(0)) ** 2).sum(0) for part in parts)
    pooled = np.sqrt(within / (len(rows) - len(parts)))
    effects = (rows[own].mean(0) - rows[~own].mean(0)) / pooled
    feature = finest.clusters[0].features[0]
    assert feature.effect == pytest.approx(effects[int(feature.name[1:])], rel=1e-9)
    assert abs(feature.effect) == pytest.approx(np.abs(effects).max(), rel=1e-9)


def test_outliers_and_columns_of_distances(fitted):
    model, X, _, _ = fitted
    assert (model.outlier_score(X) > 1).mean() < 0.02
    assert model.outlier_score(np.full((1, 3), 1e5))[0] > 1
    frame = clone(model).set_output(transform="pandas").fit(X).transform(X)
    assert list(frame.columns) == [f"nesteddpmeans{j}" for j in range(16)]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"levels": (5, 5)}, "levels=(5, 5) is not allowed; give whole numbers ≥ 1 that rise strictly"),
        ({"levels": (40, 5)}, "coarsest level first"),
        ({"levels": (0, 5)}, "levels=(0, 5)"),
        ({"levels": ()}, "levels=()"),
        ({"levels": 5}, "levels=5"),
        ({"levels": (2, 10**6)}, "at most n_samples = "),
        ({"tau": 0.0}, "tau=0.0 is not allowed; give a number from 1e-50 to 1e+50"),
        # Its products with weights become zero, so that groups would have no centre.
        ({"tau": 1e-200, "levels": (2, 4, 16)}, "tau=1e-200 is not allowed; give a number from 1e-50 to 1e+50"),
        ({"tau": np.inf}, "tau=inf"),
        ({"tau": (1.0, 2.0)}, "one number, or one for each level above the finest"),
        ({"lam": 0.0}, "lam=0.0"),
        ({"lam_group": -1.0}, "lam_group=-1.0"),
        ({"levels": (2, 4), "lam": 1.0}, "'auto' with levels"),
        ({"levels": (2, 4), "lam_group": 1.0}, "'auto' with levels"),
        ({"group_weight": "cluster"}, "did you mean 'clusters'?"),
        ({"search": "sweep"}, "numbers for lam, lam_group and tau"),
        ({"max_levels": 0}, "max_levels=0"),
    ],
)
def test_what_cannot_be_is_said(settings, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        NestedDPMeans(**settings).fit(hierarchy()[0])


def test_nodes_that_a_strong_pull_empties_are_said():
    with pytest.warns(UserWarning, match=r"ends with levels_=\(4, 14\) where levels=\(4, 16\) were found"):
        assert NestedDPMeans(levels=(4, 16), tau=1e6).fit(hierarchy()[0]).levels_ == (4, 14)


@pytest.mark.parametrize("level", [2, -3, 0.5, True, "coarsest"])
def test_a_level_that_does_not_exist(fitted, level):
    model, X, _, _ = fitted
    with pytest.raises(ValueError, match=r"0 \(4 nodes\), 1 \(16 nodes\)"):
        model.predict(X, level=level)
    with pytest.raises(ValueError, match="level="):
        model.summary(X, level=level)


def test_a_page_opens_groups(fitted, tmp_path):
    from kfree.report.kinds import report_data

    model, X, _, _ = fitted
    data = report_data(model, X)
    assert [step["k"] for step in data["steps"]] == [16, 4]
    assert data["steps"][0]["parents"] == model.tree_.siblings(1).tolist()
    assert data["steps"][1]["parents"] is None
    model.report(tmp_path / "page.html")
    assert "Open a group" in (tmp_path / "page.html").read_text()
    copied = kfree.load(model.save(tmp_path / "m.kfree") and tmp_path / "m.kfree")
    with pytest.raises(ValueError, match="Give X"):
        copied.report(tmp_path / "page.html")


def test_pictures(fitted):
    model, X, _, _ = fitted
    assert model.plot(X).get_xlabel().startswith("component 1")
    assert model.plot().get_ylabel().startswith("increase")
    with pytest.raises(ValueError, match="has no levels"):
        DPMeans(lam=100.0).fit(X).plot(X, kind="levels")


def test_one_row_and_equal_rows():
    assert NestedDPMeans().fit([[1.0, 2.0]]).levels_ == (1,)
    model = NestedDPMeans().fit(np.ones((20, 2)))
    assert model.levels_ == (1,)
    assert model.tree_.linkage_ is None
    with pytest.raises(ValueError, match="one cluster"):
        model.plot()
