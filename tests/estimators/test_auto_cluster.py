"""AutoCluster: what it publishes, the same for any number of threads, and bad input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from kfree import AutoCluster, DPMeans, load
from kfree.estimators._auto_choice import close_by, not_offered
from kfree.estimators._auto_opinions import with_dips, with_levels, with_path
from kfree.exceptions import DataAdvice
from kfree.models.neighbours import NeighbourVote
from kfree.search.judge.choose import BY_CENTRES, ROWS_GRAPH, WITHIN_GRAPH, Candidate, Judge
from kfree.search.judge.scores import Scores
from kfree.search.judge.surrogates import unit_rows


def blobs(n=240, d=3, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, d)) + 9 * np.eye(k, d)[y], y


@pytest.fixture(scope="module")
def model():
    return AutoCluster().fit(blobs()[0])


def test_published_attributes(model):
    X, y = blobs()
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert (model.n_clusters_, model.model_name_, model.k_interval_, model.is_sure_) == (3, "round", (3, 3), True)
    assert model.labels_.dtype == np.int32
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    assert model.stability_.shape == (3,)
    assert model.stability_.min() > 0.9
    assert model.reason_.startswith("3 clusters (round)")
    assert next(one["model"] for one in model.candidates_) == "round"
    assert all(one["why_not"] for one in model.candidates_[1:])
    assert np.array_equal(model.predict(X), model.labels_)
    assert (model.n_judged_, model.n_features_in_) == (240, 3)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [([], ""), ([2], " 2 was close."), ([9, 4], " 4 and 9 were close."), ([9, 4, 12], " 4, 9 and 12 were close.")],
)
def test_close_numbers_in_words(numbers, told):
    assert close_by(numbers) == told
    assert close_by(numbers, 3) == told.replace(" close.", " close, but halves of the rows agree on 3.")


def test_the_result_does_not_depend_on_threads_or_on_scales(model):
    X, _ = blobs()
    again = AutoCluster(n_threads=2).fit(X * [1.0, 1000.0, 0.01] + 5.0)
    assert np.array_equal(again.labels_, model.labels_)
    score, as_scaled = ({one["model"]: one["score"] for one in made.candidates_} for made in (model, again))
    assert score["any shape"] == pytest.approx(as_scaled["any shape"], rel=1e-3)
    # The score of the graph has decided how many clusters there are: others have none, and 0 would be a low one.
    assert {one["score"] for one in model.candidates_ if one["model"] != "any shape"} == {None}


def test_clusters_of_any_shape_predict_by_their_neighbours():
    X, y = make_moons(300, noise=0.05, random_state=0)
    model = AutoCluster().fit(X)
    assert (model.n_clusters_, model.model_name_) == (2, "any shape")
    assert adjusted_rand_score(y, model.labels_) == 1.0
    new, truth = make_moons(100, noise=0.05, random_state=1)
    assert adjusted_rand_score(truth, model.predict(new)) > 0.9


def test_weights_count_for_the_chosen_model_but_for_clusters_of_any_shape():
    angle = np.linspace(0.0, 6.2, 40)
    rings = np.vstack([radius * np.column_stack([np.cos(angle), np.sin(angle)]) for radius in (1.0, 3.0)])
    weight = 1.0 + np.arange(80) % 3
    model, once = AutoCluster().fit(rings, sample_weight=weight), AutoCluster().fit(rings)
    assert model.model_name_ == once.model_name_ == "any shape"
    assert np.array_equal(model.labels_, once.labels_)
    X, _ = blobs(80)
    model = AutoCluster().fit(X, sample_weight=weight)
    means = [np.average(X[model.labels_ == c], axis=0, weights=weight[model.labels_ == c]) for c in range(3)]
    np.testing.assert_allclose(model.model_.cluster_centers_ * X.std(axis=0) + X.mean(axis=0), means, atol=1e-9)


def test_clusters_of_any_shape_are_numbered_by_the_sizes_of_all_rows():
    X, y = make_moons((160, 140), noise=0.05, random_state=0)
    X = np.vstack([X, np.repeat(X[y == 1], 2, axis=0)])  # copies are judged once
    model = AutoCluster().fit(X)
    assert (model.model_name_, np.bincount(model.labels_).tolist()) == ("any shape", [420, 160])
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.stability_.shape == (2,)


def test_the_nearest_neighbours_have_more_votes():
    model = NeighbourVote.of(np.array([[0.0], [1.0], [1.1], [1.2], [5.0]]), np.array([0, 1, 1, 1, 1], dtype=np.int32))
    assert model.predict(np.array([[0.1], [0.5], [0.0]])).tolist() == [0, 1, 0]


def test_one_column_has_valleys_and_no_shapes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)) + 6 * (np.arange(200) % 2)[:, None]
    model = AutoCluster().fit(X)
    assert (model.n_clusters_, model.model_name_, model.is_sure_) == (2, "round", True)
    assert "fewer rows between clusters than one cluster would have" in model.reason_
    assert {one["why_not"] for one in model.candidates_[1:]} == {"clusters of one column have no shape"}
    one = AutoCluster().fit(rng.exponential(size=(200, 1)))
    assert (one.n_clusters_, one.model_name_) == (1, "one cluster")
    assert one.reason_.startswith("One cluster: nowhere are rows so few")


def encoded(rng, n=300):
    """Three groups of numbers, two of which a category tells apart, in TableEncoder's units."""
    y = rng.integers(3, size=n)
    level = np.where(rng.uniform(size=n) < 0.7, y, rng.integers(3, size=n))
    return np.hstack([rng.normal(size=(n, 3)) + 5 * np.eye(3)[y], np.eye(3)[level] / np.sqrt(2)]), y


