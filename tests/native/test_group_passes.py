"""Passes over groups: compiled code and its NumPy twin."""

import numpy as np
import pytest

from kfree.native import _core
from kfree.native.reference import hdp, passes


@pytest.mark.parametrize("lam_local", [0.0, 1e-9])
@pytest.mark.parametrize(("held", "visit"), [(_core, _core.visit), (passes, hdp.visit)], ids=["native", "reference"])
def test_a_row_without_weight_joins_a_site_of_its_group(held, visit, lam_local):
    """Also where sites cost nothing, so that their fees do not say which of them are used."""
    X, weight = np.array([[0.0], [10.0], [10.2]]), np.array([1.0, 1.0, 0.0])
    rows = held.dense_rows(X, np.zeros(1), np.zeros(1), False, weight, "baseline")
    label, sq_dist = np.empty(3, dtype=np.int32), np.empty(3)
    groups, centres, used = (np.arange(3), np.array([0, 3])), X[:2].copy(), np.ones((1, 2), dtype=bool)
    visit(rows, *groups, centres, lam_local, 1.0, 1, used, label, sq_dist)
    assert label.tolist() == [0, 1, 1]
    np.testing.assert_allclose(sq_dist, [0.0, 0.0, 0.04])
