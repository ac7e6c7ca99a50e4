"""Rows that clusters know by their numbers, for models that know inner products of all rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kfree.core.stats import Floats, Index, Labels
from kfree.engines.cost_rules.counts import CountRows
from kfree.engines.cost_rules.labelled import halves_along


class NumberedRows(CountRows):
    """Each row counts one event, its own number, out of as many as there are rows ``z`` (n, d); ``weight`` (n,) > 0."""

    def __init__(self, z: Floats, weight: Floats | None = None, numbers: Index | None = None):
        self._z, self._numbers = z, np.arange(len(z)) if numbers is None else numbers
        n_rows = len(self._numbers)
        each_once = np.ones(n_rows), self._numbers, np.arange(n_rows + 1)
        super().__init__(sp.csr_array(each_once, (n_rows, len(z))), np.zeros(n_rows), weight)

    def among(self, rows: Index) -> NumberedRows:
        return NumberedRows(self._z, None if self.weight is None else self.weight[rows], self._numbers[rows])

    def sides(self) -> Labels:
        z, weight = self._z[self._numbers], self.weights()[:, None]
        gaps = z - (weight * z).sum(axis=0) / weight.sum()
        scaled, (n_rows, n_features) = np.sqrt(weight) * gaps, gaps.shape
        products = scaled @ scaled.T if n_rows < n_features else scaled.T @ scaled
        axis = np.linalg.eigh(products)[1][:, -1]
        return halves_along(gaps @ (axis @ scaled if n_rows < n_features else axis))