def test_rows_of_a_table_encoder_stay_as_they_are(rng):
    X, y = encoded(rng)
    model = AutoCluster().fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.reason_.endswith("Columns count as they are, because X has levels as TableEncoder encodes them.")
    assert np.array_equal(AutoCluster(scale="none").fit(X).labels_, model.labels_)
    of_other_units = AutoCluster().fit(X * np.sqrt(2))
    assert "TableEncoder" not in of_other_units.reason_


def test_density_dips_decide_between_close_scores_of_tables_with_levels(rng):
    X, y = encoded(rng)
    judge = Judge(X, False, rng, whiten=False)
    numbers, two = np.array([2, 3]), judge.k_means_at(2)
    chosen = Candidate("round", 2, judge.links(two)[1], 0.5, 0.0, 1.0, two)

    def told_by(*scores, chosen=chosen):
        curves = {ROWS_GRAPH: (numbers, Scores(np.ones(2), np.array(scores), np.ones(2)))}
        return with_levels(judge, X, chosen, (chosen,), curves, None)

    assert told_by(1.0, 0.7) == (chosen, (chosen,))
    of_more_links = replace(chosen, links=2.0)  # as three clusters have beside two of them
    assert told_by(1.0, 0.8, chosen=of_more_links) == (of_more_links, (of_more_links,))
    told, (first, lost) = told_by(1.0, 0.8)
    assert adjusted_rand_score(y, told.labels) > 0.9
    assert told is first
    assert told.k == 3
    assert lost.why_not.endswith("density dips show these")


def test_density_dips_in_few_columns_count_where_the_graph_shows_more_than_a_curve():
    X, y = blobs(n=150, d=2)
    judge = Judge(X, False, np.random.default_rng(0), whiten=False)
    two = judge.k_means_at(2)
    chosen = Candidate("round", 2, judge.links(two)[1], 0.5, 0.0, 1.0, two)

    def told_by(score):
        curves = {ROWS_GRAPH: (np.array([2, 3, 4]), Scores(np.ones(3), np.array([1.0, score, 0.0]), np.ones(3)))}
        return with_dips(judge, chosen, (chosen,), curves, None)

    assert told_by(0.1) == (chosen, (chosen,))
    told, _ = told_by(0.12)
    assert adjusted_rand_score(y, told.labels) == 1.0


