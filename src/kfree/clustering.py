"""cluster: from a table to clusters that are explained in its own names and units, in one call."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from typing import Annotated, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from kfree import saving
from kfree.core.marks import OneOf
from kfree.core.printing import quoted
from kfree.core.warning import warn
from kfree.estimators.auto_cluster import AutoCluster
from kfree.estimators.dp_means import DPMeans
from kfree.estimators.lambda_path import lambda_path
from kfree.explain.advice import with_column_names
from kfree.explain.certainty import in_words, in_words_of_path
from kfree.explain.sentences import distinct, name_of, sentences
from kfree.explain.summary import Summary, summarize
from kfree.explain.units import SHARE
from kfree.tables.encoder import TableEncoder
from kfree.tables.fitting import TextColumnsError
from kfree.validation.parameters import require, require_choice

MODELS = ["auto", "round"]
# The estimators of a clustering, by the names that files have for them.
ESTIMATORS = {"judged": "kfree.estimators.auto_cluster:AutoCluster", "round": "kfree.estimators.dp_means:DPMeans"}


def cluster(
    table: Any,
    *,
    model: str = "auto",
    k: int | None = None,
    columns: Sequence[Any] | None = None,
    drop: Sequence[Any] = (),
    id: Any = None,
    drop_text: bool = False,
    categories: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
    weights: Mapping[Any, float] | None = None,
    missing: str = "nearest",
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
    random_state: int = 0,
) -> "Clustering":
    """Cluster the rows of a table, and keep together what explains the result.

    Parameters
    ----------
    table : data frame of pandas or polars, table of pyarrow, array, sparse matrix, or the path of a file or folder
        Columns with names are prepared by :class:`kfree.TableEncoder`. An array is taken as it is.
    model : {"auto", "round"}, default="auto"
        ``"auto"`` fits :class:`kfree.AutoCluster`, which chooses the number of clusters and their shape. ``"round"``
        fits :class:`kfree.DPMeans`; so does ``"auto"`` where the table has columns of levels, because AutoCluster gives
        all columns the same variance, and rare levels would count too much.
    k : int or None, default=None
        The number of clusters, which are round then. ``certainty`` says what the data suggest.
    columns : list of str or None, default=None
        The columns to use; None takes all.
    drop : list of str, default=()
        Columns to leave out.
    id : str or None, default=None
        The column that names rows. It is not clustered.
    drop_text : bool, default=False
        Whether to leave out columns of text, and of names of rows, which are an error otherwise.
    categories, weights, missing
        As in :class:`kfree.TableEncoder`.
    sample_weight : array-like of shape (n_rows,) or None, default=None
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
    require_choice("model", model, MODELS)
    table, title = _opened(table)
    used = _columns(table, columns, drop, id)
    encoder = TableEncoder(categories=categories, weights=weights, missing=missing)
    X, encoder, remarks = _prepared(table, used, encoder, drop_text)
    has_levels = encoder is not None and SHARE in encoder.units_out
    if k is not None or model == "round" or has_levels:
        estimator = DPMeans(target_k=k, n_threads=n_threads, random_state=random_state)
    else:
        estimator = AutoCluster(n_threads=n_threads, random_state=random_state)
    _fit(estimator, X, sample_weight, encoder)
    certainty = in_words(estimator)
    if k is not None:
        path = lambda_path(X, sample_weight, n_threads=n_threads, random_state=random_state)
        certainty = f"{certainty}; without k: {in_words_of_path(path, path.suggest().k)}"
    ids = np.arange(X.shape[0]) if id is None else np.asarray(_column(table, id))
    summary = replace(summarize(estimator, X, encoder=encoder), row_names=ids)
    made = Clustering(estimator, encoder, certainty, summary, remarks, title)
    made._rows = X
    return made


