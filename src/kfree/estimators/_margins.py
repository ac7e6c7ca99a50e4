"""How certain labels are: distances to the two nearest clusters, of any rows or of those of the fit."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kfree.explain import View
from kfree.validation.tensors import in_memory


class RowsOfFit:
    """The rows of a fit for as long as the caller keeps them, and their confidence once it is computed.

    Copies and pickles of a model have neither.
    """

    def __init__(self, X=None):
        self._reference: weakref.ref[Any] | None = None
        with contextlib.suppress(TypeError):  # None, and lists, which cannot be referred to
            self._reference = weakref.ref(X)
        self.confidence = None

    @property
    def rows(self):
        return None if self._reference is None else self._reference()

    def __reduce__(self):
        return RowsOfFit, ()


class Margins:
    """For estimators with ``_view(X)``, whose fits end with ``_remember(X)``.

    ``confidence_`` is the confidence of the rows of ``fit``, computed when it is first asked for. An estimator does not
    keep its rows, so this takes the object that was given to ``fit``, unchanged and still in memory.
    """

    _view: Callable[..., View]
    # Whether ``_view(None)`` is the view of the fit.
    _keeps_rows = False

    def nearest_two(self, X=None):
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

    def confidence(self, X=None):
        """How certain the label of each row is: 0 half-way between two clusters, 1 at the centre of its own.

        It is 1 − distance to the own cluster / distance to the nearest other one: a margin, not a probability.
        ``confidence_`` is that of the rows of ``fit``.

        Parameters
        ----------
        X : the rows of ``fit``, or others

        Returns
        -------
        confidence : ndarray of shape (n_samples,)
        """
        return self._view(X).confidence

    def __getattr__(self, name):
        # No property: dir(), and so scikit-learn's display in a notebook, would start the computation.
        if name != "confidence_":
            return object.__getattribute__(self, name)  # raises again, also what a property raised
        check_is_fitted(self)
        fitted = self._fitted_rows
        if fitted.confidence is None:
            fitted.confidence = self._confidence_of(fitted.rows)
        return fitted.confidence

    @property
    def _fitted_rows(self):
        """The note of the rows of fit, which a loaded model lacks."""
        return self.__dict__.get("_rows_of_fit_", RowsOfFit())

    def _remember(self, X):
        """Note the rows of a fit, without keeping them in memory; called when the fit has succeeded."""
        self._rows_of_fit_ = RowsOfFit(X)
        return self

    def _confidence_of(self, rows):
        if rows is None and not self._keeps_rows:
            raise AttributeError(
                f"confidence_ needs the rows of fit. {type(self).__name__} does not keep them, and they are no longer "
                "in memory. Use confidence(X)."
            )
        view = self._view(rows)
        if not np.array_equal(view.labels, in_memory(self.labels_)):
            raise AttributeError(
                "confidence_ needs the rows of fit, and predict gives these rows labels that differ from labels_: "
                "they, or the clusters, have changed since. Use confidence(X)."
            )
        return view.confidence
