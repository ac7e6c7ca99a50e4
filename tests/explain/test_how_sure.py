"""How sure the number of clusters is, in words: after fits of halves, of graphs, and by comparison with surrogates."""

import warnings

import numpy as np
import pytest

from kfree import DPMeans, GraphDPMeans, lambda_path
from kfree.exceptions import DataAdvice
from kfree.explain.certainty import in_words, in_words_of_path


def fitted_twice(X, **parameters):
    """DPMeans on rows and on halves of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataAdvice)
        return DPMeans(**parameters).fit(X).stability(X)


def test_one_cluster_whose_halves_were_fitted():
    model = fitted_twice(np.random.default_rng(0).normal(size=(200, 3)))
    assert model.certainty().startswith("no separate groups: nowhere do rows thin out between two centres")
    assert repr(model).endswith("For a practical division give k; sizes 200")
    model.k_interval_ = (1, 3)
    assert model.certainty().endswith("give k. Some halves of the rows show up to 3 clusters.")


def test_a_number_that_was_asked_for_is_not_clear_because_halves_have_it_too():
    model = fitted_twice(np.random.default_rng(0).normal(size=(200, 3)), target_k=1)
    assert model.certainty() == "1 cluster, as asked for; halves of the rows show the same"
    model.n_clusters_, model.stability_, model.is_sure_ = 3, np.array([0.9, 0.7, 0.5]), False
    assert model.certainty().startswith("3 clusters, not 1 as asked for; halves")
    model.set_params(target_k=3)
    model.k_interval_ = (3, 3)
    assert model.certainty() == "3 clusters, as asked for; halves of the rows do not show the same cluster 1, 2"
    model.k_interval_ = (2, 5)
    assert model.certainty() == "3 clusters, as asked for; halves of the rows show 2 to 5"
    model.set_params(target_k=None, lam=50.0)
    assert model.certainty() == "3 clusters at the penalty that was given; halves of the rows show 2 to 5"


def test_clusters_that_no_half_shows():
    model = fitted_twice(np.random.default_rng(0).normal(size=(200, 3)) + 9 * np.eye(2, 3)[np.arange(200) % 2])
    assert model.certainty() == "2 clusters, clear"
    model.stability_, model.is_sure_ = np.zeros(2), False
    assert model.certainty() == "2 clusters: not sure, because halves of the rows do not show the same cluster 0, 1"


def cliques(n):
    """So many cliques of eight nodes."""
    return np.kron(np.eye(n), np.ones((8, 8)) - np.eye(8))


def test_a_graph_has_no_centres_and_no_rows():
    assert GraphDPMeans().fit(cliques(1)).certainty() == (
        "no separate groups: no division of the graph makes the description of its links shorter. For a practical "
        "division give k."
    )
    parts = "the connected components; no division of these makes the description of the links shorter"
    assert GraphDPMeans().fit(cliques(2)).certainty() == f"2 clusters: {parts}"
    two_and_a_node = np.pad(cliques(2), (0, 1))
    assert GraphDPMeans().fit(two_and_a_node).certainty() == f"3 clusters: {parts}"
    linked = cliques(2)
    linked[7, 8] = linked[8, 7] = 1.0
    model = GraphDPMeans().fit(linked)
    saved = model.path_.suggest().evidence
    assert repr(model) == (
        f"GraphDPMeans()  # 2 clusters, which make the description of the links {saved:.1f} nats shorter; sizes 8, 8"
    )


def test_the_second_best_division_of_a_graph():
    rng = np.random.default_rng(0)
    group = np.arange(90) % 3
    linked = np.triu(rng.random((90, 90)) < np.where(group[:, None] == group, 0.3, 0.05), 1)
    model = GraphDPMeans().fit((linked | linked.T).astype(float))
    best, second = np.sort(model.path_.evidence[model.path_.width > 0])[[-1, -2]]
    assert second > 0
    assert model.certainty() == (
        f"3 clusters, which make the description of the links {best:.1f} nats shorter; other numbers of clusters make "
        f"it at most {second:.1f} shorter"
    )


def test_one_cluster_by_comparison_with_skewed_factors():
    """Some steps of these rows have density dips."""
    rng = np.random.default_rng(0)
    rows = rng.lognormal(size=(1000, 20)) @ rng.normal(size=(20, 64)) + 0.1 * rng.normal(size=(1000, 64))
    path = lambda_path(rows, metric="cosine")
    assert path.judged_k == 1
    step, needed = path.closest()
    assert step.evidence > needed
    assert in_words_of_path(path, 1) == (
        "no separate groups: rows of skewed factors without clusters may look like these. For a practical division "
        "give k."
    )


def test_one_cluster_though_a_step_has_enough_evidence():
    """A skewed density has dips in some places, but none that a single peak cannot have."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=400)
    path = lambda_path(np.column_stack([x, x**2]) + 0.05 * rng.normal(size=(400, 2)))
    step, needed = path.closest()
    assert (path.suggest().k, step.evidence >= needed) == (1, True)
    assert in_words_of_path(path, 1) == (
        f"no separate groups: rows thin out between {step.k} centres, but no more than a skewed density with a single "
        "peak may. For a practical division give k."
    )


@pytest.mark.parametrize("k", [1, 2])
def test_words_of_a_model_without_facts(k):
    model = type("Model", (), {"n_clusters_": k})
    assert in_words(model) == ("1 cluster", "2 clusters")[k - 1]
