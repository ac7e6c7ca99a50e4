"""Tensors as rows of ``engine="gpu"``; without a GPU, kernels are interpreted on few rows (TRITON_INTERPRET=1)."""

import os
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kfree import DPMeans, HardHDP, KMeans, NestedDPMeans
from kfree.estimators import _opening

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402  after it is known to be there

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
runs = pytest.mark.skipif(not IS_INTERPRETED and not torch.cuda.is_available(), reason="there is no GPU")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array with ndim:DeprecationWarning")


@pytest.fixture
def X(rng):
    return (np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 12, axis=0) + rng.normal(size=(36, 2))).astype(np.float32)


DTYPES = [torch.float16] if IS_INTERPRETED else [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@runs
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_is_clustered_as_an_array_is(X, dtype):
    tensor = torch.from_numpy(X).to(dtype)
    model, other = (
        KMeans(3, engine="gpu", random_state=0).fit(tensor),
        KMeans(3, random_state=0).fit(tensor.float().numpy()),
    )
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(model.predict(tensor), other.labels_)
    assert model.inertia_ == other.inertia_


@runs
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64])
def test_centres_and_weights_may_be_tensors_too(X, dtype):
    tensor = torch.from_numpy(X) if IS_INTERPRETED else torch.from_numpy(X).cuda()
    init, weight = torch.tensor([[0, 1], [9, 0], [1, 9]], dtype=dtype), torch.arange(36).to(dtype)
    model = KMeans(3, init=init.to(tensor.device), engine="gpu").fit(tensor, sample_weight=weight.to(tensor.device))
    other = KMeans(3, init=init.double().numpy()).fit(X, sample_weight=weight.double().numpy())
    np.testing.assert_array_equal(model.cluster_centers_, other.cluster_centers_)


@needs_gpu
def test_labels_are_where_the_rows_are(X):
    tensor = torch.from_numpy(X).cuda()
    model, other = DPMeans(lam=20.0, engine="gpu").fit(tensor), DPMeans(lam=20.0).fit(X)
    assert model.labels_.is_cuda
    assert model.predict(tensor).is_cuda
    assert isinstance(model.cluster_centers_, np.ndarray)
    np.testing.assert_array_equal(model.labels_.cpu(), other.labels_)
    for name in ("transform", "outlier_score", "confidence"):
        found = getattr(model, name)(tensor)
        assert found.is_cuda
        np.testing.assert_array_equal(found.cpu(), getattr(other, name)(X))
    far = torch.cat([tensor, tensor[:2] + 1e3])
    np.testing.assert_array_equal(model.predict(far, allow_new=True).cpu(), other.predict(far.cpu(), allow_new=True))
    at_centres = model.transform(torch.from_numpy(model.cluster_centers_).cuda())
    np.testing.assert_array_equal(at_centres.diagonal().cpu(), 0.0)
    with pytest.raises(TypeError, match='X is on a GPU.*engine="gpu", or copy X to memory'):
        DPMeans(lam=20.0).fit(tensor)


@needs_gpu
def test_levels_are_where_the_rows_are(X):
    tensor = torch.from_numpy(X).cuda()
    model, other = NestedDPMeans((3, 6), engine="gpu").fit(tensor), NestedDPMeans((3, 6)).fit(X)
    for level, labels in enumerate(other.level_labels_):
        for found in (model.level_labels_[level], model.predict(tensor, level=level)):
            assert found.is_cuda
            np.testing.assert_array_equal(found.cpu(), labels)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [5, 40])
def test_tensors_of_any_layout_on_any_stream(rng, dtype, d):
    blobs = 6.0 * rng.normal(size=(9, d))[rng.integers(9, size=30_000)] + rng.normal(size=(30_000, d))
    tensor = torch.from_numpy(blobs).to("cuda", dtype)
    given = (tensor if dtype == torch.float64 else tensor.float()).cpu().numpy()
    other = KMeans(9, random_state=0).fit(given)
    layouts = {"by column": tensor.T.contiguous().T, "every other": tensor.repeat_interleave(2, dim=0)[::2]}
    stream = torch.cuda.Stream()
    for name, rows in layouts.items():
        with torch.cuda.stream(stream):
            stream.wait_stream(torch.cuda.default_stream())
            model = KMeans(9, engine="gpu", random_state=0).fit(rows)
            labels = model.predict(rows).cpu()
        np.testing.assert_array_equal(labels, other.labels_, err_msg=name)
        np.testing.assert_array_equal(model.labels_.cpu(), other.labels_, err_msg=name)
        assert model.inertia_ == other.inertia_


@needs_gpu
def test_nothing_as_long_as_the_rows_leaves_the_device():
    X = torch.rand((2_000_000, 4), device="cuda")
    model = KMeans(20, engine="gpu", init="random", n_init=1, max_iter=5, random_state=0)
    for call in ("fit", "predict", "fit_predict", "transform", "confidence", "outlier_score"):
        with Crossing() as crossing, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            getattr(model, call)(X)
        # docs/gpu.md says so: less than a byte a row.
        assert crossing.n_bytes < len(X), call


