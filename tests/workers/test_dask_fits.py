"""Fits with engine="dask": the bits of rows in memory and in files, lazy labels, checkpoints, clear errors."""

import sys
import warnings

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from files.test_any_size import FITS, MEMORY, N_ROWS, PUBLISHED, rows_with_weights
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kfree
from kfree import DPMeans, KMeans, NestedDPMeans, open_rows
from kfree.saving.journal import CheckpointError, Journal

X, WEIGHT = rows_with_weights(N_ROWS)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows in three files."""
    folder = tmp_path_factory.mktemp("rows")
    for number, part in enumerate(np.split(np.column_stack([X, WEIGHT]), [1, 10_000])):
        np.save(folder / f"{number}.npy", part)
    return open_rows(folder, columns=[0, 1, 2], weight=3)


def check_same(model, expected):
    for name in PUBLISHED:
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("fit", ["automatic k", "a penalty", "k-means", "cosine"])
def test_files_on_workers_have_the_bits_of_memory(fit, rows, client):
    expected = FITS[fit]().fit(X, sample_weight=WEIGHT)
    model = FITS[fit]().set_params(engine="dask").fit(rows)
    check_same(model, expected)
    np.testing.assert_array_equal(model.predict(rows), expected.labels_)
    assert -model.score(rows) == model.cost_
    assert model.engine_ == "dask, streamed"


@pytest.mark.parametrize("n_workers", [1, 4])
def test_the_number_of_workers_changes_no_bit(n_workers, rows):
    expected = DPMeans(lam=900.0, memory=MEMORY).fit(rows)
    settings = {"processes": False, "dashboard_address": ":0", "n_workers": n_workers, "threads_per_worker": 2}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        check_same(DPMeans(lam=900.0, memory=MEMORY, engine="dask").fit(rows), expected)


def test_places_on_workers_have_the_bits_of_memory(client, tmp_path, rng):
    """Latitudes and longitudes in files and in a Dask array, around a pole and the date line."""
    centres = np.array([[88.0, 10.0], [0.0, 179.9], [50.0, -100.0]])
    places = centres[rng.integers(3, size=15_000)] + rng.normal(size=(15_000, 2)) * [0.5, 1.0]
    places[:, 1] = (places[:, 1] + 180) % 360 - 180
    for number, part in enumerate(np.split(places, [1, 4000])):
        np.save(tmp_path / f"{number}.npy", part)
    expected = DPMeans(lam=1e9, metric="haversine", memory=3_000_000).fit(places)
    assert expected.n_clusters_ == 3
    for X_there in (open_rows(tmp_path), da.from_array(places, chunks=((2000, 13_000), (1, 1)))):
        model = DPMeans(lam=1e9, metric="haversine", memory=3_000_000, engine="dask").fit(X_there)
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
        assert (model.cost_, model.engine_) == (expected.cost_, "dask, streamed")
        np.testing.assert_array_equal(np.asarray(model.predict(X_there)), expected.labels_)
        assert model.score(X_there) == expected.score(places)
    places[5, 0] = 100.0
    with pytest.raises(ValueError, match=r"a chunk of X\[5, 0\] = 100 .row 5. is no latitude"):
        DPMeans(lam=1e9, metric="haversine", memory=3_000_000, engine="dask").fit(da.from_array(places, chunks=3000))


def test_levels_on_workers_have_the_bits_of_memory(client, tmp_path, rng):
    """Clusters of clusters: the finest level comes from passes on workers, the others from its clusters."""
    groups = 60.0 * rng.normal(size=(3, 3))
    centres = np.repeat(groups, 3, axis=0) + 9.0 * rng.normal(size=(9, 3))
    points = centres[rng.integers(9, size=N_ROWS)] + rng.normal(size=(N_ROWS, 3))
    for number, part in enumerate(np.split(points, [1, 4000])):
        np.save(tmp_path / f"{number}.npy", part)
    settings = {"levels": (3, 9), "memory": MEMORY, "random_state": 0}
    expected = NestedDPMeans(**settings).fit(points)
    for there in (open_rows(tmp_path), da.from_array(points, chunks=(3000, 3))):
        model = NestedDPMeans(engine="dask", **settings).fit(there)
        assert (model.levels_, model.cost_, model.engine_) == ((3, 9), expected.cost_, "dask, streamed")
        np.testing.assert_array_equal(model.tree_.centres, expected.tree_.centres)
        np.testing.assert_array_equal(model.tree_.parents, expected.tree_.parents)
        for level in range(2):
            np.testing.assert_array_equal(np.asarray(model.predict(there, level=level)), expected.level_labels_[level])


def test_arrays_get_lazy_labels_with_their_chunks(client, tmp_path):
    chunked = da.from_array(X, chunks=((3000, 1, 9999, 3000), (2, 1)))
    model = DPMeans(lam=900.0, memory=MEMORY, engine="dask").fit(
        chunked, sample_weight=da.from_array(WEIGHT, chunks=5000)
    )
    expected = DPMeans(lam=900.0, memory=MEMORY).fit(X, sample_weight=WEIGHT)
    check_same(model, expected)
    assert isinstance(model.labels_, da.Array)
    assert model.labels_.chunks == chunked.chunks[:1]
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(model.predict(chunked, allow_new=True).compute(), expected.predict(X, allow_new=True))
    model.save(tmp_path / "model.kfree")
    np.testing.assert_array_equal(kfree.load(tmp_path / "model.kfree").cluster_centers_, model.cluster_centers_)


def test_dataframes_keep_the_names_of_their_columns(client):
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    model = KMeans(7, random_state=0, memory=MEMORY, engine="dask").fit(frame[frame.a > -np.inf])
    check_same(model, KMeans(7, random_state=0, memory=MEMORY).fit(X))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.labels_.shape == (N_ROWS,)


def test_files_that_dask_joins_to_partitions_have_all_their_rows(client, tmp_path):
    for number, rows in enumerate(np.array_split(X, 3)):
        frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(other="text", more=1.0)
        frame.to_parquet(tmp_path / f"{number}.parquet")
    model = KMeans(7, random_state=0, memory=MEMORY, engine="dask").fit(dd.read_parquet(tmp_path, columns=list("abc")))
    check_same(model, KMeans(7, random_state=0, memory=MEMORY).fit(X))
    assert model.labels_.shape == (N_ROWS,)


def test_a_collection_that_fits_in_memory_is_searched_there(client):
    some = da.from_array(X[:3000], chunks=(1000, 3))
    given = {"lam": 900.0, "noise": 0.01, "memory": "1GB"}
    model, expected = DPMeans(engine="dask", **given).fit(some), DPMeans(**given).fit(X[:3000])
    check_same(model, expected)
    assert model.labels_.chunks == some.chunks[:1]
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)


def with_unknown_chunks(array):
    return array[array[:, 0] > -np.inf]


@pytest.mark.parametrize("same", [lambda array: array, with_unknown_chunks])
def test_a_collection_is_explained_like_its_rows(same, client, tmp_path, recwarn):
    """Labels of chunks are lazy, and have no length where sizes of chunks are not known."""
    some, chunked = X[:400], da.from_array(X[:400], chunks=(150, 3))
    model, expected = DPMeans(lam=60.0, engine="dask").fit(same(chunked)), DPMeans(lam=60.0).fit(some)
    assert model.summary(same(chunked)) == expected.summary(some)
    for got, wanted in zip(model.nearest_two(same(chunked)), expected.nearest_two(some), strict=True):
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(model.confidence(same(chunked)), expected.confidence(some))
    NestedDPMeans(levels=(2, 4), engine="dask").fit(same(chunked)).report(tmp_path / "levels.html", same(chunked))
    assert (tmp_path / "levels.html").exists()
    assert not recwarn.list


@pytest.mark.parametrize("same", [lambda array: array, with_unknown_chunks])
@pytest.mark.parametrize(
    "model", [DPMeans(lam=60.0), KMeans(4, random_state=0), NestedDPMeans(levels=(2, 4)), DPMeans(lam=60.0, noise=0.05)]
)
def test_without_workers_a_collection_is_an_array(model, same):
    some = X[:400]
    expected = clone(model).fit(some)
    there = same(da.from_array(some, chunks=(150, 3)))
    model.fit(there)
    assert isinstance(model.labels_, np.ndarray)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.cost_ == expected.cost_
    assert model.summary(there) == expected.summary(some)


@pytest.mark.parametrize("given", [np.asarray, lambda some: da.from_array(some, chunks=(100, 2))])
def test_halves_of_the_rows_are_fitted_in_memory(given, client):
    some = X[:400]
    model = DPMeans(lam=60.0, engine="dask").fit(da.from_array(some, chunks=(100, 3))).stability(given(some))
    expected = DPMeans(lam=60.0).fit(some).stability(some)
    assert (model.k_interval_, model.is_sure_) == (expected.k_interval_, expected.is_sure_)
    np.testing.assert_array_equal(model.stability_, expected.stability_)


def test_workers_write_labels(rows, client, tmp_path):
    model = DPMeans(lam=900.0, memory=MEMORY, engine="dask").fit(rows)
    labels = open_rows(model.predict(rows, out=tmp_path / "labels"))
    (chunk,) = labels.chunks(0, N_ROWS, N_ROWS)
    np.testing.assert_array_equal(chunk.X[:, 0], model.predict(rows))


class Interrupted(Journal):
    """A checkpoint after which a fit is interrupted, when so many passes were recorded."""

    n_left = 0

    def answer(self, question, work_out, declared):
        def once():
            if not Interrupted.n_left:
                raise KeyboardInterrupt
            Interrupted.n_left -= 1
            return work_out()

        return super().answer(question, once, declared)


@pytest.mark.parametrize("engine", ["auto", "dask"])
def test_a_fit_goes_on_from_its_checkpoint(engine, rows, client, tmp_path, monkeypatch):
    expected = DPMeans(lam=900.0, memory=MEMORY).fit(rows)
    monkeypatch.setattr("kfree.estimators._places.Journal", Interrupted)
    model, n_interrupted = DPMeans(lam=900.0, memory=MEMORY, checkpoint=tmp_path / "fit.kfree", engine=engine), 0
    while not hasattr(model, "cost_"):
        Interrupted.n_left = 2
        try:
            model.fit(rows)
        except KeyboardInterrupt:
            n_interrupted += 1
            model.engine = "auto" if model.engine == "dask" else "dask"  # whoever goes on
    assert n_interrupted >= 2
    check_same(model, expected)


def test_a_checkpoint_of_another_fit_is_refused(rows, tmp_path, monkeypatch):
    path = tmp_path / "fit.kfree"
    model = DPMeans(lam=900.0, memory=MEMORY, checkpoint=path).fit(rows)
    model.save(tmp_path / "model.kfree")
    assert kfree.load(tmp_path / "model.kfree").checkpoint == str(path)
    with pytest.raises(ValueError, match=r"checkpoint=7 .*the name of a file, or None"):
        DPMeans(lam=900.0, memory=MEMORY, checkpoint=7).fit(rows)
    with pytest.raises(CheckpointError, match=r"another fit \(lam: 900\.0 there, 901\.0 here\)"):
        DPMeans(lam=901.0, memory=MEMORY, checkpoint=path).fit(rows)
    with pytest.raises(CheckpointError, match=r"another fit \(data: '\w+' there, '\w+' here\)"):
        DPMeans(lam=900.0, memory=MEMORY, checkpoint=path).fit(X + 1.0)
    monkeypatch.setattr("kfree.__version__", "0.0.9")
    with pytest.raises(CheckpointError, match=r"version of kfree: '\d\.\d\.\d' there, '0\.0\.9' here"):
        model.fit(rows)


def test_without_a_client_it_says_how_to_start_one(rows):
    with pytest.raises(RuntimeError, match=r"found no Dask client. Start one before fit: .*`Client\(\)`"):
        DPMeans(engine="dask").fit(rows)


def test_without_dask_it_says_how_to_install_it(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "kfree\[dask\]"'):
        DPMeans(engine="dask").fit(rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((X, None), r"engine='dask' takes rows of files by open_rows, Dask arrays and Dask dataframes; X is a ndarray"),
        ((da.from_array(X, chunks=-1), WEIGHT), "sample_weight is a ndarray; with a Dask collection"),
        ((da.from_array(X, chunks=-1), da.ones(5)), r"sample_weight has the shape \(5,\)"),
        ((da.from_array(X[:, 0], chunks=-1), None), r"X has the shape \(16000,\)"),
    ],
)
def test_rows_that_it_does_not_take(given, message, client):
    with pytest.raises((TypeError, ValueError), match=message):
        DPMeans(engine="dask").fit(given[0], sample_weight=given[1])


DATES, WHOLE = np.datetime64("2020-01-01") + np.arange(5000), np.arange(5000) + 2**60
FRAME = {"a": X[:5000, 0], "date": DATES, "id": WHOLE, "kind": ["u", "v"] * 2500}


def framed(*columns):
    return dd.from_pandas(pd.DataFrame(FRAME)[[*columns]], npartitions=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (da.from_array(np.column_stack([DATES, DATES]), chunks=1000), r"X holds datetime64\[D\], not real numbers"),
        (da.from_array(X + 1j, chunks=1000), "X holds complex128, not real numbers"),
        (da.from_array(X.astype(str), chunks=1000), "X holds <U32, not real numbers"),
        (da.ma.masked_greater(da.from_array(X, chunks=(5000, 3)), 1), "chunks are of the type MaskedArray"),
        (da.from_array(X, chunks=(5000, 3)).map_blocks(sp.csr_matrix), "chunks are of the type csr_matrix"),
        (da.from_array(np.column_stack([WHOLE, WHOLE]), chunks=1000), "X holds whole numbers that float64 rounds"),
        (framed("date"), r"column 'date' of X holds datetime64\[\w+\], not real numbers"),
        (framed("a", "date"), r"column 'date' of X holds datetime64\[\w+\], not real numbers"),
        (framed("a", "a"), r"share: 'a' \(columns 0, 1\)"),
        (framed("a", "id"), r"column 'id' of X holds whole numbers that float64 rounds, such as 11529215046068\d+"),
        (framed("a", "kind"), "column 'kind' of X holds values that are not numbers .could not convert"),
    ],
)
def test_collections_without_numbers_are_refused_like_rows_in_memory(given, message, client):
    with pytest.raises((TypeError, ValueError), match=message):
        DPMeans(lam=1e4, memory=MEMORY, engine="dask").fit(given)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (framed("date")["date"], r"sample_weight holds datetime64\[\w+\], not real numbers"),
        (da.from_array(WHOLE, chunks=1000), "sample_weight holds whole numbers that float64 rounds"),
    ],
)
def test_weights_that_are_no_numbers_are_refused(weight, message, client):
    with pytest.raises(ValueError, match=message):
        KMeans(3, memory=MEMORY, engine="dask").fit(da.from_array(X[:5000], chunks=(1000, 3)), sample_weight=weight)


def test_columns_of_several_types_are_numbers(client):
    columns = {"a": X[:5000, 0], "whole": np.arange(5000), "yes": X[:5000, 1] > 0, "short": X[:5000, 2].astype("f4")}
    frame = pd.DataFrame(columns).astype({"whole": "Int64"})
    fits = [
        KMeans(3, random_state=0, memory="1GB", engine=engine).fit(rows)
        for engine, rows in (("auto", frame), ("dask", dd.from_pandas(frame, npartitions=3)))
    ]
    check_same(*fits)
    frame.loc[2345, "whole"] = pd.NA
    with pytest.raises(ValueError, match=r"X: row \d+ holds nan in column 1"):
        KMeans(3, memory="4MB", engine="dask").fit(dd.from_pandas(pd.concat([frame] * 9), npartitions=3))


def test_values_that_are_no_numbers_are_named(client):
    bad = X.copy()
    bad[12_345, 1] = np.nan
    with pytest.raises(ValueError, match=r"X: row 12345 holds nan in column 1"):
        DPMeans(memory=MEMORY, engine="dask").fit(da.from_array(bad, chunks=(5000, 3)))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sweeps_on_workers_have_the_bits_of_memory(metric, rows, client):
    """Algorithm 1 of Kulis & Jordan (2012): rows in order, births passed from worker to worker."""
    settings = {"lam": 60.0 if metric == "euclidean" else 0.05, "metric": metric, "search": "sweep", "max_iter": 12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = DPMeans(**settings).fit(X, sample_weight=WEIGHT)
        model = DPMeans(engine="dask", **settings).fit(rows)
        collections = da.from_array(X, chunks=(4000, 3)), da.from_array(WEIGHT, chunks=5000)
        chunked = DPMeans(engine="dask", **settings).fit(collections[0], sample_weight=collections[1])
    assert expected.n_clusters_ > 8
    for other in (model, chunked):
        for name in ("cluster_centers_", "cost_", "cost_history_", "n_iter_", "cluster_ids_", "n_clusters_", "search_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(expected, name), err_msg=name)
    np.testing.assert_array_equal(model.predict(rows), expected.labels_)
    np.testing.assert_array_equal(chunked.labels_.compute(), expected.labels_)
    assert model.engine_.startswith("dask")
    # Spreads are those of a sample.
    np.testing.assert_allclose(model.outlier_score(X[:50]), expected.outlier_score(X[:50]), rtol=0.15)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"lam": "auto"}, "lam='auto' is not allowed; give a number with search='sweep' on workers"),
        ({"lam": 1.0, "order": "random"}, "order='random' is not allowed; give 'given' on workers"),
        ({"lam": 1.0, "noise": 0.1}, "noise=0.1 is not allowed; give 0 with search='sweep' on workers"),
    ],
)
def test_what_a_sweep_on_workers_cannot_do_is_named(parameters, said, rows, client):
    with pytest.raises(ValueError, match=said):
        DPMeans(engine="dask", search="sweep", **parameters).fit(rows)


def test_chunks_that_are_drawn_anew_in_every_pass_are_an_error(client):
    drawn = da.map_blocks(
        lambda block: block + np.random.default_rng().normal(size=block.shape),
        da.zeros((200_000, 2), chunks=(50_000, 2)),
    )
    with pytest.raises(ValueError, match=r"are not those that an earlier pass of this fit read.*persist"):
        KMeans(3, engine="dask", memory="3MB", random_state=0).fit(drawn)
    KMeans(3, engine="dask", memory="3MB", random_state=0).fit(drawn.persist())


def test_columns_of_a_dataframe_in_another_order_are_refused(client):
    frame = dd.from_pandas(pd.DataFrame(X[:5000], columns=["b", "a", "c"]), npartitions=3)
    model = DPMeans(lam=900.0, engine="dask").fit(frame)
    assert list(model.feature_names_in_) == ["b", "a", "c"]
    for other in (frame[["a", "b", "c"]], frame.rename(columns={"c": "d"}), frame[["b", "a"]]):
        for method in (model.predict, model.score):
            with pytest.raises(ValueError, match="feature names should match"):
                method(other)