@pytest.mark.parametrize(
    ("rows", "models"),
    [
        ([[0.0, 3.0], [1.0, 0.0]], ["counts"]),
        ([[0.0, 1.0], [1.0, 0.0]], ["zeros and ones"]),
        ([[0.5, 1.0]], []),
        ([[-1.0, 2.0]], []),
        (sp.csr_array([[0.0, 3.0]]), ["counts"]),
    ],
)
def test_models_of_counts_are_named_for_counts(rows, models):
    found = not_offered(rows if sp.issparse(rows) else np.array(rows))
    assert [model for model, _ in found] == models
    assert all(why.startswith("not offered: ") for _, why in found)


def test_of_many_rows_a_sample_is_judged_and_all_get_labels():
    X, y = blobs(n=2500)
    model = AutoCluster().fit(X)
    assert model.n_judged_ == 1000
    assert "1,000 of 2,500 rows" in model.reason_
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_unit_rows_are_recognised():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=300)
    X = rng.normal(size=(6, 40))[y] + 0.5 * rng.normal(size=(300, 40))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = AutoCluster().fit(unit)
    assert model.n_clusters_ == 6
    assert model.model_.metric == "cosine"
    assert np.array_equal(AutoCluster(metric="cosine").fit(X).labels_, model.labels_)


def test_rows_without_clusters_are_one():
    model = AutoCluster().fit(np.random.default_rng(0).normal(size=(300, 4)))
    assert (model.n_clusters_, model.model_name_, model.k_interval_) == (1, "one cluster", (1, 1))
    assert model.reason_.startswith("One cluster: the best partition scores 0.0")
    assert not model.predict(np.zeros((2, 4))).any()


def test_columns_of_noise_do_not_hide_clusters(tmp_path):
    X, y = blobs(n=200, d=2, k=3)
    X = np.hstack([np.random.default_rng(1).normal(size=(200, 9)), np.ones((200, 1)), X])
    X = pd.DataFrame(X, columns=list("abcdefghijkl"))
    model = AutoCluster().fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.columns_.tolist() == [10, 11]
    assert model.noise_columns_.tolist() == list(range(9))  # a constant column hides nothing
    assert "Found only in column 'k', column 'l':" in model.reason_
    assert model.candidates_[-1]["why_not"] == "takes all columns; clusters are clearer in column 'k', column 'l'"
    model.save(tmp_path / "model.kfree")
    again = load(tmp_path / "model.kfree")
    assert again.columns_.tolist() == [10, 11]
    assert again.noise_columns_.tolist() == list(range(9))
    X.iloc[:, :10] = 0.0
    assert np.array_equal(again.predict(X), model.labels_)