class Crossing(TorchDispatchMode):
    """Counts the bytes that are copied from the device to the host."""

    n_bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        name = function.__name__
        if name.startswith("_to_copy"):
            self._count(args[0], found)
        elif name.startswith("copy_"):
            self._count(args[1], args[0])
        elif name.startswith("_local_scalar_dense"):
            self.n_bytes += args[0].nbytes
        return found

    def _count(self, source, target):
        if source.is_cuda and not target.is_cuda:
            self.n_bytes += source.nbytes


@needs_gpu
@pytest.mark.parametrize("writeable", [True, False])
def test_rows_are_copied_by_parts(writeable, rng):
    from kfree.engines.gpu.upload import to_device

    X = rng.normal(size=(700_001, 33))[:, ::2]
    X.flags.writeable = writeable
    np.testing.assert_array_equal(to_device(X, torch.device("cuda")).cpu(), X)


@needs_gpu
def test_too_little_memory_says_how_much_is_needed(X, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10, 10))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 0)
    monkeypatch.setattr("kfree.engines.gpu.device.LEAST_ASKED", 0)
    with pytest.raises(MemoryError, match=r'needs about .* GB on .* stream the rows .* memory="1GB"'):
        DPMeans(lam=20.0, engine="gpu").fit(X)


@needs_gpu
def test_automatic_fits_agree_and_repeat(rng):
    centres = 8.0 * rng.normal(size=(7, 4))
    X = (centres[rng.integers(7, size=30_000)] + rng.normal(size=(30_000, 4))).astype(np.float32)
    expected = DPMeans(random_state=0).fit(X)
    for _ in range(10):
        model = DPMeans(engine="gpu", random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
        assert (model.cost_, model.lam_) == (expected.cost_, expected.lam_)


@needs_gpu
@pytest.mark.parametrize("settings", [{}, {"lam": 5_000.0}])
def test_large_tensors_are_searched_by_a_summary_where_they_are(rng, settings, monkeypatch):
    monkeypatch.setattr(_opening, "ROWS_AT_ONCE", 50_000)
    X = (rng.normal(size=(60_000, 3)) + 9.0 * rng.integers(0, 3, size=(60_000, 1))).astype(np.float32)
    expected = DPMeans(**settings).fit(X)
    for rows in (X, torch.from_numpy(X).cuda()):
        model = DPMeans(**settings, engine="gpu").fit(rows)
        assert "streamed" not in model.engine_
        assert model.n_passes_ == expected.n_passes_ > 1
        assert getattr(model.labels_, "is_cuda", False) == getattr(rows, "is_cuda", False)
        np.testing.assert_array_equal(torch.as_tensor(model.labels_).cpu(), expected.labels_)
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
        assert model.cost_ == expected.cost_


@needs_gpu
def test_rows_are_streamed_through_the_device(rng):
    X = rng.normal(size=(120_000, 3)).astype(np.float32) + 9.0 * rng.integers(0, 3, size=(120_000, 1))
    models = [DPMeans(lam=5_000.0, engine=engine, memory="8MB", random_state=0).fit(X) for engine in ("gpu", "native")]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    assert models[0].cost_ == models[1].cost_


@needs_gpu
def test_an_interrupted_fit_gives_memory_back(X, monkeypatch):
    from kfree.engines.gpu.cluster_sums import ClusterSums

    def interrupted(*_):
        raise KeyboardInterrupt

    before = torch.cuda.memory_allocated()
    with monkeypatch.context() as patch:
        patch.setattr(ClusterSums, "of_pass", interrupted)
        with pytest.raises(KeyboardInterrupt):
            DPMeans(lam=20.0, engine="gpu").fit(X)
    assert torch.cuda.memory_allocated() == before


@runs
def test_tensors_that_cannot_be_clustered(X):
    model = DPMeans(lam=20.0, engine="gpu")
    with pytest.raises(ValueError, match=r"needs a gradient.*X\.detach\(\)"):
        model.fit(torch.from_numpy(X).requires_grad_())
    with pytest.raises(ValueError, match=r"shape \(36,\)"):
        model.fit(torch.from_numpy(X[:, 0].copy()))
    with pytest.raises(TypeError, match="tensor of int64; give one of float32"):
        model.fit(torch.ones((3, 2), dtype=torch.int64))
    spoiled = X.copy()
    spoiled[3, 1] = np.nan
    with pytest.raises(ValueError, match="1 NaN or inf value.*column 1 with 1"):
        model.fit(torch.from_numpy(spoiled))
    assert not hasattr(model, "labels_")


def test_engines_are_named_by_those_who_have_them():
    with pytest.raises(ValueError, match="engine='gpu' is not allowed"):
        HardHDP(lam_local=1.0, lam_global=1.0, engine="gpu").fit(np.zeros((3, 1)), groups=[0, 0, 1])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_without_a_gpu_the_error_says_so(X, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(RuntimeError, match=r'engine="gpu" needs a CUDA device and torch .* finds none'):
        DPMeans(lam=20.0, engine="gpu").fit(X)