@dataclass(eq=False)
class Clustering:
    """A table in clusters, with what explains them; made by :func:`kfree.cluster`.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), int32
    n_clusters : int
    certainty : str
        How sure the number of clusters is, in words.
    names : dict
        Names that were given to clusters, by label; see :meth:`rename`.
    remarks : list of str
        What was left out of the table.
    model : the fitted estimator, AutoCluster or DPMeans
    encoder : the fitted TableEncoder, None where an array was clustered

    Examples
    --------
    >>> import kfree
    >>> clustering = kfree.cluster([[0.0, 5.0], [0.2, 4.0], [0.1, 6.0], [9.0, 5.5], [9.2, 4.5]], k=2)
    >>> print(clustering.explain(0))
    Cluster 0, confidence 0.99; next is Cluster 1
      x0: 0.00 (cluster 0.10, others 9.10)
    """

    model: Annotated[Any, OneOf(ESTIMATORS)]
    encoder: Annotated[Any, OneOf({"table": "kfree.tables.encoder:TableEncoder"})] | None
    certainty: str
    _summary: Summary
    remarks: list[str]
    title: str
    _names: dict[str, str] = field(default_factory=dict)
    # The rows of the fit, which are not saved.
    _rows = cast("Any", None)

    @property
    def labels(self) -> NDArray[np.int32]:
        return self.model.labels_

    @property
    def n_clusters(self) -> int:
        return self.model.n_clusters_

    @property
    def names(self) -> dict[int, str]:
        return {int(label): name for label, name in self._names.items()}

    def name(self, label: int) -> str:
        """What a cluster is called: the name that was given to it, or "Cluster 0"."""
        return "no cluster" if label < 0 else name_of(int(label), self.names)

    def rename(self, names: Mapping[int, str]) -> "Clustering":
        """Give names to clusters; they stay in sentences, explanations, pages and files.

        Parameters
        ----------
        names : dict
            Names by label.

        Returns
        -------
        self : Clustering
        """
        known = range(self.n_clusters)
        wrong = [label for label in names if label not in known]
        require(not wrong, "names", names, f"labels from 0 to {self.n_clusters - 1} and names")
        given = self.names | {int(label): str(name) for label, name in names.items()}
        require(len(set(given.values())) == len(given), "names", names, "another name for each cluster")
        self._names = {str(label): name for label, name in sorted(given.items())}
        return self

    def summary(self, table: Any = None) -> Summary:
        """The table of the clusters, as :meth:`kfree.DPMeans.summary` makes it, in the units of the table.

        Parameters
        ----------
        table : a table with the same columns, or None for the one that was clustered

        Returns
        -------
        summary : kfree.explain.Summary
        """
        if table is None:
            return self._summary
        return summarize(self.model, self._encoded(table), encoder=self.encoder)

    def sentences(self) -> list[str]:
        """One sentence per cluster, with its size and what sets it apart.

        Returns
        -------
        sentences : list of str
        """
        return sentences(self._summary, self.names)

    def predict(self, table: Any, allow_new: bool = False, named: bool = False) -> NDArray[Any]:
        """The cluster of each row of another table.

        Parameters
        ----------
        table : a table with the columns that were used; others are ignored
        allow_new : bool, default=False
            Label rows that belong to no cluster −1.
        named : bool, default=False
            Whether to return names of clusters in place of labels.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        labels = self.model.predict(self._encoded(table), allow_new=allow_new)
        return np.array([self.name(label) for label in labels], dtype=object) if named else labels

    def explain(self, row: Any) -> "Explanation":
        """Why a row is in its cluster.

        Parameters
        ----------
        row : int, dict or a table of one row
            The number of a row of the table that was clustered, values by column, or a table.

        Returns
        -------
        explanation : Explanation
        """
        X = self._one_row(row)
        view = self.model._view(X)
        label, second = int(view.labels[0]), int(view.second[0])
        in_units = X[0] if self.encoder is None else self.encoder.in_units(X)[0]
        value = dict(zip(self._feature_names(X.shape[1]), in_units.tolist(), strict=True))
        features = distinct(self._summary.clusters[label].features) if label >= 0 else []
        told = tuple((f.name, _of_row(value[f.name], f.unit), f.text, f.unit.text(f.others)) for f in features)
        score = float(self.model.outlier_score(X)[0])
        second_name = self.name(second) if second >= 0 else None
        return Explanation(label, self.name(label), float(view.confidence[0]), second_name, score, told)

    def report(self, path: str | os.PathLike[str], table: Any = None) -> "Clustering":
        """Write a page to explore the clusters in a browser.

        Parameters
        ----------
        path : str or path
            The HTML file.
        table : the table that was clustered
            May be left out unless the clustering was loaded from a file.

        Returns
        -------
        self : Clustering
        """
        from kfree.report import write_report

        X = self._rows if table is None else self._encoded(table)
        require(X is not None, "table", table, "the table that was clustered: a file does not hold it")
        facts: dict[str, Any] = {"title": self.title, "encoder": self.encoder, "row_numbers": self._summary.row_names}
        told: dict[str, Any] = {"certainty": self.certainty, "names": self.names, "remarks": self.remarks}
        write_report(path, self.model, X, **facts, **told)
        return self

    def save(self, path: str | os.PathLike[str]) -> "Clustering":
        """Write encoder, model, names and summary to one file, which :func:`kfree.load` reads.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        self : Clustering
        """
        saving.save(self, path)
        return self

    def __str__(self) -> str:
        return "\n".join([self.certainty, *self.sentences(), *self.remarks])

    def __repr__(self) -> str:
        sizes = ", ".join(str(cluster.size) for cluster in self._summary.clusters[:10])
        more = ", …" if self.n_clusters > 10 else ""
        return f"<Clustering: {self.certainty}; sizes {sizes}{more}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.certainty)}</p>{self._summary._repr_html_()}"

    def _encoded(self, table):
        """The rows of a table as the model takes them."""
        table, _ = _opened(table)
        if self.encoder is None:
            return table if sp.issparse(table) else np.asarray(table)
        return np.asarray(self.encoder.transform(_selected(table, list(self.encoder.feature_names_in_))))

    def _one_row(self, row):
        if isinstance(row, dict):
            return self._encoded(_frame([row]))
        if isinstance(row, int | np.integer):
            n_rows = 0 if self._rows is None else self._rows.shape[0]
            require(
                bool(0 <= row < n_rows),
                "row",
                row,
                f"a number from 0 to {n_rows - 1}" if n_rows else "values by column",
            )
            X = self._rows[row : row + 1]
        else:
            X = self._encoded(row)
        require(X.shape[0] == 1, "row", row, "one row")
        return X.toarray() if sp.issparse(X) else X

    def _feature_names(self, n_columns):
        return [f"x{j}" for j in range(n_columns)] if self.encoder is None else self.encoder.get_feature_names_out()


@dataclass(frozen=True)
class Explanation:
    """Why a row is in its cluster: a text when printed.

    Attributes
    ----------
    label : int
    name : str
        What the cluster is called.
    confidence : float
        0 half-way between two clusters, 1 at the centre.
    next : str or None
        The nearest other cluster.
    outlier_score : float
        Above 1, the row belongs to no cluster.
    features : tuple of (column, value of the row, mean of the cluster, mean of other rows), as text
    """

    label: int
    name: str
    confidence: float
    next: str | None
    outlier_score: float
    features: tuple[tuple[str, str, str, str], ...]

    def __str__(self) -> str:
        head = f"{self.name}, confidence {self.confidence:.2f}"
        head += "" if self.next is None else f"; next is {self.next}"
        head += f"; far from all clusters (outlier score {self.outlier_score:.1f})" if self.outlier_score > 1 else ""
        told = [f"  {name}: {value} (cluster {mean}, others {others})" for name, value, mean, others in self.features]
        return "\n".join([head, *told])


def _fit(estimator, X, sample_weight, encoder):
    """Fit, with warnings that know columns by their names."""
    names = [] if encoder is None else [str(name) for name in encoder.get_feature_names_out()]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        estimator.fit(X, sample_weight=sample_weight)
    for warning in told:
        warn(with_column_names(str(warning.message), names), warning.category)


def _of_row(value, unit):
    """A value of one row as text."""
    return ("yes" if value > 0.5 else "no") if unit.kind == SHARE else unit.text(value)


def _opened(table):
    """A table in memory, and a title; a path is read as :func:`kfree.open_rows` reads files."""
    if not isinstance(table, str | os.PathLike):
        return table, "kfree"
    from kfree.files.dialect import TextOptions
    from kfree.files.table import open_table, require_same_columns

    opened, described = open_table(os.fspath(table), TextOptions())
    require_same_columns(opened, described)
    return opened.read(list(opened.types)), os.path.basename(os.fspath(table))


def _column_names(table):
    """Names of the columns, None for arrays."""
    names = getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    return None if names is None or sp.issparse(table) else [str(name) for name in names]


def _columns(table, columns, drop, id):
    """The columns to use; None for an array, which has no names."""
    names = _column_names(table)
    drop = [drop] if isinstance(drop, str) else list(drop)
    asked = [*(columns or []), *drop, *([] if id is None else [id])]
    if names is None:
        require(not asked, "columns", asked, "none for an array, which has no names of columns")
        return None
    absent = [name for name in asked if name not in names]
    if absent:
        raise ValueError(f"the table has no column {quoted(absent)}; it has {quoted(names, 20)}.")
    return [name for name in (columns or names) if name not in drop and name != id]


def _prepared(table, used, encoder, drop_text):
    """Rows for a fit, the fitted encoder (None for arrays) and remarks about what was left out."""
    if used is None:
        return (table if sp.issparse(table) else np.asarray(table)), None, []
    remarks = []
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="TableEncoder leaves out")
            encoder.fit(_selected(table, used))
    except TextColumnsError as error:
        rest = [name for name in used if name not in error.faults]
        if not drop_text or not rest:
            raise
        remarks, used = [f"left out, as text or names of rows: {quoted(error.faults)}"], rest
        X, encoder, more = _prepared(table, rest, encoder, drop_text)
        return X, encoder, remarks + more
    if encoder.left_out_:  # without them, a further table need not have them
        remarks = [f"left out: {quoted([f'{name} ({why})' for name, why in encoder.left_out_.items()])}"]
        used = [name for name in used if name not in encoder.left_out_]
        encoder.fit(_selected(table, used))
    return np.asarray(encoder.transform(_selected(table, used))), encoder, remarks


def _selected(table, names):
    """Some columns of a table."""
    known = _column_names(table)
    if known is None:
        raise TypeError(f"the table needs the columns {quoted(names)}; give a data frame, a table or a file.")
    absent = [name for name in names if name not in known]
    if absent:
        raise ValueError(f"the table has no column {quoted(absent)}; it has {quoted(known, 20)}.")
    return table.select(names) if hasattr(table, "select") else table[names]


def _column(table, name):
    """The values of a column, as Python objects or an array."""
    column = table.column(name) if hasattr(table, "column") else table[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_numpy()


def _frame(rows):
    """A data frame of dicts."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ImportError("a row as a dict needs pandas: pip install pandas. Or give a table of one row.") from error
    return pandas.DataFrame(rows)
