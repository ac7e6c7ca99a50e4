"""Clustering: a table in clusters, with what explains them."""

import os
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from html import escape
from typing import Annotated, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree import saving
from kfree.clustering.assigning import assigned, require_like_fit, require_unseen, scores_of, with_gaps
from kfree.clustering.frames import is_frame
from kfree.clustering.preparation import Preparation, Prepared
from kfree.clustering.tables import opened, require_about_files
from kfree.core.marks import OneOf, Shape
from kfree.core.optional import optional
from kfree.core.printing import isolated, printable, quoted
from kfree.core.stats import Floats, Labels, Mask
from kfree.explain.features import one_per_column
from kfree.explain.sentences import distinct, name_of, sentences
from kfree.explain.spread import FEWEST_OF_SPREAD
from kfree.explain.summary import summarize
from kfree.explain.table import Summary
from kfree.explain.units import NOTHING, SHARE, short
from kfree.files.dialect import TextOptions
from kfree.validation.parameters import require, require_choice
from kfree.validation.rows import require_sound_array

# The estimators of a clustering, by the names that files have for them.
ESTIMATORS = {"judged": "kfree.estimators.auto_cluster:AutoCluster", "round": "kfree.estimators.dp_means:DPMeans"}
# Columns of a cluster that none sets apart, in an explanation.
_FEATURES = 3
# Shares of levels in one row are 0 or 1 but for this.
_ROUNDING = 1e-6


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
        A value that is missing is "missing, filled in as" the one by which the row was compared. Where there is one
        cluster, no rows are others: their mean is "–" then, and is not printed.
    has_own_spread : bool
        Whether the cluster of the row has enough rows to say what is far from it; else the outlier score is about
        other clusters.
    km : tuple of two floats or None
        The arcs from a place to the centres of its cluster and of the next, infinite if there is no next one.
    """

    label: int
    name: str
    confidence: float
    next: str | None
    outlier_score: float
    features: tuple[tuple[str, str, str, str], ...]
    km: tuple[float, float] | None = None
    has_own_spread: bool = True

    def __str__(self) -> str:
        own, second = ("", "") if self.km is None else (f", {short(arc)} km away" for arc in self.km)
        head = f"{isolated(self.name)}{own}, confidence {self.confidence:.2f}"
        head += "" if self.next is None else f"; next is {isolated(self.next)}{second}"
        if self.outlier_score > 1:
            which = "" if self.has_own_spread else "other "
            head += f"; far from all {which}clusters (outlier score {self.outlier_score:.1f})"
            head += "" if self.has_own_spread else ", and its own has too few rows to tell"
        told = [
            f"  {isolated(name)}: {value} (cluster {mean}{'' if others == NOTHING else f', others {others}'})"
            for name, value, mean, others in self.features
        ]
        return "\n".join([head, *told])


@dataclass(eq=False)
class Clustering:
    """A table in clusters, with what explains them; made by :func:`kfree.cluster`.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), int32
        The cluster of each row of the table, −1 for rows that were left out because of missing values. Those of rows
        that do not fit in memory are in a file, which is not saved.
    n_clusters : int
    certainty : str
        How sure the number of clusters is, in words.
    names : dict
        Names that were given to clusters, by label; see :meth:`rename`.
    remarks : list of str
        What was left out of the table, and what else readers should know.
    model : the fitted estimator, AutoCluster or DPMeans
    preparation : how the table became rows, None where an array was clustered
    encoder : the fitted TableEncoder, None where numbers were clustered as they are

    Examples
    --------
    >>> import kfree
    >>> clustering = kfree.cluster([[0.0, 5.0], [0.2, 4.0], [0.1, 6.0], [9.0, 5.5], [9.2, 4.5]], k=2)
    >>> print(clustering.explain(0))
    Cluster 0, confidence 0.99; next is Cluster 1
      x0: 0.00 (cluster 0.10, others 9.10)
    """

    model: Annotated[Any, OneOf(ESTIMATORS)]
    preparation: Preparation | None
    certainty: str
    _summary: Summary
    remarks: list[str]
    title: str
    # Numbers of the rows that were left out because of missing values.
    _left_out: Annotated[NDArray[np.int64], Shape("rows left out")]
    _names: dict[str, str] = field(default_factory=dict)
    # The rows of the fit, which may be a stream; rows in memory, the same or some of them, with their numbers in the
    # table and their values that were filled in; and labels of all. These are not saved.
    _fitted = cast("Any", None)
    _rows = cast("Any", None)
    _row_numbers = cast("Any", None)
    _gaps = cast("Any", None)
    _labels = cast("Any", None)

    @property
    def labels(self) -> Labels:
        own = self._used_labels
        return with_gaps(own, self._used) if len(self._left_out) else own

    @property
    def _used(self) -> Mask:
        """Which rows of the table were used."""
        used = np.ones(len(self._used_labels) + len(self._left_out), dtype=bool)
        used[self._left_out] = False
        return used

    @property
    def _used_labels(self) -> Labels:
        """Labels of the rows that were used."""
        return self.model.labels_ if self._labels is None else self._labels

    @property
    def encoder(self) -> Any:
        return None if self.preparation is None else self.preparation.encoder

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
        is_known = isinstance(names, Mapping) and all(label in known for label in names)
        is_text = is_known and all(isinstance(name, str) and name for name in names.values())
        require(is_text, "names", names, f"a dict with labels from 0 to {self.n_clusters - 1} and a text for each")
        given = self.names | {int(label): name for label, name in names.items()}
        all_names = {name_of(label, given) for label in known} | {self.name(-1)}
        allowed = f"another name for each cluster, none of them {self.name(-1)!r}"
        require(len(all_names) == self.n_clusters + 1, "names", names, allowed)
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
        rows = self._some_rows(table)
        return replace(summarize(self.model, rows.X, encoder=self.preparation), row_names=np.flatnonzero(rows.kept))

    def sentences(self) -> list[str]:
        """One sentence per cluster, with its size and what sets it apart.

        Returns
        -------
        sentences : list of str
        """
        return sentences(self._summary, self.names)

    def predict(
        self, table: Any, allow_new: bool = False, named: bool = False, unseen: str = "error", **reading: Any
    ) -> NDArray[Any]:
        """The cluster of each row of another table.

        Parameters
        ----------
        table : a table with the columns that were used; others are ignored
            The rows of files are read a few at a time.
        allow_new : bool, default=False
            Label rows that belong to no cluster −1.
        named : bool, default=False
            Whether to return names of clusters in place of labels.
        unseen : {"error", "missing", "new"}, default="error"
            Levels that the rows of the fit did not have: an error, as if missing, or label such rows −1.
        **reading
            ``delimiter``, ``decimal``, ``encoding``, ``header``, ``thousands`` and ``na`` of text files, as in
            :func:`kfree.cluster`; None reads them as the file of the fit was read.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            −1 also for rows with missing values, where those of the fit were left out.
        """
        text = TextOptions.of(**reading)
        require_about_files(table, text)
        if self.preparation is None:
            require_choice("unseen", unseen, ["error"])  # arrays have no levels
            labels = self.model.predict(as_rows(table), allow_new=allow_new)
        else:
            found = opened(table, self.preparation.text_options(text))
            labels = assigned(self.model, self.preparation, found, allow_new=allow_new, unseen=unseen).labels
        return np.array([self.name(label) for label in labels], dtype=object) if named else labels

    def scores(self, table: Any = None) -> dict[str, Floats]:
        """How certain labels are: ``"confidence"`` and ``"outlier_score"`` of each row.

        Parameters
        ----------
        table : a table with the same columns, or None for the one that was clustered

        Returns
        -------
        scores : dict of ndarrays
            A confidence is 0 half-way between two clusters and 1 at a centre; a row with an outlier score above 1
            belongs to no cluster. Both are NaN for rows that were left out because values are missing.
        """
        if table is None:
            self._of_fit(None)
            found, used = scores_of(self.model, self._fitted), self._used
        else:
            X, used, _, _ = self._prepared(table)
            found = scores_of(self.model, X)
        return {name: _with_nan(values, used) for name, values in found.items()}

    def explain(self, row: Any, unseen: str = "error") -> Explanation:
        """Why a row is in its cluster.

        Parameters
        ----------
        row : int, dict or a table of one row
            The number of a row of the table that was clustered, values by column, or a table.
        unseen : {"error", "missing"}, default="error"
            Levels that the rows of the fit did not have: an error, or as if missing.

        Returns
        -------
        explanation : Explanation
        """
        require_choice("unseen", unseen, ["error", "missing"])
        X, missing = self._one_row(row, unseen)
        view = self.model._view(X)
        label, second = int(view.labels[0]), int(view.second[0])
        in_units = X[0] if self.preparation is None else self.preparation.in_units(X)[0]
        columns = range(X.shape[1]) if self.preparation is None else self.preparation.columns_out
        facts = zip(in_units.tolist(), (column in missing for column in columns), strict=True)
        value = dict(zip(self._feature_names(X.shape[1]), facts, strict=True))
        known = self._summary.clusters[label].features if label >= 0 else ()
        features = distinct(known) or one_per_column(known, 0.0)[:_FEATURES]
        told = tuple((f.name, _of_row(*value[f.name], f.unit), f.text, f.unit.text(f.others)) for f in features)
        score = float(self.model.outlier_score(X)[0])
        second_name = self.name(second) if second >= 0 else None
        km = None if view.places is None else (float(view.dist[0]), float(view.second_dist[0]))
        confidence = float(view.confidence[0])
        has_spread = label < 0 or self._summary.clusters[label].size >= FEWEST_OF_SPREAD
        return Explanation(label, self.name(label), confidence, second_name, score, told, km, has_spread)

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

        X, model, title = self._of_fit(table), self.model, self.title
        if not hasattr(model, "labels_"):  # that of rows which do not fit in memory
            model = copy(model)
            model.labels_ = model.predict(X)
            title = f"{title} ({len(X)} of {self._summary.n_rows} rows)"
        facts: dict[str, Any] = {"title": title, "encoder": self.preparation, "row_numbers": self._summary.row_names}
        told: dict[str, Any] = {"certainty": self.certainty, "names": self.names, "remarks": self.remarks}
        write_report(path, model, X, **facts, **told)
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
        remarks = "".join(f"<li>{escape(printable(remark))}</li>" for remark in self.remarks)
        told = f"<ul>{remarks}</ul>" if remarks else ""
        return f"<p>{escape(self.certainty)}</p>{self._summary._repr_html_()}{told}"

    def _of_fit(self, table: Any) -> Any:
        """The rows of the fit, from the table that was clustered where they are no longer in memory."""
        X = self._rows if table is None else self._some_rows(table).X
        require(X is not None, "table", table, "the table that was clustered: a file does not hold it")
        return X

    def _some_rows(self, table: Any) -> Prepared:
        """Like ``_prepared``, but an error if no row was used, because of missing values."""
        rows = self._prepared(table)
        if not rows.X.shape[0]:
            raise ValueError(f"the table has no row with {self._wanted_values}; give one that has.")
        return rows

    @property
    def _wanted_values(self) -> str:
        """What a row needs to be in a cluster."""
        if self.preparation is None:
            return "a number for each column"
        wanted = quoted(self.preparation.columns, 20)
        if self.preparation.missing == "drop":
            return f"a value for each of {wanted} (missing='drop': a row without one has no cluster, its label is −1)"
        return f"a value for at least one of {wanted}"

    def _prepared(self, table: Any, unseen: str = "error") -> Prepared:
        """Encoded rows of a table, a mask of the table's rows that were used, and their missing values."""
        if self.preparation is None:
            X = as_rows(table)
            used = np.ones(X.shape[0], dtype=bool)
            return Prepared(X, used, np.zeros((len(used), 0), dtype=bool), ~used)
        require_unseen(self.preparation, unseen)
        found = opened(table, self.preparation.text_options(TextOptions()))
        require_like_fit(self.preparation, found)
        return self.preparation.matrix(found.title, found.read(self.preparation.columns), unseen=unseen)

    def _one_row(self, row: Any, unseen: str) -> tuple[Any, set[str]]:
        """A row as the model takes it, and the columns of the table whose values are missing there."""
        if isinstance(row, int | np.integer) and not isinstance(row, bool):
            X, gaps = self._row_of_fit(row)
        else:
            table = self._as_table(row) if isinstance(row, dict) and self.preparation is not None else row
            require(_is_table(table), "row", row, "the number of a row, values by column, or a table of one row")
            X, used, gaps, _ = self._prepared(table, unseen)
            given = row if isinstance(row, dict | str | os.PathLike) else "…"
            require(len(used) == 1, "row", given, "one row")
            require(used[0], "row", given, self._wanted_values)
        missing = set() if self.preparation is None else {self.preparation.columns[j] for j in np.flatnonzero(gaps)}
        return (X.toarray() if sp.issparse(X) else X), missing

    def _row_of_fit(self, number: Any) -> tuple[Any, Mask]:
        """A row of the fit by its number in the table, and a mask of the columns whose values are missing there."""
        numbers = np.empty(0) if self._rows is None else self._row_numbers
        place = np.flatnonzero(numbers == number)
        allowed = f"a number from 0 to {numbers[-1]} of a row that was used" if len(numbers) else "values by column"
        require(len(place) == 1, "row", number, allowed)
        return self._rows[place], np.zeros(0, dtype=bool) if self._gaps is None else self._gaps[place]

    def _as_table(self, row: dict[str, Any]) -> Any:
        """Values by column as a data frame."""
        assert self.preparation is not None  # an array has no columns
        wanted = self.preparation.columns
        missing = [name for name in wanted if name not in row]
        allowed = f"a value for each of {quoted(wanted, 20)}; there is none for {quoted(missing)}"
        require(not missing, "row", row, allowed)
        otherwise = "a row as a dict needs pandas: pip install pandas. Or give a table of one row."
        return optional("pandas", otherwise).DataFrame([row])

    def _feature_names(self, n_columns: int) -> list[str]:
        plan = self.preparation
        return [f"x{j}" for j in range(n_columns)] if plan is None else plan.get_feature_names_out()


def _is_table(row: Any) -> bool:
    """Whether what is to be explained is a table: a frame, an array of rows, or a file."""
    if isinstance(row, str):
        return os.path.exists(row)
    return isinstance(row, os.PathLike) or is_frame(row) or np.ndim(row) == 2


def as_rows(array: Any) -> Any:
    """An array that is clustered as it is."""
    require_sound_array(array, "X")  # before NumPy hands out what lies under a mask
    return array if sp.issparse(array) else np.asarray(array)


def _with_nan(values: Floats, used: Mask) -> Floats:
    """Values of the rows that were used at their places among all rows, NaN elsewhere."""
    filled = np.full(len(used), np.nan)
    filled[used] = values
    return filled


def _of_row(value: float, is_missing: bool, unit: Any) -> str:
    """A value of one row as text."""
    if is_missing:
        return f"missing, filled in as {_of_row(value, False, unit)}"
    is_level = unit.kind == SHARE and abs(value - round(value)) < _ROUNDING  # a mean that was filled in is a share
    return ("yes" if value > 0.5 else "no") if is_level else str(unit.text(value))
