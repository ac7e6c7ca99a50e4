"""Models in files: every estimator comes back with the same predictions, and a damaged file is refused."""

import datetime
import hashlib
import io
import os
import re
import signal
import time
import zipfile

import numpy as np
import pandas
import pytest

import kfree
from kfree.saving import ModelFileError, container
from kfree.saving.container import decoded, write_members
from kfree.saving.records import fields_of, public
from tests.saving.models import CASES, NEW, TABLE, X, encoded, same

# What a fitted estimator has and a file has not: a note of the rows of the fit, and what is derived from the rest.
NOT_SAVED = {"_rows_of_fit_", "_clusters_"}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.kfree"
    kfree.DPMeans(lam=30.0).fit(X).save(path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_a_model_comes_back_with_the_same_bits(name, tmp_path):
    fit, answers = CASES[name]
    model = fit()
    model.save(tmp_path / "m.kfree")
    again = kfree.load(tmp_path / "m.kfree")
    assert type(again) is type(model)
    if name != "clustering":  # which has no parameters
        assert again.get_params().keys() == model.get_params().keys()
    fitted = {attribute for attribute in vars(model) if attribute.endswith("_")}
    assert fitted - NOT_SAVED <= set(fields_of(type(model))) & set(vars(again))
    again.save(tmp_path / "again.kfree")
    assert (tmp_path / "again.kfree").read_bytes() == (tmp_path / "m.kfree").read_bytes()
    for expected, found in zip(answers(model), answers(again), strict=True):
        assert same(expected, found)


def test_every_estimator_is_among_the_cases():
    estimators = {name for name in kfree.__all__ if hasattr(getattr(kfree, name), "save")}
    assert estimators == {type(fit()).__name__ for fit, _ in CASES.values()}


def names_in(packed):
    """All keys of a document and all public names of alternatives."""
    if isinstance(packed, dict):
        yield from packed
        yield from (str(packed[key]) for key in ("kind", "estimator") if key in packed)
    for item in packed.values() if isinstance(packed, dict) else packed if isinstance(packed, list) else ():
        yield from names_in(item)


@pytest.mark.parametrize("name", CASES)
def test_no_file_names_what_is_private(name, tmp_path):
    CASES[name][0]().save(tmp_path / "m.kfree")
    document, _ = decoded((tmp_path / "m.kfree").read_bytes())
    keys = ("parameters", "fitted") if name != "clustering" else map(public, fields_of(kfree.Clustering))
    found = set(names_in({key: document[key] for key in keys}))
    assert not [one for one in found if one.strip("_") != one or re.match("[A-Z][a-z]", one) or ":" in one]


def test_parameters_and_column_names_are_kept(tmp_path):
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = kfree.DPMeans(lam=np.float64(30), init=X[:2], checkpoint=tmp_path / "c").set_params(checkpoint=None)
    model.fit(frame).save(tmp_path / "m.kfree")
    again = kfree.load(tmp_path / "m.kfree")
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.init.tolist() == X[:2].tolist()
    assert type(again.lam) is np.float64


def test_a_generator_becomes_a_seed(tmp_path):
    random = np.random.RandomState(3)
    model = kfree.KMeans(3, random_state=random).fit(X)
    before = random.get_state()[1].tolist(), random.get_state()[2]
    model.save(tmp_path / "m.kfree").save(tmp_path / "again.kfree")
    assert (random.get_state()[1].tolist(), random.get_state()[2]) == before  # saving draws from a copy
    again = kfree.load(tmp_path / "m.kfree")
    assert again.random_state == kfree.load(tmp_path / "again.kfree").random_state == random.randint(2**31)
    assert again.fit(X).labels_.tolist() == again.fit(X).labels_.tolist()


def test_a_model_keeps_what_set_output_asked_for(tmp_path):
    encoded().set_output(transform="pandas").save(tmp_path / "m.kfree")
    assert isinstance(kfree.load(tmp_path / "m.kfree").transform(TABLE), pandas.DataFrame)


def test_labels_on_a_device_are_saved(tmp_path):
    class Tensor:
        def __init__(self, values):
            self.values = values

        def cpu(self):
            return self

        def numpy(self):
            return self.values

    model = kfree.DPMeans(lam=30.0).fit(X)
    labels, model.labels_ = model.labels_, Tensor(model.labels_)
    model.save(tmp_path / "m.kfree")
    assert kfree.load(tmp_path / "m.kfree").labels_.tolist() == labels.tolist()


def test_nodes_may_be_named_by_tuples(tmp_path):
    import networkx

    model = kfree.GraphDPMeans(lam=-0.4).fit(networkx.grid_2d_graph(3, 3))
    model.save(tmp_path / "m.kfree")
    assert kfree.load(tmp_path / "m.kfree").node_names_.tolist() == model.node_names_.tolist() == [*np.ndindex(3, 3)]


def test_a_class_of_somebody_else_is_refused(saved):
    class Mine(kfree.DPMeans):
        pass

    before = saved.read_bytes()
    with pytest.raises(TypeError, match="a Mine cannot be saved: it is no estimator of kfree itself"):
        Mine(lam=30.0).fit(X).save(saved)
    assert saved.read_bytes() == before


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "kfree.saving.container._digest", "zipfile.ZipFile.open"])
def test_ctrl_c_while_a_model_is_saved_leaves_the_old_file(step, saved, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(9)

    before, model = saved.read_bytes(), kfree.DPMeans(lam=9.0).fit(X)
    with monkeypatch.context() as patched:
        patched.setattr(step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [saved.name]
    assert kfree.load(model.save(saved) and saved).lam_ == 9.0


def test_equal_models_give_equal_files_and_old_ones_are_replaced(saved, tmp_path):
    other = tmp_path / "other.kfree"
    other.write_bytes(b"old")
    kfree.load(saved).save(other)
    assert other.read_bytes() == saved.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.kfree", "other.kfree"]


def test_a_model_that_cannot_be_saved_leaves_the_old_file(saved):
    before = saved.read_bytes()
    with pytest.raises(TypeError, match=r"KernelDPMeans\.\S*kernel\S* is a function"):
        kfree.KernelDPMeans(kernel=lambda a, b: a @ b, lam=9.0).fit(X).save(saved)
    assert saved.read_bytes() == before


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        kfree.DPMeans().save(tmp_path / "m.kfree")


def test_every_cut_is_refused(saved):
    whole = saved.read_bytes()
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match="empty|no kfree model|cut short|checksum"):
            kfree.load(saved)
    saved.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match="cut short"):
        kfree.load(saved)


