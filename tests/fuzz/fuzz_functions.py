"""Public functions that are fuzzed: each is called with what a case has, and its answer is checked."""

import inspect

import matplotlib.pyplot
import numpy as np

from kfree import (
    AgglomerativeBayes,
    DPMeans,
    GraphDPMeans,
    TableEncoder,
    choose_k,
    datasets,
    farthest_first_lambda,
    lambda_path,
    plot,
)
from kfree.baselines import select_by_validation
from kfree.metrics import dendrogram_purity
from tests.fuzz.fuzz_cases import ODD


def _path(case):
    path = lambda_path(case.X(), sample_weight=case.weight())
    assert path.suggest().k >= 1, "a path suggests no number of clusters"
    assert (np.diff(path.k) > 0).all(), "the steps of a path are not in order"


def _farthest_first(case):
    lam = farthest_first_lambda(case.X(), min(3, case.n_rows), sample_weight=case.weight())
    assert np.isfinite(lam), f"lam={lam} is no penalty"


def _choice(case):
    choice = choose_k(case.X(), range(1, 4), n_init=1, n_folds=2, n_references=2)
    assert all(k >= 1 for k in choice.chosen.values()), f"choose_k chose {choice.chosen}"
    assert repr(choice), "a choice has no text"


def _selected(case):
    penalties = {"lam": [case.penalty, 10 * case.penalty]}
    model, score = select_by_validation(DPMeans(), case.X(), case.groups(), penalties)
    assert model.lam in penalties["lam"], "a penalty that was not on the grid"
    assert -1e-9 <= score <= 1 + 1e-9, f"an agreement of {score}"


def _purity(case):
    linkage = case.rows()
    if case.seed % 2:  # a chain, with heights as they come
        n = case.n_rows
        linkage = np.column_stack(
            [np.arange(1, n), np.r_[[0][: n - 1], n + np.arange(n - 2)], np.arange(1, n), np.arange(2, n + 1)]
        )
    purity = dendrogram_purity(linkage, case.groups())
    assert 0 < purity <= 1 + 1e-9, f"a purity of {purity}"


def _encoded(case):
    encoder, X = TableEncoder(), case.X()
    rows = encoder.fit_transform(X)
    assert np.isfinite(np.asarray(rows)).all(), "an encoded table has NaN or infinity"
    assert np.array_equal(encoder.transform(case.X()), rows), "transform differs from fit_transform"
    assert len(encoder.inverse_transform(rows)) == case.n_rows, "a decoded table has other rows"
    assert encoder.describe(), "no description"


MAKERS = [
    datasets.make_customers,
    datasets.make_gaussians,
    datasets.make_three_gaussians,
    datasets.make_two_groups,
    datasets.load,
]


def _made(case):
    make = MAKERS[case.seed % len(MAKERS)]
    names = list(inspect.signature(make).parameters)
    given = {"n_rows": case.n_rows, "random_state": case.seed, "name": "iris"}
    given = {name: given[name] for name in names if name in given}
    if case.odd_parameter >= 0:
        given[names[case.odd_parameter % len(names)]] = ODD[case.odd_value]
    made = make(**given)
    if make is datasets.load:
        assert made.X.shape == (150, 4), "another data set was loaded"
    else:
        assert len(made[1]) == given["n_rows"], "there are not as many rows as asked for"


def _tree(case):
    model = AgglomerativeBayes().fit(case.X())
    return plot.dendrogram(model.linkage_, model.n_clusters_, labels=model.labels_)


PICTURES = [
    lambda case: plot.clusters(DPMeans(lam=case.penalty).fit(case.X()), case.X()),
    lambda case: plot.voronoi(DPMeans(lam=case.penalty).fit(case.X()), case.X()),
    lambda case: plot.profiles(DPMeans(lam=case.penalty).fit(case.X()), case.X()),
    lambda case: plot.sizes(DPMeans(lam=case.penalty).fit(case.X()), case.X()),
    lambda case: plot.staircase(lambda_path(case.X())),
    lambda case: plot.graph(GraphDPMeans(lam=-0.1, patience=1).fit(case.adjacency())),
    _tree,
]


def _drawn(case):
    matplotlib.pyplot.close("all")
    ax = PICTURES[case.seed % len(PICTURES)](case)
    ax.figure.set_layout_engine("none")  # which draws all texts several times
    ax.figure.canvas.draw()
    assert ax.has_data(), "nothing is drawn"


FUNCTIONS = {
    "datasets": _made,
    "plot": _drawn,
    "lambda_path": _path,
    "farthest_first_lambda": _farthest_first,
    "choose_k": _choice,
    "select_by_validation": _selected,
    "dendrogram_purity": _purity,
    "TableEncoder": _encoded,
}
