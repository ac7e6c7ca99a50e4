"""Columns have names in every kind of frame: rows with the same names in another order are refused by all methods."""

import warnings
from functools import partial

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from common import sampled

from kfree import (
    AgglomerativeBayes,
    AutoCluster,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    NestedDPMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    TableEncoder,
)
from kfree.baselines import GaussianMixtureBIC, GMeans
from kfree.report import write_report

ESTIMATORS = {
    "AgglomerativeBayes": AgglomerativeBayes,
    "AutoCluster": AutoCluster,
    "BayesianKMeans": BayesianKMeans,
    "DPMeans": partial(DPMeans, lam=500.0),
    "GMeans": GMeans,
    "GaussianMixtureBIC": GaussianMixtureBIC,
    "HardHDP": partial(HardHDP, lam_local=100.0, lam_global=500.0),
    "KMeans": partial(KMeans, n_clusters=3, random_state=0),
    "KernelDPMeans": partial(KernelDPMeans, lam=1.0),
    "NestedDPMeans": NestedDPMeans,
    "OnlineDPMeans": partial(OnlineDPMeans, lam=500.0),
    "SpectralDPMeans": SpectralDPMeans,
}
FRAMES = {
    "pandas": lambda frame: frame,
    "pandas of Arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "table": partial(pa.Table.from_pandas, preserve_index=False),
    "record batch": partial(pa.RecordBatch.from_pandas, preserve_index=False),
    "dask": partial(dd.from_pandas, npartitions=2),
}
METHODS = ["predict", "transform", "score", "summary", "confidence", "nearest_two", "outlier_score", "duplicates"]
PAIRS = [*sampled(24, list(ESTIMATORS), list(FRAMES)), ("DPMeans", "record batch"), ("AutoCluster", "dask")]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 30.0, 0.0], [30.0, 0.0, 5.0], [0.0, 0.0, 40.0]])
    return pd.DataFrame(centres[np.arange(90) % 3] + rng.normal(size=(90, 3)), columns=["b", "a", "c"])


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_other_columns_are_refused_by_every_method_in_every_frame(name, kind, frame):
    held = FRAMES[kind]
    model = ESTIMATORS[name]().fit(held(frame))
    assert list(model.feature_names_in_) == ["b", "a", "c"]
    others = {
        "in the same order": frame[["a", "b", "c"]],
        "now missing:\n- c": frame[["b", "a"]],
        "unseen at fit time:\n- d": frame.assign(d=1.0),
    }
    for method in (method for method in METHODS if hasattr(model, method)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            getattr(model, method)(held(frame))
        for message, other in others.items():
            with pytest.raises(ValueError, match=message):
                getattr(model, method)(held(other))


@pytest.mark.parametrize("kind", ["polars", "table", "record batch"])
def test_summaries_name_columns_as_the_frame_does(kind, frame):
    model = DPMeans(lam=500.0).fit(frame)
    assert str(model.summary(FRAMES[kind](frame))) == str(model.summary(frame))


@pytest.mark.parametrize("name", ["AgglomerativeBayes", "AutoCluster", "DPMeans", "HardHDP", "NestedDPMeans"])
def test_a_page_names_the_columns_of_a_frame_and_refuses_others(name, frame, tmp_path):
    model, path = ESTIMATORS[name]().fit(frame), tmp_path / "page.html"
    for kind in ("pandas", "table"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            write_report(path, model, FRAMES[kind](frame))
        features = path.read_text().split('"features":[')[1].split("]")[0]
        assert sorted(features.split(",")) == ['"a"', '"b"', '"c"']
    for other in (frame[["a", "b", "c"]], frame.rename(columns={"c": "d"})):
        with pytest.raises(ValueError, match="feature names should match"):
            write_report(path, model, other)


@pytest.mark.parametrize("estimator", [KMeans(n_clusters=3, max_iter=1), DPMeans(lam=500.0)])
def test_centres_that_are_given_have_the_columns_of_the_rows(estimator, frame):
    centres = frame.iloc[:3]
    estimator.set_params(init=centres).fit(frame)
    for rows in (frame.to_numpy(), frame.set_axis(["x", "y", "z"], axis=1)):  # no names, and those of another program
        np.testing.assert_array_equal(estimator.labels_, estimator.set_params(init=centres).fit(rows).labels_)
    told = "the columns of init are 'a', 'b', 'c', in another order than 'b', 'a', 'c'. Give init the columns of X"
    with pytest.raises(ValueError, match=told):
        estimator.set_params(init=centres[["a", "b", "c"]]).fit(frame)


def test_frames_of_groups_have_the_same_columns(frame):
    first, second, other = frame[:40], frame[40:], frame[40:][["a", "b", "c"]]
    estimator = ESTIMATORS["HardHDP"]()
    with pytest.raises(ValueError, match="frame 0 has 'b', 'a', 'c', frame 1 has 'a', 'b', 'c'; give all the same"):
        estimator.fit([first, other])
    model = estimator.fit([first, second])
    assert list(model.feature_names_in_) == ["b", "a", "c"]
    assert [feature.name for feature in model.summary([first, second]).clusters[0].features].count("b") == 1
    for method in (model.predict, model.score, model.partial_fit):
        for groups in ([other], [first.to_numpy(), other]):
            with pytest.raises(ValueError, match="in the same order"):
                method(groups)


@pytest.mark.parametrize("kind", ["pandas", "polars", "table"])
def test_rows_are_decoded_by_the_order_of_their_columns(kind, frame):
    table = frame.assign(plan=np.where(frame["a"] > 15, "basic", "pro"))
    encoder = TableEncoder().fit(table)
    rows = encoder.transform(table)
    pd.testing.assert_frame_equal(encoder.inverse_transform(FRAMES[kind](rows)), table)
    for decode in (encoder.inverse_transform, encoder.in_units):
        with pytest.raises(ValueError, match="in another order than 'b', 'a', 'c'.*transform returns"):
            decode(FRAMES[kind](rows[sorted(rows)]))
    unnamed = rows.set_axis(range(rows.shape[1]), axis=1)
    np.testing.assert_array_equal(encoder.in_units(unnamed), encoder.in_units(rows))


def test_a_matrix_of_links_has_rows_and_columns_in_one_order():
    """Links between other nodes would be made of it."""
    links = np.kron(np.eye(3), np.ones((4, 4))) - np.eye(12)
    names = [f"node {j}" for j in range(12)]
    frame = pd.DataFrame(links, index=names, columns=names)
    assert GraphDPMeans().fit(frame).n_clusters_ == 3
    assert GraphDPMeans().fit(frame.reset_index(drop=True)).n_clusters_ == 3
    with pytest.raises(ValueError, match="the columns of the graph are 'node 11', .*in the order of its rows"):
        GraphDPMeans().fit(frame[names[::-1]])


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_links_of_new_nodes_have_the_order_of_the_graph(frame_of):
    """Without a word they were links with other nodes."""
    links, names = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8), list("abcdefgh")
    frame = frame_of(dict(zip(names, links, strict=True)))
    model = GraphDPMeans().fit(frame)
    assert model.node_names_.tolist() == names
    assert model.predict_nodes(frame[:3]).tolist() == model.labels_[:3].tolist()
    with pytest.raises(ValueError, match="the columns of new_rows are 'h', .*in the order of node_names_"):
        model.predict_nodes(frame[names[::-1]])
    with pytest.raises(ValueError, match="in the order of node_names_"):
        model.outlier_score(frame[names[::-1]])
