"""Files that are not on this machine: the addresses of pyarrow.fs, in a file system in memory and in S3 (moto)."""

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import pytest

import kfree.files.places as places
from kfree import DPMeans, open_rows


def table():
    rng = np.random.default_rng(0)
    return rng.choice([-9.0, 0.0, 9.0], size=(18000, 2)) + rng.normal(size=(18000, 2))


@pytest.fixture
def in_memory(monkeypatch):
    """A file system, the beginning of its addresses, and their options."""
    fsspec = pytest.importorskip("fsspec")
    system = pa.fs.PyFileSystem(pa.fs.FSSpecHandler(fsspec.filesystem("memory", skip_instance_cache=True)))

    def known(address):
        path, options = places._parted(address)
        assert options == "?region=here"
        return system, path.removeprefix("memory://")

    monkeypatch.setattr(places, "_system", known)
    yield system, "memory:///", "?region=here"
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def in_s3(monkeypatch):
    """The same in a server on this machine."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    where = f"127.0.0.1:{server.get_host_and_port()[1]}"
    system = pa.fs.S3FileSystem(endpoint_override=where, scheme="http", region="us-east-1", allow_bucket_creation=True)
    yield system, "s3://", f"?endpoint_override={where}&scheme=http&region=us-east-1"
    server.stop()


@pytest.mark.parametrize("kind", ["in_memory", "in_s3"])
def test_addresses_have_the_rows_of_local_files(kind, request, tmp_path):
    system, begin, options = request.getfixturevalue(kind)
    X = table()
    system.create_dir("bucket")
    for number, rows in enumerate(np.split(X, 3)):
        columns = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
        pa.parquet.write_table(columns, f"bucket/trips/{number}.parquet", filesystem=system)
    with system.open_output_stream("bucket/trips/deeper/all.npy") as file:
        np.save(file, X)
    expected = DPMeans(memory="3MB").fit(X)
    for name in ("trips/*.parquet", "trips", "trips/deeper/all.npy"):
        rows = open_rows(f"{begin}bucket/{name}{options}")
        np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in rows.chunks(0, 18000, 700)]), X)
    model = DPMeans(memory="3MB").fit(rows)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.predict(rows), expected.labels_)
    with pytest.raises(FileNotFoundError, match="no file matches .*trips/gone"):
        open_rows(f"{begin}bucket/trips/gone*{options}")
    with pytest.raises(ValueError, match="is an address; labels are written to local folders"):
        model.predict(rows, out=f"{begin}bucket/labels")
    system.delete_file("bucket/trips/deeper/all.npy")
    with pytest.raises(FileNotFoundError, match="all.npy.* is gone"):
        model.predict(rows)
