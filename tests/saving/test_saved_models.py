"""Models in files: every estimator comes back with the same predictions, and a damaged file is refused."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import kfree
from kfree.saving import ModelFileError
from kfree.saving.container import write_members

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)) + rng.choice([-9.0, 0.0, 9.0], size=(60, 1))
NEW = rng.normal(size=(40, 3)) * 9
EDGES = np.array([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)])
NAMED_EDGES = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dot"), ("dot", "eve")]
GROUPS = np.array(["a", "b", "c"])[np.arange(60) % 3]

# name: a fitted model, and what of it must be the same after a journey through a file.
CASES = {
    "dp-means": lambda: (kfree.DPMeans().fit(X), lambda m: [m.predict(NEW), m.predict(NEW, allow_new=True)]),
    "dp-means, cosine": lambda: (kfree.DPMeans(metric="cosine").fit(X), lambda m: [m.predict(NEW), m.score(NEW)]),
    "dp-means, sweep": lambda: (kfree.DPMeans(lam=9.0, search="sweep").fit(X), lambda m: [m.transform(NEW)]),
    "dp-means, sparse": lambda: (kfree.DPMeans(lam=9.0).fit(sp.csr_array(X)), lambda m: [m.transform(NEW)]),
    "k-means": lambda: (kfree.KMeans(3, random_state=0).fit(X), lambda m: [m.predict(NEW), m.score(NEW)]),
    "online": lambda: (
        kfree.OnlineDPMeans(4.0, half_life=50.0).partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_, m.cluster_centers_, m.events_],
    ),
    "online, published": lambda: (
        kfree.OnlineDPMeans(4.0, search="published", half_life=50.0).partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_, m.merge().cluster_centers_, m.events_],
    ),
    "online, reference": lambda: (
        kfree.OnlineDPMeans(4.0, search="published", engine="reference").partial_fit(X),
        lambda m: [m.predict(NEW), m.partial_fit(NEW).joined_ids_],
    ),
    "hdp": lambda: (
        kfree.HardHDP().fit(X, groups=GROUPS),
        lambda m: [m.predict(NEW, groups=GROUPS[:40]), m.predict(NEW, groups=["new"] * 40), m.groups_],
    ),
    "hdp, kernel": lambda: (
        kfree.HardHDP(kernel="rbf").fit(X, groups=GROUPS),
        lambda m: [m.predict(NEW, groups=GROUPS[:40])],
    ),
    "kernel": lambda: (kfree.KernelDPMeans(kernel="rbf").fit(X), lambda m: [m.predict(NEW)]),
    "spectral": lambda: (kfree.SpectralDPMeans().fit(X), lambda m: [m.predict(X), m.certificate_.n_above]),
    "spectral, gamma": lambda: (kfree.SpectralDPMeans(gamma=0.1).fit(X), lambda m: [m.predict(X)]),
    "spectral, neighbours": lambda: (
        kfree.SpectralDPMeans(affinity="nearest_neighbors").fit(X),
        lambda m: [m.predict(X)],
    ),
    "spectral, precomputed": lambda: (
        kfree.SpectralDPMeans(affinity="precomputed", lam=100.0).fit(X @ X.T),
        lambda m: [m.predict(NEW @ X.T)],
    ),
    "spectral, linear": lambda: (
        kfree.SpectralDPMeans(affinity="linear", lam=100.0).fit(X),
        lambda m: [m.predict(NEW)],
    ),
    "graph": lambda: (kfree.GraphDPMeans().fit(EDGES), lambda m: [m.predict_nodes(np.eye(6)), m.path_.lam]),
    "graph, names": lambda: (
        kfree.GraphDPMeans(lam=-0.4, cut="ratio").fit(NAMED_EDGES),
        lambda m: [m.node_names_, m.predict_nodes(np.eye(5)), m.adjacency_.toarray()],
    ),
    "bayesian": lambda: (
        kfree.BayesianKMeans().fit(X),
        lambda m: [m.predict(NEW), m.predict_proba(NEW), m.prior_["B0"]],
    ),
    "bayesian, dirichlet process": lambda: (
        kfree.BayesianKMeans(mixture="dirichlet-process", prior="uninformative").fit(X),
        lambda m: [m.predict(NEW)],
    ),
    "bernoulli": lambda: (kfree.BayesianKMeans("bernoulli").fit(X > 0), lambda m: [m.predict_proba(NEW > 0)]),
    "multinomial": lambda: (kfree.BayesianKMeans("multinomial").fit(np.abs(X).round()), lambda m: [m.weights_]),
    "tree": lambda: (
        kfree.AgglomerativeBayes().fit(X),
        lambda m: [m.linkage_, m.cut(4), m.refine(X).labels, m.free_energy_path_],
    ),
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.kfree"
    kfree.DPMeans(lam=30.0).fit(X).save(path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_a_model_comes_back_with_the_same_bits(name, tmp_path):
    model, answers = CASES[name]()
    model.save(tmp_path / "m.kfree")
    again = kfree.load(tmp_path / "m.kfree")
    assert type(again) is type(model)
    assert again.get_params().keys() == model.get_params().keys()
    for expected, found in zip(answers(model), answers(again), strict=True):
        expected, found = np.asarray(expected), np.asarray(found)
        assert expected.dtype == found.dtype
        assert expected.tolist() == found.tolist()


def test_every_estimator_is_among_the_cases():
    estimators = {name for name in kfree.__all__ if hasattr(getattr(kfree, name), "fit_predict")}
    assert estimators == {type(make()[0]).__name__ for make in CASES.values()}


def test_parameters_column_names_and_generators_are_kept(tmp_path):
    import pandas

    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    random = np.random.RandomState(3)
    model = kfree.DPMeans(lam=np.float64(30), random_state=random, init=X[:2]).fit(frame)
    model.save(tmp_path / "m.kfree")
    again = kfree.load(tmp_path / "m.kfree")
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.init.tolist() == X[:2].tolist()
    assert type(again.lam) is np.float64
    assert again.random_state.randint(1000) == random.randint(1000)


def test_equal_models_give_equal_files_and_old_ones_are_replaced(saved, tmp_path):
    other = tmp_path / "other.kfree"
    other.write_bytes(b"old")
    kfree.load(saved).save(other)
    assert other.read_bytes() == saved.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.kfree", "other.kfree"]


def test_a_model_that_cannot_be_saved_leaves_the_old_file(saved):
    before = saved.read_bytes()
    with pytest.raises(TypeError, match=r"KernelDPMeans\.kernel is a function"):
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


def _written(path, model, **manifest):
    write_members(path, {"model": model, "kfree_version": "9.9", **manifest}, {})
    return path


def test_a_later_format_is_refused_with_its_number(tmp_path):
    with pytest.raises(ModelFileError, match="has format 2, written by kfree 9.9"):
        kfree.load(_written(tmp_path / "m", None, format_version=2))


@pytest.mark.parametrize(
    "model",
    [
        {"object": "os.system", "state": {}},
        {"object": "Frame", "state": {"anchor": {"array": "missing"}}},
        {"object": "Frame"},
        {"unknown": 1},
        {},
        {"object": "Sites", "state": {}},
        {"object": "Stream", "state": {"state": {"tuple": [1, 2]}}},
        [1, 2],
    ],
)
def test_a_file_with_a_true_checksum_and_strange_content_is_refused(model, tmp_path):
    with pytest.raises(ModelFileError, match="damaged|instead of an estimator"):
        kfree.load(_written(tmp_path / "m", model))


def test_a_stream_whose_shapes_do_not_agree_is_refused(tmp_path):
    path = tmp_path / "m"
    kfree.OnlineDPMeans(4.0, search="published").partial_fit(X).save(path)
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("model.json"))
        arrays = {name[7:-4]: np.load(archive.open(name)) for name in archive.namelist() if name.startswith("arrays")}
    stream = manifest["model"]["state"]["_stream_"]["state"]["_stream"]["state"]["state"]["tuple"]
    centres = stream[5]["array"]
    arrays[centres] = arrays[centres][:-1]
    write_members(path, manifest, arrays)
    with pytest.raises(ModelFileError, match="shapes that do not agree"):
        kfree.load(path)


def test_a_model_of_object_arrays_holds_no_pickle(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_members(path, {"model": None}, {"a0": np.array([object()])})
    assert not path.exists()
