"""Parameters of a stream, which stay the same from its first row on, and the stream that they begin."""

import numpy as np

from kfree.engines.local.stream import RowStream
from kfree.estimators._micro_stream import MicroStream, Penalty
from kfree.estimators._streaming import StreamClusterer
from kfree.estimators.dp_means import DPMeans
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.validation.parameters import is_positive_number, require, require_choice, require_count, require_threads

ORDERS = ["given", "random"]
SEARCHES = ["micro-clusters", "published"]
# Parameters that may not change between calls of partial_fit.
SETTINGS = ["lam", "search", "split", "n_micro", "max_clusters", "half_life", "engine"]


class StreamSettings(StreamClusterer):
    """For :class:`kfree.OnlineDPMeans`."""

    def _check_parameters(self):
        self._check_shared_parameters()
        require_choice("search", self.search, SEARCHES)
        automatic = isinstance(self.lam, str) and self.lam == "auto"
        require(
            is_positive_number(self.lam) or (automatic and self.search == "micro-clusters"),
            "lam",
            self.lam,
            "a finite number > 0, the penalty of a cluster in squared-distance units, or 'auto' with "
            "search='micro-clusters'; for a sample, give DPMeans().fit(sample).lam_ times rows remembered / rows "
            "of the sample",
        )
        require_count("n_micro", self.n_micro, least=10)
        require(isinstance(self.split, bool | np.bool_), "split", self.split, "True or False")
        require_count("max_clusters", self.max_clusters, or_none=True)
        require(
            self.half_life is None or (is_positive_number(self.half_life) and self.half_life >= 1),
            "half_life",
            self.half_life,
            "a finite number of rows ≥ 1 or None",
        )
        require_choice("order", self.order, ORDERS)

    def _check_shared_parameters(self):
        require_choice("engine", self.engine, IMPLEMENTATIONS)
        require_threads(self.n_threads)

    def _new_stream(self, rows, weight, order=None):
        half_life = None if self.half_life is None else float(self.half_life)
        n_features = rows.shape[1]
        if self.search == "published":
            return RowStream(self.engine, n_features, float(self.lam), bool(self.split), self.max_clusters, half_life)
        if self.lam == "auto":
            model = DPMeans(engine=self.engine, n_threads=self.n_threads, random_state=self.random_state)
            penalty = Penalty.of_first_rows(model, rows, weight, order)
        else:
            penalty = Penalty(fixed=float(self.lam))
        return MicroStream(self.engine, n_features, penalty, self.max_clusters, half_life, self.n_micro)

    def _settings(self):
        return {name: getattr(self, name) for name in SETTINGS}

    def _require_same_settings(self):
        for name, began_with in self._settings_.items():
            value = getattr(self, name)
            require(
                value == began_with,
                name,
                value,
                f"{began_with!r}, the value at the start of this stream, or call fit to start a new one",
            )
