"""The base class of all estimators: what every fitted clustering can do, each method a call of one function."""

import contextlib
import hashlib
import weakref
from collections.abc import Sequence
from html import escape
from importlib import import_module
from os import PathLike
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kfree import plot, saving
from kfree.core.arrays import namespace_of
from kfree.core.fields import ColumnNames, NumberOfColumns
from kfree.core.marks import OPTIONAL, OneOf
from kfree.core.stats import Floats, Labels
from kfree.estimators._monitoring import CallbackSupportMixin
from kfree.explain import summarize
from kfree.explain.certainty import in_words
from kfree.explain.spread import FALSE_ALARMS, outlier_scores_of
from kfree.explain.summary import exemplars_of
from kfree.explain.table import Summary
from kfree.explain.view import confidence_of
from kfree.validation import frames
from kfree.validation.parameters import check, require_choice, require_false_alarms
from kfree.validation.rows import validated_rows
from kfree.validation.tensors import in_memory, is_on_device, placed_like

# Sizes of clusters in the text of a fitted estimator.
_MOST_SIZES = 10


class ClusterEstimator(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """Base class of the estimators.

    A subclass has ``fit``, which ends with ``publish``, and ``_view(X)``, a :class:`kfree.explain.View` of rows. Unless
    it overrides ``outlier_score``, it also has ``_distances(X)``, distances to all clusters block by block, and
    ``_model_``, whose ``spreads`` say beyond which distance from a cluster a row is an outlier. It annotates the
    attributes that ``fit`` sets: ``save`` writes these, and ``load`` checks them by their types.
    """

    n_features_in_: NumberOfColumns
    feature_names_in_: ColumnNames
    # How the command line made the rows of a table.
    preparation_: Annotated[Any, OneOf({"columns": "kfree.clustering.preparation:Preparation"}), OPTIONAL]

    # What predict and other methods check again, as parameters may change after a fit.
    _constraints_of_methods: ClassVar[tuple[Any, ...]] = ()

    def summary(self, X: Any = None, feature_names: Sequence[str] | None = None, encoder: Any = None) -> Summary:
        """A table of the clusters: size, spread, nearest cluster, exemplar rows, features that set them apart.

        Parameters
        ----------
        X : the rows of ``fit``, or others, which are given to clusters by ``predict``
        feature_names : sequence of str or None, default=None
            Names of the columns; None takes those of X, else x0, x1, ….
        encoder : a fitted TableEncoder or None, default=None
            The one that made X, so that columns have their names and means are those of the table, in its units.

        Returns
        -------
        summary : kfree.explain.Summary
            A text when printed, a table in a notebook, a data frame by ``to_frame()``.
        """
        return summarize(self, X, feature_names, encoder)

    def certainty(self) -> str:
        """How many clusters there are and how sure that is, in words: "4 clusters, clear".

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        return in_words(self)

    def plot(self, X: Any = None, kind: str = "auto", ax: Any = None, **settings: Any) -> Any:
        """Draw the clusters. Needs matplotlib.

        Parameters
        ----------
        X : the rows of ``fit``, or others
        kind : {"auto", "scatter", "voronoi", "sizes", "profiles", "staircase", "dendrogram", "graph", "levels"}, \
default="auto"
            - ``"scatter"``: rows by two columns or two principal components; ``"voronoi"``: with the region of each
              cluster, for two columns.
            - ``"sizes"``: rows of each cluster; ``"profiles"``: the columns that set it apart.
            - ``"staircase"``: the path that ``lam="auto"`` chose from.
            - ``"dendrogram"`` for trees, ``"graph"`` for graphs and ``"levels"`` for clusters of clusters, where this
              is ``"auto"``; else the scatter.
        ax : matplotlib axes, default=None
            Where to draw; a new figure if None.
        **settings
            Passed to the function of that name in :mod:`kfree.plot`.

        Returns
        -------
        ax : matplotlib axes
        """
        check_is_fitted(self)
        require_choice("kind", kind, ["auto", *plot.KINDS])
        return plot.draw(self, X, kind, ax, **settings)

    def save(self, path: str | PathLike[str]) -> Self:
        """Write this model to one file, which :func:`kfree.load` reads.

        The file holds parameters and fitted attributes as arrays and JSON, no pickle, and replaces an older one only
        when it is complete. Parameters that are functions, such as a kernel of your own, cannot be saved. A
        ``random_state`` that is a generator is saved as a seed drawn from a copy of it. Callbacks, metadata requests
        and attributes of your own are not saved.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        self : the estimator
        """
        check_is_fitted(self)
        saving.save(self, path)
        return self

    def nearest_two(self, X: Any = None) -> tuple[Labels, Floats]:
        """The two nearest clusters of each row, and the distances to them.

        Parameters
        ----------
        X : the rows of ``fit``, or others

        Returns
        -------
        labels : ndarray of shape (n_samples, 2), int32
            The own cluster and the nearest other one; −1 where there is no other.
        distances : ndarray of shape (n_samples, 2)
        """
        view = self._view(X)
        return np.column_stack([view.labels, view.second]), np.column_stack([view.dist, view.second_dist])

    def confidence(self, X: Any = None) -> Floats:
        """How certain the label of each row is: 0 half-way between two clusters, 1 at the centre of its own.

        It is 1 − distance to the own cluster / distance to the nearest other one: a margin, not a probability.
        ``confidence_`` is that of the rows of ``fit``.

        Parameters
        ----------
        X : the rows of ``fit``, or others

        Returns
        -------
        confidence : ndarray of shape (n_samples,)
            Where X is on a GPU, so is this.
        """
        if is_on_device(X) and getattr(self, "engine", None) == "gpu":
            return placed_like(confidence_of(self._distances(X)), X)
        return self._view(X).confidence

    def outlier_score(self, X: Any, false_alarms: float = FALSE_ALARMS) -> Floats:
        """The distance of each row relative to the usual distances in a cluster; above 1, the row belongs to no
        cluster.

        This is the distance to a cluster over the distance that a share of ``false_alarms`` of its rows exceeds, the
        least over all clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        false_alarms : float, default=0.001
            The share of rows of a cluster with a score above 1, if their squared distances have a gamma distribution.
            Those of round Gaussian clusters have one. In clusters stretched three to one, up to six in a thousand rows
            score above 1 at the default.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Where X is on a GPU, so are these.

        Notes
        -----
        The distribution is fitted to the lower quartile and the median of each cluster, so that outliers among the rows
        of ``fit`` hardly change it. Two kinds of clusters are ignored: those of fewer than five rows, and those that
        consist of outliers themselves. The latter hold less than a tenth of the rows and are more than twice as wide as
        usual. Of Gaussians, so does one of less than a quarter of the rows that is more than three times as wide as
        usual and lies around most of the other rows.
        """
        require_false_alarms(false_alarms)
        check_is_fitted(self)
        return placed_like(outlier_scores_of(self._distances(X), self._limits(false_alarms)), X)

    def _limits(self, false_alarms):
        """The distance from each cluster beyond which a row is an outlier, (k,)."""
        return self._model_.spreads.limits(false_alarms)

    @property
    def _n_features_out(self):
        """The columns that ``transform`` gives, where there is one: distances to all clusters."""
        return self.n_clusters_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX=700):
        told = _told(self)
        return super().__repr__(N_CHAR_MAX) + (f"  # {told}" if told else "")

    def _repr_mimebundle_(self, **kwargs):
        bundle, told = super()._repr_mimebundle_(**kwargs), _told(self)
        if told and "text/html" in bundle:
            bundle["text/html"] = f"<p>{escape(told)}</p>{bundle['text/html']}"
        return bundle

    def __getattr__(self, name):
        # No properties: dir(), and so scikit-learn's display in a notebook, would start the computation.
        if name == "confidence_":
            check_is_fitted(self)
            return _of_fit(self, name, lambda view: view.confidence)
        if name == "exemplars_":
            check_is_fitted(self)
            return _of_fit(self, name, _exemplars)
        if name == "labels_" and "n_passes_" in self.__dict__:
            raise AttributeError(
                "labels_ is not kept after a fit on files; write labels with predict(rows, out='folder'), or get them "
                "in memory with predict(rows)."
            )
        return object.__getattribute__(self, name)  # raises again, also what a property raised


def _told(estimator):
    """How many clusters a fitted estimator has, how sure that is, and their sizes; nothing before the fit."""
    if not _is_fitted(estimator):
        return ""
    labels = vars(estimator).get("labels_")
    if not isinstance(labels, np.ndarray):  # of files, or of workers
        return in_words(estimator)
    sizes = np.bincount(labels[labels >= 0])
    shown = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES]) + (", …" if len(sizes) > _MOST_SIZES else "")
    return f"{in_words(estimator).rstrip('.')}; sizes {shown}"


def _is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return hasattr(estimator, "n_clusters_")


# What gives the same for any rows.
_OF_ROWS = {"confidence_": "confidence(X)", "exemplars_": "summary(X), whose clusters have exemplars"}


class RowsOfFit:
    """The rows of a fit for as long as the caller keeps them, and what is ``known`` of them once it is computed.

    Copies and pickles of a model have neither.
    """

    def __init__(self, X=None) -> None:
        self._reference = None
        with contextlib.suppress(TypeError):  # None, and lists, which cannot be referred to
            self._reference = weakref.ref(X)
        self.known: dict[str, Any] = {}

    @property
    def rows(self):
        return None if self._reference is None else self._reference()

    def __reduce__(self):
        return RowsOfFit, ()


def publish(estimator, X, attributes, columns=None):
    """Set all fitted attributes at once, after the fit has succeeded; those of an earlier fit that are not set go.

    ``X`` is what the user gave. It is remembered without being kept in memory, and the number and the names of its
    columns are noted, or those of ``columns`` where X is no table.
    """
    for stale in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("__")]:
        delattr(estimator, stale)
    frames.note_columns(estimator, X if columns is None else columns)
    for name, value in attributes.items():
        setattr(estimator, name, value)
    return remember(estimator, X)


def remember(estimator, X):
    """Note the rows of a fit, without keeping them in memory."""
    estimator._rows_of_fit_ = RowsOfFit(X)
    return estimator


def rows_of_fit(estimator):
    """What is known of the rows of a fit; nothing of those of a loaded model."""
    return estimator.__dict__.get("_rows_of_fit_", RowsOfFit())


def report(self, path, X=None, feature_names=None, **about):
    """Write a page about the clusters.

    Parameters
    ----------
    path : str or path
        The HTML file.
    X : array of shape (n_samples, n_features)
        The rows of ``fit``; may be left out while these are still in memory.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of X.
    **about
        ``title``, ``encoder`` and ``row_numbers`` as in :func:`kfree.report.write_report`.

    Returns
    -------
    self : the estimator
    """
    X = rows_of_fit(self).rows if X is None else X
    require_rows(X, self)
    # Pages are above estimators, and are loaded when one is asked for.
    import_module("kfree.report").write_report(path, self, X, feature_names, **about)
    return self


def rows_like_those_of_fit(estimator, X):
    """Validated rows with the columns of the fit."""
    check_is_fitted(estimator)
    check(estimator, estimator._constraints_of_methods)
    rows = validated_rows(X, estimator)
    frames.require_columns_of_fit(estimator, X)
    return rows


def require_rows(X, estimator):
    """Raise if there is no fit, or if X is None."""
    check_is_fitted(estimator)
    if X is None:
        raise ValueError(f"X=None is not allowed: {type(estimator).__name__} does not keep its rows. Give X.")


def or_new(estimator, labels, X, allow_new):
    """Labels, −1 where a row is an outlier and ``allow_new`` is true."""
    if not allow_new:
        return labels
    lib = namespace_of(labels)
    return lib.where(estimator.outlier_score(X) > 1, lib.full_like(labels, -1), labels)


def digest_of(rows):
    """A digest that tells the rows of a fit from others."""
    state = hashlib.sha256(repr((rows.shape, rows.dtype.str)).encode())
    arrays = [rows.data, rows.indices, rows.indptr] if sp.issparse(rows) else [rows]
    for array in arrays:
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


def _of_fit(estimator, name, compute):
    """What ``compute`` makes of a view of the rows of ``fit``, when it is first asked for.

    An estimator does not keep its rows, so this takes the object that was given to ``fit``, unchanged and still in
    memory.
    """
    fitted = rows_of_fit(estimator)
    if name not in fitted.known:
        if fitted.rows is None and not hasattr(estimator, "adjacency_"):
            raise AttributeError(
                f"{name} needs the rows of fit. {type(estimator).__name__} does not keep them, and they are no "
                f"longer in memory. Use {_OF_ROWS[name]}."
            )
        view = estimator._view(fitted.rows)
        if not np.array_equal(view.labels, in_memory(estimator.labels_)):
            raise AttributeError(
                f"{name} needs the rows of fit, and predict gives these rows labels that differ from labels_: they, "
                f"or the clusters, have changed since. Use {_OF_ROWS[name]}."
            )
        fitted.known[name] = compute(view)
    return fitted.known[name]


def _exemplars(view):
    """The row nearest to each cluster, (k,); −1 for a cluster without rows."""
    return np.array([rows[0] if rows else -1 for rows in exemplars_of(view, 1)], dtype=np.int64)
