"""Frames of pandas, polars and pyarrow: their columns by name, and those that hold no numbers."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from kfree.core.exact import rounded_number
from kfree.core.printing import quoted
from kfree.validation.parameters import shown


def column_names(X):
    """The names of the columns of a frame, or None for anything else."""
    require_computed(X)  # a frame that is not computed yet would read its file to name its columns
    if hasattr(X, "schema") and hasattr(X, "column"):  # pyarrow, whose ``columns`` are the values
        return list(X.schema.names)
    return None if getattr(X, "columns", None) is None else list(X.columns)


def printed_names(X, estimator):
    """The names of the columns of X as texts, else those of the columns of ``fit``, or None."""
    names = column_names(X)
    return getattr(estimator, "feature_names_in_", None) if names is None else [str(name) for name in names]


def note_columns(estimator: Any, X: Any) -> None:
    """Publish how many columns X has, and their names if they are texts."""
    if isinstance(X, np.ndarray) and X.ndim == 2:  # has no names: scikit-learn takes a while to find that out
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    else:
        validate_data(estimator, _with_names(X), skip_check_array=True)


def require_names(X):
    """Raise if X has names of columns that could not be published; no fitted attribute is changed yet."""
    note_columns(BaseEstimator(), X)


def require_columns_of_fit(estimator: Any, X: Any) -> None:
    """Raise unless X has the columns of the fit, by number and by name; warn if only one of both has names."""
    validate_data(estimator, _with_names(X), skip_check_array=True, reset=False)


def in_chunks(X):
    """A record batch of pyarrow as a table, whose columns have other methods than its own; X as it is otherwise."""
    if type(X).__name__ != "RecordBatch" or type(X).__module__.split(".")[0] != "pyarrow":
        return X
    import pyarrow as pa

    return pa.Table.from_batches([X])


def _with_names(X):
    """X as scikit-learn knows the names of its columns: a Dask dataframe as a frame without its rows."""
    return X._meta if hasattr(X, "__dask_graph__") and hasattr(X, "to_dask_array") else in_chunks(X)


def require_computed(X):
    """Raise if X is a frame of polars whose rows are not computed yet."""
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise TypeError("X is a LazyFrame, whose rows are not computed yet; give X.collect().")


def require_known_frame(X):
    """Raise if X has columns by name and is a frame of a library that tables are not read from."""
    if column_names(X) is None or np.ndim(X) != 2:
        return
    ways = {"compute": "X.compute()", "to_pandas": "X.to_pandas()", "toPandas": "X.toPandas()"}
    way = next((call for method, call in ways.items() if hasattr(X, method)), "it as a frame of pandas")
    kind = f"{type(X).__module__.split('.')[0]}.{type(X).__name__}"
    raise TypeError(f"a {kind} is no frame of pandas, polars or pyarrow; give {way}.")


def require_distinct_names(X, name):
    """Raise if two columns of a frame have the same name, which libraries disagree about."""
    places: dict[object, list[str]] = {}
    for place, column in enumerate(column_names(X) or []):
        places.setdefault(column, []).append(str(place))
    shared = [f"{column!r} (columns {', '.join(at)})" for column, at in places.items() if len(at) > 1]
    if shared:
        raise ValueError(
            f"{name} has {len(shared)} name(s) that several columns share: {', '.join(shared[:5])}"
            f"{', …' * (len(shared) > 5)}. Rename or drop columns, so that each has a name of its own."
        )


def require_table_of_numbers(X):
    """Raise if X is a frame without rows at hand or without columns, has equal names, or holds dates."""
    require_computed(X)
    require_distinct_names(X, "X")
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(
            f"X holds dates or durations ({X.dtype}), not numbers; convert them first, for example to days."
        )
    names = column_names(X)
    if names is None:
        return
    if not names:
        raise ValueError("Found a frame with 0 feature(s) as X while a minimum of 1 is required.")
    dated = [name for name, is_date in zip(names, _are_dates(X), strict=True) if is_date]
    if dated:
        raise ValueError(
            f"X holds dates or durations in {_listed(dated)}; convert them to numbers first, for example to days, or "
            "encode X with kfree.TableEncoder()."
        )


def whole_numbers(X, j):
    """The whole numbers of a column of a frame that has a type for them, without missing ones; None of other types."""
    if hasattr(X, "column"):
        import pyarrow as pa

        column = X.column(j)
        return column.drop_null().to_numpy() if pa.types.is_integer(column.type) else None
    if hasattr(X, "to_series"):
        series = X.to_series(j)
        is_whole = series.dtype.is_integer() and "128" not in str(series.dtype)  # NumPy has no numbers of 128 bits
        return series.drop_nulls().to_numpy() if is_whole else None
    series = X.iloc[:, j] if hasattr(X, "iloc") else X[X.columns[j]]
    kind = _kind(series.dtype)
    return series.dropna().to_numpy(dtype=np.dtype(f"{kind}8")) if kind in "iu" and hasattr(series, "dropna") else None


def require_no_rounding(X):
    """Raise if float64 would round whole numbers of X."""
    names = column_names(X)
    if names is not None:
        columns = {shown(name): whole_numbers(X, j) for j, name in enumerate(names)}
    else:
        columns = {"": _entries(X) if hasattr(X, "tocsr") else X}
    for name, values in columns.items():
        found = rounded_number(values) if isinstance(values, np.ndarray) else None
        if found is not None:
            where = f" in column {name}" if name else ""
            raise ValueError(
                f"X holds whole numbers that float64 rounds, such as {found}{where}. Leave out columns that name rows, "
                "or convert X with X.astype(float) if rounding does no harm."
            )


def _entries(X):
    """The entries of a sparse matrix of whole numbers; None of others."""
    if X.dtype.kind not in "iu":
        return None
    if X.format == "dok":
        return np.fromiter(X.values(), X.dtype)
    return np.fromiter((value for row in X.data for value in row), X.dtype) if X.format == "lil" else X.data


def columns_without_numbers(X):
    """ " in 2 column(s): 'a', 'b'": which columns do not convert to numbers; nothing if it cannot be said."""
    names = column_names(X)
    if names is None:
        array = np.asarray(X, dtype=object)
        columns = list(array.T) if array.ndim == 2 else []
        names = list(range(len(columns)))
    else:
        columns = [_values(X, j) for j in range(len(names))]
    bad = [name for name, column in zip(names, columns, strict=True) if not _converts(column)]
    return f" in {_listed(bad)}" if bad else ""


def _listed(names):
    return f"{len(names)} column(s): {quoted(names, most=5)}"


def bad_values_error(n_bad, names=None):
    """The error for rows with so many NaN or infinite values in each column."""
    columns = np.flatnonzero(n_bad)
    first = columns[0]
    named = "" if names is None else f" ({shown(names[first])})"
    return ValueError(
        f"Input X contains {n_bad.sum()} NaN or inf value(s) in {len(columns)} column(s); the first is column "
        f"{first}{named} with {n_bad[first]}. Remove or impute them, for example with sklearn.impute.SimpleImputer."
    )


def _are_dates(X):
    if hasattr(X, "column"):
        import pyarrow as pa

        return [pa.types.is_temporal(field.type) for field in X.schema]
    types = list(X.dtypes)
    return [dtype.is_temporal() if hasattr(dtype, "is_temporal") else _kind(dtype) in "mM" for dtype in types]


def _kind(dtype):
    return getattr(dtype, "kind", "O")


def _values(X, j):
    if hasattr(X, "column"):
        return np.array(X.column(j).to_pylist(), dtype=object)
    column = X.iloc[:, j] if hasattr(X, "iloc") else X[X.columns[j]]
    return column.to_numpy() if hasattr(column, "to_numpy") else column


def _converts(column):
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
