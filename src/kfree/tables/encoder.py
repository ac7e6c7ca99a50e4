"""TableEncoder: numbers, categories, dates and missing values of a table as rows with comparable distances."""

from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from kfree import saving
from kfree.core import packed_dates
from kfree.core.fields import ColumnNames, Count, NumberOfColumns
from kfree.core.marks import require as require_field
from kfree.core.names import require_order
from kfree.core.printing import printable, quoted
from kfree.core.progress import tell
from kfree.core.warning import warn
from kfree.exceptions import DataAdvice
from kfree.tables.columns import CONTAINERS, TEXT, as_dates, columns_of, container_of
from kfree.tables.containers import as_container, as_table, like
from kfree.tables.fitting import (
    Encoder,
    LeftOut,
    TextColumnsError,
    encoded,
    fitted_encoder,
    has_unseen,
    look_alikes,
    to_dates,
    to_numbers,
    told_kind,
)
from kfree.tables.gaps import NearestDonor, require_values
from kfree.tables.numeric import Ordinal
from kfree.tables.transforms import FUNCTIONS
from kfree.validation.frames import (
    column_names,
    note_columns,
    require_columns_of_fit,
    require_distinct_names,
)
from kfree.validation.parameters import is_positive_number, require, require_choice, require_count

MISSING, UNSEEN, SCALES = ["nearest", "mean", "error"], ["error", "missing"], ["difference", "deviation", "none"]

