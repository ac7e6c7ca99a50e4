"""Files of every format with the same rows."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest


def write(path, table, names):
    """A table of numbers in the format that the name of the file says."""
    columns = pa.table({name: table[:, j] for j, name in enumerate(names)})
    if path.suffix == ".npy":
        np.save(path, table)
    elif path.suffix == ".parquet":
        pa.parquet.write_table(columns, path, row_group_size=700)
    elif path.suffix == ".csv":
        pa.csv.write_csv(columns, path)
    elif path.suffix == ".gz":
        with gzip.open(path, "wb") as file:
            pa.csv.write_csv(columns, file)
    else:
        pa.feather.write_feather(columns, path, chunksize=500, compression="lz4")


@pytest.fixture
def written(tmp_path):
    """Writes rows to one file or several, with rows cut at ``cuts``, and returns the folder."""

    def write_all(table, names, ending=".parquet", cuts=()):
        for number, rows in enumerate(np.split(table, list(cuts))):
            write(tmp_path / f"part{number}{ending}", rows, names)
        return tmp_path

    return write_all
