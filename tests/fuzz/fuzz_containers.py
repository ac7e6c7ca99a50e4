"""Everything that rows may come in: arrays of any strides, frames, lists, memory maps, sparse formats, broken ones."""

import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

SPARSE = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "bsr_array": sp.bsr_array,
    "dia_array": sp.dia_array,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
}


def strided(rows):
    wide = np.zeros((2 * len(rows), 3 * rows.shape[1]), dtype=rows.dtype)
    wide[::2, ::3] = rows
    return wide[::2, ::3]


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def memory_map(rows):
    if rows.dtype == object:
        return rows
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=rows.dtype, mode="w+", shape=rows.shape)
        mapped[:] = rows
    return mapped


def unaligned(rows):
    if rows.dtype == object:
        return rows
    room = np.zeros(rows.nbytes + 1, dtype=np.uint8)[1:]
    moved = room.view(rows.dtype).reshape(rows.shape)
    moved[:] = rows
    return moved


def swapped(rows):
    return rows.astype(rows.dtype.newbyteorder())


def masked(rows):
    return np.ma.masked_array(rows, mask=np.arange(rows.size).reshape(rows.shape) % 7 == 3)


def mixed_frame(rows):
    """A table as people have them: numbers, texts, categories, dates, gaps, by turns."""
    kinds = [
        lambda column: column,
        lambda column: column.astype(str),
        lambda column: pd.Categorical(np.where(column > 0, "high", "low")),
        lambda column: pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(column)), unit="D"),
        lambda column: [None if i % 3 == 1 else value for i, value in enumerate(column)],
    ]
    columns = _float64(rows).T
    return pd.DataFrame({f"c{i}": kinds[i % len(kinds)](column) for i, column in enumerate(columns)})


def nullable_frame(rows):
    columns = np.ascontiguousarray(_float64(rows).T)
    gaps = (columns == 1.0) | np.isnan(columns)
    arrays = {j: pd.arrays.FloatingArray(*pair) for j, pair in enumerate(zip(columns, gaps, strict=True))}
    return pd.DataFrame(arrays, index=range(len(rows)))


def named_frame(rows):
    return pd.DataFrame(rows, columns=[f"c{i}" for i in range(rows.shape[1])])


def polars_frame(rows):
    return pl.DataFrame(_float64(rows), schema=[f"c{i}" for i in range(rows.shape[1])], orient="row")


def sparse_frame(rows):
    return pd.DataFrame(_float64(rows)).astype(pd.SparseDtype("float64", 0.0))


def lazy_frame(rows):
    return polars_frame(rows).lazy()


def arrow_gaps(rows):
    columns = [[None if value == 1.0 else value for value in column] for column in _float64(rows).T.tolist()]
    return pa.table({f"c{i}": pa.array(column, type=pa.float64()) for i, column in enumerate(columns)})


def dates(rows):
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num(_float64(rows)), -1e9, 1e9).astype("datetime64[s]")


def arrow_table(rows):
    return pa.table({f"c{i}": column for i, column in enumerate(_float64(rows).T)})


def long_index(rows):
    X = sp.csr_array(_float64(rows))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(rows):
    X = sp.csr_array(_float64(rows))
    X.has_canonical_format  # noqa: B018  SciPy remembers the answer, which is then wrong
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[begin:end], X.data[begin:end] = X.indices[begin:end][::-1].copy(), X.data[begin:end][::-1].copy()
    return X


def duplicated(rows):
    X = sp.coo_array(_float64(rows) / 2)
    coords = tuple(np.concatenate([axis, axis]) for axis in X.coords)
    return sp.csr_array(_raw_csr(np.concatenate([X.data, X.data]), *coords, X.shape))


def hides_values(X):
    """Whether some entries of a masked array are masked."""
    return isinstance(X, np.ma.MaskedArray) and bool(np.ma.is_masked(X))


def plain(X):
    """Rows in any container, as a dense array of float64."""
    if sp.issparse(X):
        return X.toarray().astype(np.float64)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    return np.asarray(X, dtype=np.float64)


def explicit_zeros(rows):
    X = sp.csr_array(np.where(_float64(rows) == 0, 1.0, _float64(rows)))
    X.data[np.ravel(_float64(rows)) == 0] = 0.0
    return X


def _raw_csr(data, row, column, shape):
    order = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[order], np.arange(shape[0] + 1))
    X = sp.csr_array(shape)
    X.data, X.indices, X.indptr = data[order], column[order].astype(np.int32), indptr.astype(np.int32)
    return X


def broken(name, place, value):
    def make(rows):
        X = sp.csr_array(np.where(_float64(rows) == 0, 1.0, _float64(rows)))
        getattr(X, name)[place] = value
        return X

    return make


def _float64(rows):
    with np.errstate(all="ignore"):
        return rows.astype(np.float64)


def sparse(kind):
    def make(rows):
        plain = rows if rows.dtype.name in ("float64", "float32", "bool", "int8", "int64", "uint64") else _float64(rows)
        return kind(plain)

    return make


BROKEN = {
    "CSR, columns beyond": broken("indices", slice(None), 10**6),
    "CSR, a column below": broken("indices", -1, -3),
    "CSR, indptr beyond": broken("indptr", -1, 10**7),
    "CSR, indptr below": broken("indptr", 0, -5),
}
CONTAINERS = {
    "array": lambda rows: rows,
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda rows: rows[::-1, ::-1],
    "read-only": read_only,
    "memory map": memory_map,
    "unaligned": unaligned,
    "swapped bytes": swapped,
    "list": lambda rows: rows.tolist(),
    "masked": masked,
    "masked, nothing hidden": lambda rows: np.ma.masked_array(rows),
    "frame": pd.DataFrame,
    "named frame": named_frame,
    "nullable frame": nullable_frame,
    "mixed frame": mixed_frame,
    "polars": polars_frame,
    "arrow": arrow_table,
    "arrow, gaps": arrow_gaps,
    "sparse frame": sparse_frame,
    "lazy polars": lazy_frame,
    "dates": dates,
    **{name: sparse(kind) for name, kind in SPARSE.items()},
    "CSR, 64-bit": long_index,
    "CSR, unsorted": unsorted,
    "CSR, duplicates": duplicated,
    "CSR, zeros": explicit_zeros,
    "one dimension": np.ravel,
    **BROKEN,
}
