"""Some rows of a stream, from which the spreads of its clusters are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from kfree.core.hashing import hashed
from kfree.core.marks import FINITE, Shape
from kfree.core.stats import Floats, Index

# Rows that are kept: at most so many, and fewer of many columns.
_MOST_ROWS, _FEWEST_ROWS, _MOST_VALUES = 4000, 100, 1 << 21


@dataclass(frozen=True)
class StreamSample:
    """Rows drawn without replacement, with chances in proportion to the weights that the stream remembers.

    A row of weight w has the key log(−log u) − log w, where u is a hash of its number, and the rows with the smallest
    keys are kept (Efraimidis & Spirakis 2006). So the sample does not depend on how the stream is divided into chunks.
    """

    rows: Annotated[Floats, Shape("sampled", "f"), FINITE]
    keys: Annotated[Floats, Shape("sampled"), FINITE]

    @classmethod
    def empty(cls, n_features: int) -> StreamSample:
        """No rows yet."""
        return cls(np.empty((0, n_features)), np.empty(0))

    def extended(
        self, X: Any, weight: Floats | None, order: Index | None, n_before: int, half_life: float | None
    ) -> StreamSample:
        """The sample after further rows, which come in ``order`` after ``n_before`` others."""
        numbers = np.arange(n_before, n_before + X.shape[0])
        uniform = (np.right_shift(hashed(n_before, n_before + X.shape[0]), np.uint64(11)) + 0.5) * 2.0**-53
        keys = np.log(-np.log(uniform)) - (0.0 if half_life is None else numbers * (np.log(2.0) / float(half_life)))
        places = np.arange(X.shape[0]) if order is None else order
        if weight is not None:
            with np.errstate(divide="ignore"):
                keys = keys - np.log(weight[places])
        most = int(np.clip(_MOST_VALUES // X.shape[1], _FEWEST_ROWS, _MOST_ROWS))
        highest = np.inf if len(self.keys) < most else self.keys.max()
        new = np.flatnonzero(keys < highest)
        if not len(new):
            return self
        new = new[np.argsort(keys[new], kind="stable")[:most]]
        some = X[places[new]]
        rows = np.concatenate([self.rows, some.toarray() if sp.issparse(some) else np.asarray(some, dtype=np.float64)])
        joined = np.concatenate([self.keys, keys[new]])
        kept = np.sort(np.argsort(joined, kind="stable")[:most])
        return StreamSample(rows[kept], joined[kept])
