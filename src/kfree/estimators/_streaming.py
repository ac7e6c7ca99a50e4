"""Results of a stream at any time, and the input of its rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.core.frame import differences_overflow
from kfree.estimators._centres import CentreClusterer
from kfree.estimators._events import places_of
from kfree.objectives.dp_means import DPMeansObjective
from kfree.validation.rows import validated_rows

# Differences between values up to this size do not overflow.
_LARGEST = np.finfo(np.float64).max / 4


class StreamClusterer(CentreClusterer):
    """Base of estimators that learn from chunks: results are computed from the stream when they are read."""

    _labels_: Any
    _last_: Any
    _log_: Any

    @property
    def cluster_centers_(self):
        stream = self._begun_stream()
        return stream.frame.outward(stream.sites.centres)

    @property
    def cluster_ids_(self):
        return self._begun_stream().ids

    @property
    def weights_(self):
        return self._begun_stream().weights

    @property
    def n_clusters_(self):  # type: ignore[override]
        return len(self._begun_stream().ids)

    @property
    def joined_ids_(self):
        return self._begun_stream().cluster_ids(self._joined_)

    @property
    def labels_(self):
        stream = self._begun_stream()
        if self._labels_ is None:
            self._labels_ = places_of(stream.cluster_ids(self._last_), stream.ids)
        return self._labels_

    @property
    def lam_(self):
        return self._begun_stream().lam

    @property
    def n_rows_seen_(self):
        return self._begun_stream().n_rows

    @property
    def events_(self):
        return self._begun_log().as_array()

    @property
    def n_events_(self):
        return self._begun_log().n_events

    @property
    def _frame_(self):
        return self._begun_stream().frame

    @property
    def _sites_(self):
        sites = self._begun_stream().sites
        if not len(sites.uids):
            raise ValueError("no row of positive weight was given yet, so there is no cluster. Call partial_fit first.")
        return sites

    @property
    def _objective_(self):
        return DPMeansObjective(self.lam_)

    @property
    def _order_(self):
        """Clusters are published oldest first, as a stream numbers them."""
        return np.arange(self.n_clusters_)

    @property
    def _rank_(self):
        return np.arange(self.n_clusters_, dtype=np.int32)

    def _limits(self, false_alarms):
        return np.full(self.n_clusters_, np.sqrt(self.lam_))

    def _begun_stream(self):
        check_is_fitted(self)
        return self._stream_

    def _begun_log(self):
        check_is_fitted(self)
        return self._log_

    def _new_rows(self, X):
        """Validated rows that start a stream. Fitted attributes are not changed yet."""
        rows = _subtractable(validated_rows(X, self))
        validate_data(BaseEstimator(), X, skip_check_array=True)  # column names that _publish_chunk could not keep
        return rows

    def _next_rows(self, X):
        """Validated rows that continue a stream."""
        rows = _subtractable(validated_rows(X, self))
        validate_data(self, X, skip_check_array=True, reset=False)
        return rows

    def _publish_chunk(self, X, stream, log, joined, last, labels=None):
        """Set all fitted attributes; called only after the chunk has been processed.

        ``joined`` holds the cluster that each row joined, ``last`` its successor by now; ``labels`` is given if these
        differ.
        """
        if not hasattr(self, "_stream_") or log is not self._log_:
            validate_data(self, X, skip_check_array=True, reset=True)
            self._settings_ = self._settings()
        self._forget_cost()
        self._stream_, self._log_ = stream, log
        self._joined_, self._last_, self._labels_ = joined, last, labels
        self._remember(X)

    def _nothing_came(self, X):
        """An empty chunk changes nothing but the labels of the last chunk, of which there are none."""
        if getattr(X, "ndim", 1) == 2:
            validate_data(self, X, skip_check_array=True, reset=False)
        self._joined_ = self._last_ = np.empty(0, dtype=np.int64)
        self._labels_ = np.empty(0, dtype=np.int32)
        return self._remember(None)

    def _forget_cost(self):
        """Delete the cost of a fit, which is not valid for moved centres."""
        for name in ("inertia_", "cost_"):
            self.__dict__.pop(name, None)


def has_no_rows(X):
    """Whether X is an empty chunk, of whatever type."""
    return X.shape[0] == 0 if hasattr(X, "shape") else hasattr(X, "__len__") and len(X) == 0


def _subtractable(rows):
    values = rows.data if sp.issparse(rows) else rows
    if values.size and values.dtype == np.float64 and max(values.max(), -values.min()) > _LARGEST:
        raise differences_overflow()
    return rows