# Warnings about look-alike levels.
_MOST_NAMED = 5


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table into rows for clustering: two rows that differ in a column are typically 1 apart in it.

    A number becomes (f(x) − median) / scale, the scale being the median difference between two rows that differ; f is
    the identity unless the column is skewed or has heavy tails. Two different levels of a category are 1 apart.
    Ordered levels count by rank, dates by time, yes and no as 1 and 0. ``describe()`` states what was done.

    Parameters
    ----------
    transforms : {"auto", "identity"} or dict, default="auto"
        f for columns of numbers. ``"auto"``: for numbers ≥ 0 skewed to the right log, or sqrt or log1p where there are
        zeros; asinh for heavy tails on both sides. A dict has names of columns and "identity", "sqrt", "log", "log1p",
        "symlog" or "asinh"; other columns are as with ``"auto"``.
    ordinal : dict or None, default=None
        Names of columns whose levels have an order, with their levels, lowest first. Ordered categoricals of pandas
        and pyarrow and enums of polars are known without.
    categories : list or None, default=None
        Names of further columns that are categories: numbers that are codes, or strings of many levels.
    missing : {"nearest", "mean", "error"}, default="nearest"
        ``"nearest"`` takes a missing value from the nearest row that has one (at most some 2,000 rows are kept for
        that); squared distances are then unbiased if values are missing at random given the known ones. ``"mean"``
        takes the mean of the column, which makes them too small.
    unseen : {"error", "missing"}, default="error"
        What to do with a category that was not in the rows of ``fit``: raise an error that names it, or treat it as
        missing.
    max_levels : int, default=50
        A column of strings with more distinct values, or with distinct values in most rows, is text, and ``fit``
        raises.
    scale : {"difference", "deviation", "none"}, default="difference"
        What numbers, dates and ranks are divided by: the median difference between two rows that differ, the standard
        deviation (about the mean), or nothing. With the last two, yes and no are numbers, too.

    weights : dict or None, default=None
        Names of columns and positive numbers: differences in such a column count so many times as much as in others.
    fold : bool, default=False
        Whether levels that differ in case or spaces only ("App", "app", "App ") are one level, called as most rows
        call it. If not, ``fit`` warns about them.

    Attributes
    ----------
    encoders_ : list
        The encoder of each column, in order; ``str`` of one is its formula.
    left_out_ : dict
        Names of columns that are constant or have no values, with the reason.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    ``fit`` and ``transform`` raise for rows in which all values are missing. If a missing value carries information,
    make it a level of its own first. A mismatch weighs as much as a typical difference of numbers, so a category that
    is independent of the other columns makes no clusters beside a few columns of numbers; in a table of categories
    alone it may.

    Examples
    --------
    >>> import pandas as pd
    >>> from kfree import DPMeans, TableEncoder
    >>> table = pd.DataFrame({"age": [23, 25, None, 61, 64, 66], "plan": ["a", "a", "b", "c", "c", "c"]})
    >>> encoder = TableEncoder()
    >>> encoder.fit_transform(table).columns.tolist()
    ['age', 'plan=a', 'plan=b', 'plan=c']
    >>> print(encoder.describe())
    age: (age − 61) / 37
    plan: 3 levels, each 1 apart from the others
    >>> model = DPMeans(lam=1.0).fit(encoder.transform(table))
    >>> encoder.inverse_transform(model.cluster_centers_).round(1).to_dict("list")
    {'age': [23.7, 63.7], 'plan': ['a', 'c']}
    """

    encoders_: list[Encoder]
    left_out_: dict[str, str]
    n_features_in_: NumberOfColumns
    feature_names_in_: ColumnNames
    _donors_: NearestDonor
    _container_: str
    _width_: list[Count]

    def __init__(
        self,
        *,
        transforms="auto",
        ordinal=None,
        categories=None,
        missing="nearest",
        unseen="error",
        max_levels=50,
        scale="difference",
        weights=None,
        fold=False,
    ) -> None:
        self.transforms = transforms
        self.ordinal = ordinal
        self.categories = categories
        self.missing = missing
        self.unseen = unseen
        self.max_levels = max_levels
        self.scale = scale
        self.weights = weights
        self.fold = fold

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn scales, transforms and levels.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self : TableEncoder
        """
        self._fitted_rows(as_table(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The same as ``fit`` and then ``transform``, in about half the time.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        rows : a container like X, or the one chosen by ``set_output``
        """
        X = as_table(X)
        rows = self._fitted_rows(X)
        return self._output(self._donors_.filled(rows), X)

    def _fitted_rows(self, X):
        """Fit, and return the rows of X, NaN where values are missing."""
        self._check_parameters()
        note_columns(checked := BaseEstimator(), X)
        names = _names(checked)
        self._require_known(names)
        columns = columns_of(X, names)
        columns = columns if container_of(X) == "numpy" else [self._dated(column) for column in columns]
        encoders = _fitted(columns, self)
        left_out = {encoder.name: encoder.reason for encoder in encoders if isinstance(encoder, LeftOut)}
        if len(left_out) == len(encoders):
            raise ValueError(
                f"no column of X varies, with n_samples={X.shape[0]} rows: {_listed(left_out)}. Give rows that differ."
            )
        blocks = [encoded(*pair, self) for pair in zip(columns, encoders, strict=True)]
        require_values(blocks, encoders, self.missing)
        rows = self._weighted(blocks, encoders)
        donors = NearestDonor(np.nanmean(rows, axis=0, keepdims=True)) if self.missing == "mean" else NearestDonor(rows)
        if left_out:
            warn(f"TableEncoder leaves out {_listed(left_out)}.", DataAdvice)
        note_columns(self, X)
        self.encoders_, self.left_out_ = encoders, left_out
        self._donors_, self._container_, self._width_ = donors, container_of(X), [block.shape[1] for block in blocks]
        return rows

    def _dated(self, column):
        """The column as dates if all its numbers are such as 20241231, and it is not told what it is."""
        transforms = self.transforms if isinstance(self.transforms, dict) else {}
        found = None if column.name in transforms or told_kind(column.name, self) else as_dates(column)
        if found is None or np.count_nonzero(~np.isnan(found.values)) < packed_dates.FEWEST:
            return column
        warn(f"TableEncoder: {packed_dates.said(column.name)}", DataAdvice)
        return found

    def transform(self, X: Any) -> Any:
        """The rows of a table with the columns of the one that was fitted.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Table of pyarrow, or array-like of shape (n_samples, n_features)

        Returns
        -------
        rows : a frame of pandas or polars, a table of pyarrow, or an ndarray of shape (n_samples, n_features_out)
            A container like X, with float64 columns, or the one chosen by ``set_output``: ``"default"`` is an array.
        """
        check_is_fitted(self)
        self._check_parameters()
        X = as_table(X)
        require_columns_of_fit(self, X)
        names = _names(self)
        self._require_known(names)
        blocks = [encoded(*pair, self) for pair in zip(columns_of(X, names), self.encoders_, strict=True)]
        require_values(blocks, self.encoders_, self.missing)
        return self._output(self._donors_.filled(self._weighted(blocks, self.encoders_)), X)

    def _output(self, rows, X):
        """Rows in a container like X, unless a container is chosen; scikit-learn puts them there then."""
        chosen = "transform" in getattr(self, "_sklearn_output_config", {})
        if chosen or get_config()["transform_output"] != "default":
            return rows
        return like(X, rows, self.get_feature_names_out().tolist())

    def has_unseen(self, X: Any) -> Any:
        """Which rows have a level that was not in the rows of ``fit``.

        Parameters
        ----------
        X : a table with the columns of the one that was fitted

        Returns
        -------
        unseen : ndarray of shape (n_samples,), bool
        """
        return self.unseen_in(X).any(axis=1)

    def unseen_in(self, X):
        """Where a column has a level that was not in the rows of ``fit``, (n_rows, n_columns of the table)."""
        check_is_fitted(self)
        X, names = as_table(X), _names(self)
        require_columns_of_fit(self, X)
        self._require_known(names)
        pairs = zip(columns_of(X, names), self.encoders_, strict=True)
        return np.column_stack([has_unseen(*pair, self) for pair in pairs])

    def _weighted(self, blocks, encoders):
        """Coordinates side by side, times the weight of their column."""
        weights = self.weights or {}
        pairs = zip(blocks, encoders, strict=True)
        return np.hstack([block * weights.get(encoder.name, 1.0) for block, encoder in pairs])

    def inverse_transform(self, X: Any) -> Any:
        """The table that corresponds to rows, such as centres: numbers, dates, the nearest levels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features_out)

        Returns
        -------
        table : what ``fit`` was given: a frame of pandas or polars, a table of pyarrow, or an array
            With all columns; those that were left out have their constant value. Dates have the time zone that they
            had; in an array, which has none, they are in UTC.
        """
        columns = [encoder.decoded(block) for encoder, block in self._blocks(X)]
        zones = [getattr(encoder, "zone", None) for encoder in self.encoders_]
        return as_container(self._container_, _names(self), columns, zones)

    def in_units(self, X):
        """Rows, or means of rows, column by column as numbers that a reader knows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features_out)

        Returns
        -------
        rows : ndarray of shape (n_rows, n_features_out), float64
            Numbers in the units of their column, shares of rows for levels, ranks from 0 for ordered levels, and years
            for dates. A mean of logarithms becomes a geometric mean: to get means of a table, take them after this.
        """
        return np.hstack([encoder.in_units(block) for encoder, block in self._blocks(X)])

    @property
    def units_out(self):
        """What each number of :meth:`in_units` is: "number", "share", "date", "time of day", "seconds" or "rank"."""
        check_is_fitted(self)
        return [encoder.unit for encoder in self.encoders_ for _ in encoder.names_out]

    @property
    def levels_out(self):
        """The levels that each rank of :meth:`in_units` counts, as text, lowest first; none for other numbers."""
        check_is_fitted(self)
        ordered = [encoder.levels if isinstance(encoder, Ordinal) else () for encoder in self.encoders_]
        pairs = zip(self.encoders_, ordered, strict=True)
        return [tuple(map(str, levels)) for encoder, levels in pairs for _ in encoder.names_out]

    @property
    def columns_out(self):
        """The column of the table that each column of :meth:`transform` comes from."""
        check_is_fitted(self)
        return [encoder.name for encoder in self.encoders_ for _ in encoder.names_out]

    def _blocks(self, X):
        """The encoder of each column of the table, and the columns that it makes."""
        check_is_fitted(self)
        require_distinct_names(X, "X")
        remedy = "Give the columns that transform returns in its order."
        require_order(column_names(X), self.get_feature_names_out(), "X", remedy)
        rows = check_array(X, dtype=np.float64, input_name="X")
        ends = np.cumsum(self._width_)
        if rows.shape[1] != ends[-1]:
            raise ValueError(f"X has {rows.shape[1]} columns; give the {ends[-1]} columns that transform returns.")
        weights = self.weights or {}
        blocks = zip(self.encoders_, np.split(rows, ends[:-1], axis=1), strict=True)
        return [(encoder, block / weights.get(encoder.name, 1.0)) for encoder, block in blocks]

    def save(self, path: str | PathLike[str]) -> Self:
        """Write this encoder to one file, which :func:`kfree.load` reads.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        self : TableEncoder
        """
        check_is_fitted(self)
        saving.save(self, path)
        return self

    def _restored(self):
        widths = [len(encoder.names_out) for encoder in self.encoders_]
        ok = self._width_ == widths and sum(widths) == self._donors_.rows.shape[1]
        ok = ok and len(widths) == self.n_features_in_ and self._container_ in CONTAINERS
        require_field(ok, "encoders", "are not those of the columns")

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that ``transform`` returns: that of a column of numbers, "column=level" for a level.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            If given, it must be the names of the columns of ``fit``.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        if input_features is not None and list(input_features) != list(map(str, _names(self))):
            raise ValueError("input_features is not equal to feature_names_in_; leave it out.")
        return np.array([name for encoder in self.encoders_ for name in encoder.names_out], dtype=object)

    def describe(self) -> str:
        """The encoding of each column as text, one line per column.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        weights = self.weights or {}
        times = {name: f", times {weight:g}" for name, weight in weights.items()}
        return "\n".join(printable(f"{encoder}{times.get(encoder.name, '')}") for encoder in self.encoders_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _check_parameters(self):
        functions = ["auto", *FUNCTIONS]
        if isinstance(self.transforms, dict):
            for name, function in self.transforms.items():
                require_choice(f"transforms[{name!r}]", function, functions)
        else:
            require_choice("transforms", self.transforms, ["auto", "identity"])
        require(self.ordinal is None or isinstance(self.ordinal, dict), "ordinal", self.ordinal, "a dict or None")
        some = not isinstance(self.categories, str) and hasattr(self.categories, "__len__")
        require(self.categories is None or some, "categories", self.categories, "a list of names of columns or None")
        require_choice("missing", self.missing, MISSING)
        require_choice("unseen", self.unseen, UNSEEN)
        require_count("max_levels", self.max_levels, least=2)
        require_choice("scale", self.scale, SCALES)
        require(isinstance(self.fold, bool), "fold", self.fold, "True or False")
        require(self.weights is None or isinstance(self.weights, dict), "weights", self.weights, "a dict or None")
        for name, weight in (self.weights or {}).items():
            require(is_positive_number(weight), f"weights[{name!r}]", weight, "a positive number")

    def _require_known(self, names):
        """Raise unless the columns that parameters name are among those of the table."""
        given_by = {
            "transforms": self.transforms if isinstance(self.transforms, dict) else {},
            "ordinal": self.ordinal or {},
            "categories": () if self.categories is None else self.categories,
            "weights": self.weights or {},
        }
        for parameter, given in given_by.items():
            for name in given:
                require(name in names, parameter, name, f"names of columns of X: {_shortened(names)}")


def _fitted(columns, table_encoder):
    """The encoder of each column; an error names all columns that hold text, not the first one only."""
    encoders, texts, alike, numbers, dates = [], {}, {}, {}, {}
    for number, column in enumerate(columns):
        tell("preparing", number / len(columns))
        try:
            encoders.append(fitted_encoder(column, table_encoder))
        except TextColumnsError as error:
            texts |= error.faults
            continue
        if not table_encoder.fold and (levels := look_alikes(column)):
            alike[column.name] = levels
        if column.kind == TEXT and told_kind(column.name, table_encoder) is None:
            levels = {value for value in column.values.tolist() if value is not None}
            numbers[column.name], dates[column.name] = to_numbers(levels), to_dates(levels)
    if texts:
        raise TextColumnsError(texts)
    for name, levels in list(alike.items())[:_MOST_NAMED]:
        warn(
            f"column {name!r} has levels that look alike: {', '.join(map(repr, levels[:6]))}. Correct them, or give "
            "fold=True to make them one.",
            DataAdvice,
        )
    _tell_of_written(numbers, "numbers as text, which are compared as levels, not by size", "hold codes")
    _tell_of_written(dates, "dates as text, which are compared as levels, not by time", "are categories")
    return encoders


def _tell_of_written(remedies, what, otherwise):
    """Warn about columns whose texts are values of another type; ``remedies`` convert them, "" for other columns."""
    if remedies := {name: remedy for name, remedy in remedies.items() if remedy}:
        warn(
            f"column(s) {quoted(remedies)} hold {what}. Convert them with {max(remedies.values(), key=len)}, or give "
            f"categories={list(remedies)} if they {otherwise}.",
            DataAdvice,
        )


def _names(fitted):
    names = getattr(fitted, "feature_names_in_", None)
    return [f"x{j}" for j in range(fitted.n_features_in_)] if names is None else names.tolist()


def _listed(left_out):
    return ", ".join(f"column {name!r} ({reason})" for name, reason in left_out.items())


def _shortened(names):
    return ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