def test_equal_rows_and_constant_columns():
    with pytest.warns(DataAdvice, match="X has 1, so"):
        equal = AutoCluster().fit(np.ones((50, 3)))
    assert equal.n_clusters_ == 1
    assert equal.reason_ == "1 cluster: there are fewer than 24 distinct rows. Judged on 1 of 50 rows."
    X, y = blobs()
    model = AutoCluster().fit(np.column_stack([X, np.full(len(X), 7.0)]))
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_weights_of_zero_leave_rows_out_of_the_judgement(model):
    X, y = blobs()
    far = np.vstack([X, np.full((5, 3), 1e6)])
    weighted = AutoCluster().fit(far, sample_weight=np.append(np.ones(len(X)), np.zeros(5)))
    assert adjusted_rand_score(y, weighted.labels_[: len(X)]) == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "manhattan"}, "metric='manhattan' is not allowed; give"),
        ({"time_budget": -1}, "time_budget=-1 is not allowed; give a number of seconds > 0"),
        ({"time_budget": 1e-3}, "give at least 0.06 seconds"),
        ({"n_threads": 0}, "n_threads=0 is not allowed"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoCluster(**parameters).fit(blobs()[0])


def test_bad_rows():
    X = blobs()[0]
    with pytest.warns(DataAdvice, match="at least 24 distinct rows, and X has 20, so all rows are one cluster"):
        assert AutoCluster().fit(X[:20]).n_clusters_ == 1
    with pytest.raises(ValueError, match="metric='euclidean' is not allowed for sparse X"):
        AutoCluster(metric="euclidean").fit(texts()[0])
    with pytest.raises(ValueError, match="X has 1 all-zero row"):
        AutoCluster(metric="cosine").fit(np.vstack([X, np.zeros(3)]))
    with pytest.raises(ValueError, match="weight"):
        AutoCluster().fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        AutoCluster().fit(np.where(np.arange(3) == 1, np.nan, X))
    with pytest.raises(NotFittedError):
        AutoCluster().predict(X)


def test_a_short_budget_judges_fewer_rows():
    X, y = blobs(n=600)
    model = AutoCluster(time_budget=0.5).fit(X)
    assert 100 < model.n_judged_ < 300
    assert adjusted_rand_score(y, model.labels_) == 1.0


SHAPES = {
    "round": lambda: blobs()[0],
    "any shape": lambda: make_moons(300, noise=0.05, random_state=0)[0],
    "ellipses": lambda: make_blobs(500, cluster_std=[1.0, 2.5, 0.5], random_state=170)[0],
    "one cluster": lambda: np.random.default_rng(0).normal(size=(200, 3)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_kind_of_winner_has_the_methods_of_the_house(name, tmp_path):
    X = SHAPES[name]()
    model = AutoCluster().fit(X)
    assert model.model_name_ == name
    far = np.full((1, X.shape[1]), 1e3)
    assert model.outlier_score(far) > 1
    assert (model.outlier_score(X) > 1).mean() < 0.05
    assert model.predict(far, allow_new=True).tolist() == [-1]
    assert model.confidence_.shape == (len(X),)
    assert len(model.summary(X).to_frame()) == model.n_clusters_
    labels, distances = model.nearest_two(X)
    assert labels.shape == distances.shape == (len(X), 2)
    assert (labels[:, 0] == model.predict(X)).all()
    model.report(tmp_path / "page.html", X)
    assert model.reason_.partition(": ")[2] in (tmp_path / "page.html").read_text()
    again = load(model.save(tmp_path / "model") and tmp_path / "model")
    for attribute in ("labels_", "candidates_", "reason_", "k_interval_", "stability_", "is_sure_", "n_judged_"):
        assert np.array_equal(getattr(again, attribute), getattr(model, attribute)), attribute
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.outlier_score(X), model.outlier_score(X))
    assert type(again.model_) is type(model.model_)
    assert again.curves_.keys() == model.curves_.keys()


def test_the_summary_is_about_the_columns_that_were_given():
    X, _ = blobs()
    frame = pd.DataFrame(X + 50, columns=["height", "width", "age"])
    found = AutoCluster().fit(frame).summary(frame)
    assert "height" in str(found)


def texts(k=5, n=300, d=400):
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    words = rng.integers(d // k, size=(n, 30)) + (d // k) * np.where(rng.uniform(size=(n, 30)) < 0.7, y[:, None], 0)
    X = np.zeros((n, d))
    np.add.at(X, (np.arange(n)[:, None], words), 1.0)
    return sp.csr_array(X), y


def test_sparse_rows_are_directions_and_other_candidates_are_named(tmp_path):
    X, y = texts()
    model = AutoCluster().fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert (model.model_name_, model.model_.metric) == ("round", "cosine")
    left_out = {one["model"] for one in model.candidates_ if one["why_not"] == "does not take sparse rows"}
    assert left_out == {"shared ellipse", "ellipses", "any shape"}
    assert np.array_equal(model.predict(X.toarray()), model.labels_)
    assert load(model.save(tmp_path / "model") and tmp_path / "model").predict(X).tolist() == model.labels_.tolist()
    dense = AutoCluster(metric="cosine").fit(X.toarray())
    assert dense.n_clusters_ == model.n_clusters_


def test_sparse_rows_of_few_columns_are_a_table(model):
    assert np.array_equal(AutoCluster().fit(sp.csr_array(blobs()[0])).labels_, model.labels_)


def test_copies_of_sparse_rows_are_judged_once():
    X, _ = texts(n=100)
    assert AutoCluster().fit(sp.vstack([X, X])).n_judged_ == 100


def test_documents_that_are_almost_copies_have_one_cluster():
    """Their inner products have no digits for what is between them."""
    X, y = texts(n=100)
    X = X.toarray()
    X[1], y[1] = X[10], y[10]
    X[1, 3] += 1e-6
    model = AutoCluster().fit(sp.csr_array(X))
    assert model.labels_[1] == model.labels_[10]
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.n_judged_ == 100


@pytest.mark.parametrize("exponent", [-400, -80, 64, 400])
def test_rows_that_float32_cannot_square_are_judged_as_others_are(exponent, rng):
    X = rng.normal(size=(60, 2)) + 9.0 * (np.arange(60) % 3)[:, None]
    usual, other = (AutoCluster(scale="none").fit(np.ldexp(X, power)) for power in (0, exponent))
    assert usual.n_clusters_ == 3
    assert other.labels_.tolist() == usual.labels_.tolist()


@pytest.mark.parametrize("container", [sp.csr_array, np.asarray])
def test_rows_that_share_few_directions(container):
    y = np.arange(150) % 5
    X = np.eye(5, 40)[y] * (1.0 + np.arange(150) // 5)[:, None]
    model = AutoCluster(metric="cosine").fit(container(X))
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.reason_ == "5 clusters: rows share few distinct points, so density dips between these decide."
    assert np.array_equal(model.predict(container(2 * X)), model.labels_)


def test_rows_of_few_points_are_judged(rng):
    model = AutoCluster().fit(rng.integers(2, size=(300, 5)).astype(float))
    assert (model.n_clusters_, model.is_sure_) == (1, True)
    why = "rows share few distinct points, and density dips between these show no clusters."
    assert model.reason_ == f"1 cluster: {why}"
    assert model.certainty().startswith(f"no separate groups: {why}")


def test_rows_of_meaningful_scale_are_not_scaled_again():
    X, y = blobs(d=2)
    X = np.column_stack([X, 300 * np.random.default_rng(1).normal(size=240)])
    assert adjusted_rand_score(y, AutoCluster().fit_predict(X)) == 1.0
    assert AutoCluster(scale="none").fit(X).n_clusters_ == 1
    with pytest.raises(ValueError, match="scale.*deviation"):
        AutoCluster(scale="unit").fit(X)


@pytest.mark.parametrize("scale", ["deviation", "none"])
def test_categories_that_say_nothing_make_no_clusters(scale):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    categories = [np.eye(k)[rng.integers(k, size=400)] for k in (3, 4, 6)]
    X = np.hstack([rng.normal(size=(400, 3)) + 6 * np.eye(3)[y], *categories])
    assert adjusted_rand_score(y, AutoCluster(scale=scale).fit_predict(X)) > 0.95


def test_in_few_columns_touching_clusters_are_told_apart_and_gaps_by_chance_are_not():
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=800)
    model = AutoCluster().fit((rng.normal(size=800) + 6.0 * y)[:, None])
    assert (model.n_clusters_, model.model_name_) == (8, "round")
    zeros = rng.lognormal(size=(500, 3)) * (rng.uniform(size=(500, 3)) < 0.5)
    model = AutoCluster().fit(zeros)
    assert model.n_clusters_ == 1


def test_topics_are_counted_also_between_the_numbers_of_the_grid():
    rng = np.random.default_rng(0)
    y = rng.integers(20, size=600)
    X = rng.normal(size=(20, 64))[y] + 0.7 * rng.normal(size=(600, 64))
    assert AutoCluster(metric="cosine").fit(X).n_clusters_ == 20


def test_where_scores_of_topics_do_not_decide_dp_means_does(monkeypatch):
    rng = np.random.default_rng(0)
    rows = unit_rows(rng.normal(size=(6, 40))[rng.integers(6, size=300)] + 0.5 * rng.normal(size=(300, 40)))
    judge = Judge(rows, True, rng, n_surrogates=1)
    verdict = judge.judge()
    numbers = np.array([2, 3, 7, 9])
    for suggested, high, k in ((3, 0.45, 3), (3, 0.2, 9), (12, 0.45, 9)):
        monkeypatch.setattr(DPMeans, "fit", lambda self, X, k=suggested: setattr(self, "n_clusters_", k) or self)
        scores = Scores(np.ones(4), np.array([0.1, high, 0.2, 0.5]), np.ones(4))
        nine = replace(verdict.chosen, k=9)
        told, candidates = with_path(judge, nine, (nine,), {BY_CENTRES: (numbers, scores)}, None)
        assert (told.k, told.labels.max() + 1 if told.k < 9 else 9) == (k, k)
        assert [one.k for one in candidates] == ([3, 9] if k == 3 else [9])


def test_halves_are_judged_as_a_fit_of_as_many_rows_is():
    rng = np.random.default_rng(2)
    y = rng.integers(4, size=160)
    model = AutoCluster().fit(rng.normal(scale=1.2, size=(4, 10))[y] + rng.normal(size=(160, 10)))
    assert (model.n_clusters_, model.k_interval_) == (4, (2, 4))  # 9 with half as many neighbours as a fit has


def strips(rng, n=600):
    """Four parallel strips eight times as long as wide."""
    y = rng.integers(4, size=n)
    X = rng.normal(size=(n, 2)) * [8.0, 1.0] + 6.0 * y[:, None] * [0.0, 1.0]
    return X @ np.array([[0.8, 0.6], [-0.6, 0.8]]), y


def test_strips_are_found_in_rows_whitened_within_clusters(tmp_path):
    rng = np.random.default_rng(0)
    X, y = strips(rng)
    model = AutoCluster().fit(X)
    assert WITHIN_GRAPH in model.curves_
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.93
    model.save(tmp_path / "strips.kfree")
    new, truth = strips(rng)
    predicted = load(tmp_path / "strips.kfree").predict(new)
    assert np.array_equal(predicted, model.predict(new))
    assert adjusted_rand_score(truth, predicted) > 0.9


def test_many_zeros_and_ones_are_not_whitened_within_clusters():
    """Rows that agree in eight columns are too few to be islands, so that noise does not fill the gaps."""
    rng = np.random.default_rng(0)
    model = AutoCluster().fit(np.column_stack([strips(rng)[0], rng.integers(2, size=(600, 8))]))
    assert WITHIN_GRAPH not in model.curves_


def test_long_clusters_are_found_beside_yes_and_no():
    X, y = strips(np.random.default_rng(0))
    model = AutoCluster().fit(np.column_stack([X, np.arange(600) % 2]))
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_rows_far_from_zero_are_no_directions(offset):
    """Places in a city have lengths of about 54 that differ by less than a thousandth."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [0.01, 0.0025], [0.02, 0.005]], 60, axis=0) + 1e-3 * rng.normal(size=(180, 2))
    model = AutoCluster().fit(X + np.array([52.5, 13.4]) + offset)
    assert (model.n_clusters_, model._frame_.unit) == (3, False)


def test_directions_have_lengths_with_the_rounding_of_float16():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(3, 64)), 60, axis=0) + 0.3 * rng.normal(size=(180, 64))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float16)
    model = AutoCluster().fit(X.astype(np.float64))
    assert (model.n_clusters_, model._frame_.unit) == (3, True)