def test_every_changed_byte_is_refused(saved):
    whole = saved.read_bytes()
    for place in [*range(0, len(whole), 53), len(whole) - 1]:
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ModelFileError, match="no kfree model|cut short|checksum"):
            kfree.load(saved)
    saved.write_bytes(whole + b"more")
    with pytest.raises(ModelFileError, match="checksum"):
        kfree.load(saved)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\x80\x05pickle", b"PK\x03\x04"])
def test_what_is_no_model_is_refused(content, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="save"):
        kfree.load(path) if content != b"PK\x03\x04" else _zip_of_something_else(path)


def _zip_of_something_else(path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("readme", "text")
        archive.comment = b"0" * 64
    body = content.getvalue()[:-64]
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    return kfree.load(path)


def rewritten(path, change):
    """The file with a changed document and arrays, and a right checksum."""
    document, arrays = decoded(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        names = [name.removeprefix("arrays/").removesuffix(".npy") for name in archive.namelist() if ".npy" in name]
    arrays = {name: arrays(name) for name in names}
    change(document, arrays)
    write_members(path, document, arrays)
    return path


@pytest.mark.parametrize(
    ("version", "remedy"),
    [
        (container.READ_VERSIONS[0] - 1, "Fit the model again"),
        (container.FORMAT_VERSION + 1, "Install a newer kfree"),
        (None, "Fit"),
        (str(container.FORMAT_VERSION), "Fit"),
    ],
)
def test_other_formats_are_refused_with_both_versions(version, remedy, saved, monkeypatch):
    rewritten(saved, lambda document, _: document.update(format_version=version, kfree_version="9.9"))
    monkeypatch.setattr("kfree.__version__", "1.2")
    read = ", ".join(map(str, container.READ_VERSIONS))
    told = rf"has format {version!r}, written by kfree 9\.9; kfree 1\.2 reads format {read}\. {remedy}"
    with pytest.raises(ModelFileError, match=told):
        kfree.load(saved)


def test_the_format_that_is_written_is_read():
    assert container.FORMAT_VERSION in container.READ_VERSIONS


def changed(*keys, to):
    def change(document, arrays):
        inner = document
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = to

    return change


def changed_array(*keys, by):
    def change(document, arrays):
        inner = document["fitted"]
        for key in keys:
            inner = inner[key]
        arrays[inner["array"]] = by(arrays[inner["array"]])

    return change


DAMAGE = {
    "another class": (changed("estimator", to="os.system"), "is no estimator of kfree"),
    "a function": (changed("estimator", to="open_rows"), "is no estimator of kfree"),
    "a number": (changed("estimator", to=7), "no estimator"),
    "no fields": (changed("fitted", to={}), "has no n_features_in"),
    "a list of fields": (changed("fitted", to=[1, 2]), "is a list instead of a dict"),
    "a field more": (changed("fitted", "code", to=1), "does not know: code"),
    "a parameter more": (changed("parameters", "code", to=1), "DPMeans has no parameter code"),
    "an unknown tag": (changed("parameters", "lam", to={"object": "os.system"}), "has the tag 'object'"),
    "an unknown kind": (
        changed("fitted", "model", "objective", "kind", to="os.system"),
        "is not among euclidean, cosine",
    ),
    "no kind": (changed("fitted", "model", "objective", to={"lam": 1.0}), "the kind None"),
    "a missing array": (changed("fitted", "labels", to={"array": "a999"}), "no item named"),
    "a text for a number": (changed("fitted", "lam", to="high"), "is a str instead of a float"),
    "a number that is too large": (changed("fitted", "lam", to=10**400), "OverflowError"),
    "a count that is too large": (changed("fitted", "n_iter", to=2**62), "is a int"),
    "a count below zero": (changed("fitted", "n_iter", to=-1), "below 0"),
    "a penalty that is no number": (changed("fitted", "lam", to={"float": "nan"}), "holds NaN or inf"),
    "too many clusters": (changed("fitted", "n_clusters", to=9), "has 9|has size 3|where .* has"),
    "labels beyond the clusters": (changed_array("labels", by=lambda a: a + 5), "goes from 5 to"),
    "labels of another type": (changed_array("labels", by=lambda a: a.astype(np.int64)), "has the type int64"),
    "an order that is none": (changed_array("model", "order", by=np.zeros_like), "is no order"),
    "a centre less": (changed_array("model", "centres", by=lambda a: a[:-1]), "has size"),
    "a column less": (changed_array("model", "centres", by=lambda a: a[:, :-1].copy()), "has size"),
    "centres that are no numbers": (changed_array("model", "centres", by=lambda a: a * np.nan), "holds NaN or inf"),
    "other bytes": (changed_array("model", "centres", by=lambda a: a.astype(">f8")), "has the type >f8"),
    "no dimensions": (changed_array("model", "frame", "anchor", by=lambda a: a[0]), "dimension"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_file_with_a_true_checksum_and_strange_content_is_refused(name, saved):
    change, told = DAMAGE[name]
    with pytest.raises(ModelFileError, match=rf"is a damaged kfree model .*({told})"):
        kfree.load(rewritten(saved, change))


def test_the_state_of_a_generator_is_not_read(saved):
    """As it was once saved; a position beyond the key made the next fit read beyond the array."""
    state = {"tuple": ["MT19937", {"array": "key"}, 10**9, 0, 0.0]}

    def change(document, arrays):
        document["parameters"]["random_state"] = {"random_state": state}
        arrays["key"] = np.zeros(624, dtype=np.uint32)

    with pytest.raises(ModelFileError, match="has the tag 'random_state'"):
        kfree.load(rewritten(saved, change))


def npy_header(shape, descr="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize("shape", [(2**50,), (2**62, 8), (-1,), (2**70,)])
def test_an_array_that_claims_to_be_larger_than_its_file(shape, saved):
    whole = io.BytesIO()
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(whole, "w") as new:
        new.comment = b"0" * 64
        for name in old.namelist():
            new.writestr(name, npy_header(shape) + b"12345678" if name == "arrays/a1.npy" else old.read(name))
    body = whole.getvalue()[:-64]
    saved.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    with pytest.raises(ModelFileError, match="is a damaged kfree model"):
        kfree.load(saved)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("field", ["centres", "ids", "weights", "last", "low"])
def test_a_stream_whose_shapes_do_not_agree_is_refused(field, engine, tmp_path):
    path = tmp_path / "m"
    kfree.OnlineDPMeans(lam=4.0, search="published", engine=engine).partial_fit(X).save(path)
    with pytest.raises(ModelFileError, match="must have shape|has size"):
        kfree.load(rewritten(path, changed_array("stream", field, by=lambda a: a[:-1])))


def test_a_model_does_not_change_its_kind_with_a_parameter(tmp_path):
    model = kfree.BayesianKMeans("bernoulli").fit(X > 0)
    expected = model.predict(NEW > 0)
    assert model.set_params(model="gaussian").predict(NEW > 0).tolist() == expected.tolist()


def test_a_model_of_object_arrays_holds_no_pickle(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_members(path, {"model": None}, {"a0": np.array([object()])})
    assert not path.exists()


def test_encoders_of_durations_and_times_of_day_are_saved(tmp_path):
    times = [datetime.time(j % 24, j) for j in range(30)]
    frame = pandas.DataFrame({"wait": pandas.to_timedelta(np.arange(30) ** 2, unit="s"), "at": times})
    encoder = kfree.TableEncoder().fit(frame).save(tmp_path / "e.kfree")
    loaded = kfree.load(tmp_path / "e.kfree")
    pandas.testing.assert_frame_equal(loaded.transform(frame), encoder.transform(frame))
    assert loaded.inverse_transform(encoder.transform(frame))["at"].tolist() == times


def test_levels_that_a_file_cannot_hold_are_refused_when_it_is_written(tmp_path):
    frame = pandas.DataFrame({"pair": pandas.Categorical([("a", j % 3) for j in range(30)])})
    with pytest.raises(TypeError, match=r"levels\[0\] is a tuple, which cannot be saved"):
        kfree.TableEncoder().fit(frame).save(tmp_path / "e.kfree")
    assert not (tmp_path / "e.kfree").exists()
