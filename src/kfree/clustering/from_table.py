"""cluster: a table of any kind is read, prepared, clustered and explained. The command line goes the same way."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from kfree.clustering.columns import ColumnOptions, prepare_of
from kfree.clustering.fitting import FitOptions, clustered
from kfree.clustering.frames import is_frame
from kfree.clustering.result import Clustering, as_rows
from kfree.clustering.rows import TableRows, prepared
from kfree.clustering.tables import is_file, opened, require_about_files
from kfree.core.sphere import require_latitude_first
from kfree.core.warning import RewordedWarnings
from kfree.files.dialect import TextOptions
from kfree.validation.frames import require_known_frame
from kfree.validation.parameters import require, require_choice


def cluster(
    table: Any,
    *,
    model: str = "auto",
    k: int | None = None,
    lam: float | None = None,
    metric: str = "euclidean",
    geo: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    id: str | None = None,
    weight: str | None = None,
    prepare: str | None = None,
    categories: Sequence[str] | None = None,
    fold: bool = False,
    weights: Mapping[str, float] | None = None,
    missing: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    thousands: str | None = None,
    na: Sequence[str] = (),
    memory: int | str | None = None,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
    random_state: int = 0,
) -> Clustering:
    """Cluster the rows of a table, and keep together what explains the result.

    Parameters
    ----------
    table : data frame of pandas or polars, table of pyarrow, array, sparse matrix, or path
        Columns with names are prepared by :class:`kfree.TableEncoder`. Arrays and .npy files are taken as they are. A
        path is that of a file or folder, or a pattern such as ``"trips/*.parquet"``; several are given as a list.
    model : {"auto", "round"}, default="auto"
        ``"auto"`` fits :class:`kfree.AutoCluster`, which chooses the number of clusters and their shape. ``"round"``
        fits :class:`kfree.DPMeans`. So does ``"auto"`` with ``k``, ``lam`` or ``geo``, and where rows do not fit in
        ``memory``.
    k : int or None, default=None
        The number of clusters. ``certainty`` says what the data suggest.
    lam : float or None, default=None
        The penalty of a cluster, in squared distance, in place of a number of clusters; see :class:`kfree.DPMeans`.
    metric : {"euclidean", "cosine"}, default="euclidean"
    geo : pair of str or None, default=None
        Columns of latitude and longitude in degrees, which alone are clustered, on the globe; ``lam`` is in km².
    columns : list of str or None, default=None
        The columns to use; None takes all but columns of text, of names of rows and of their numbers, which ``remarks``
        names.
    drop : list of str, default=()
        Columns to leave out.
    id : str or None, default=None
        The column that names rows. It is not clustered.
    weight : str or None, default=None
        The column that says how many times a row counts. It is not clustered.
    prepare : {"encode", "standardize", "none"} or None, default=None
        ``"encode"``: all columns, by :class:`kfree.TableEncoder`. ``"standardize"``: columns of numbers, scaled to mean
        0 and deviation 1. ``"none"``: columns of numbers as they are. None is ``"none"`` for columns without names,
        those of an array or .npy file, and with ``metric="cosine"``, else ``"encode"``.
    categories, fold, weights
        As in :class:`kfree.TableEncoder`.
    missing : {"nearest", "mean", "drop", "error"} or None, default=None
        Missing values: take them from the nearest row, fill in means, leave such rows out, or raise an error. None is
        ``"nearest"`` where the table is encoded, else ``"error"``.
    delimiter, decimal, encoding, header, thousands, na
        How text files are read, as in :func:`kfree.open_rows`.
    memory : int, str or None, default=None
        A limit such as ``"500MB"``. Rows of files that do not fit are streamed. Scales, summary and page then come from
        up to 100,000 rows that are spread evenly over the table, which ``remarks`` says.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        How many times each row counts, in place of ``weight``.
    n_threads : int or None, default=None
    random_state : int, default=0

    Returns
    -------
    clustering : Clustering

    Examples
    --------
    >>> import pandas as pd
    >>> import kfree
    >>> from kfree.datasets import make_customers
    >>> table = pd.DataFrame(make_customers(random_state=0)[0])
    >>> clustering = kfree.cluster(table, model="round")
    >>> clustering.n_clusters
    4
    >>> clustering.rename({0: "Everyone else"}).names
    {0: 'Everyone else'}
    >>> clustering.predict(table.head(3)).tolist() == clustering.labels[:3].tolist()
    True
    """
    require(weight is None or sample_weight is None, "sample_weight", "…", "None where weight names a column")
    require_choice("metric", metric, ["euclidean", "cosine"])
    if geo is not None:
        columns, prepare, metric = as_places(geo, columns, prepare, metric, weights)
    fitting = FitOptions(model, k, lam, metric, memory, n_threads, random_state)
    others = {parameter: name for parameter, name in (("id", id), ("weight", weight)) if name is not None}
    for parameter, name in others.items():
        if not isinstance(name, str):
            numbers = ", and numbers, one per row, as sample_weight" * (parameter == "weight")
            raise TypeError(f"{parameter} is a {type(name).__name__}; give the name of a column{numbers}.")
    text = TextOptions.of(
        delimiter=delimiter, decimal=decimal, encoding=encoding, header=header, thousands=thousands, na=na
    )
    require_about_files(table, text)
    require(columns is None or len(columns) > 0, "columns", columns, "names of columns, or None for all")
    remarks: list[str] = []

    def kept(text: str) -> str:
        """Remarks have the warnings too, for those who show none."""
        remarks.append(f"warning: {text}")
        return text

    with RewordedWarnings(kept):
        if _is_array(table):
            named = [*(columns or []), *_listed(drop), *others.values(), *(categories or []), *(weights or {})]
            rows = _rows_of_array(table, named, prepare, missing)
        else:
            found = opened(table, text)
            options = ColumnOptions(
                prepare_of(prepare, found, metric),
                None if columns is None else _listed(columns),
                _listed(drop),
                others,
                None,
                None if categories is None else _listed(categories),
                weights,
                fold,
                missing,
                geo is not None,
            )
            rows = prepared(found, options, remarks.append, weight=weight, memory=memory)
        made = clustered(rows, fitting, rows.weights(weight, sample_weight), remarks.append, id=id)
    made.remarks = remarks
    return made


def _rows_of_array(table: Any, named: list[str], prepare: str | None, missing: str | None) -> TableRows:
    """The rows of an array, which has no columns that could be ``named``."""
    require(not named, "columns", named, "none for an array, which has no names of columns")
    require(prepare in (None, "none"), "prepare", prepare, "none for an array, which is clustered as it is")
    require(missing in (None, "error"), "missing", missing, "none for an array, in which NaN is an error")
    require_known_frame(table)  # whose columns would be taken as they are
    X = as_rows(table)
    if X.ndim == 0:
        raise TypeError(f"a {type(table).__name__} is no table; give a data frame, an array or the path of a file.")
    return TableRows.of_array(X)


def as_places(
    geo: Sequence[str], columns: Any, prepare: str | None, metric: str, weights: Any
) -> tuple[list[str], str, str]:
    """Two columns of degrees are all that is clustered; weights would move them on the globe."""
    require(not isinstance(geo, str) and len(geo) == 2, "geo", geo, "two columns, latitude and longitude")
    require_latitude_first(geo)
    turned = None if metric == "euclidean" else metric
    given = {"columns": columns, "prepare": prepare, "metric": turned, "weights": weights or None}
    for name, value in given.items():
        require(value is None, name, value, "none with geo, which uses its two columns as they are")
    return list(geo), "none", "haversine"


def _listed(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _is_array(table: Any) -> bool:
    """Whether columns have no names."""
    return not is_file(table) and not is_frame(table)
