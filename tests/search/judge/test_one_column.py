"""The judge of one column: counts of rows between centres by hand."""

import numpy as np
import pytest

from kfree.search.judge.k_means import Clustering
from kfree.search.judge.one_column import _valleys


def test_rows_between_two_centres_are_compared_with_the_emptier_centre():
    # Windows of reach 1 around the centres 0 and 6 and the middle 3 hold 4, 3 and 1 rows.
    values = np.array([-1.0, 0.0, 0.5, 1.0, 3.5, 5.5, 6.0, 6.5])
    found = Clustering(np.array([0, 0, 0, 0, 0, 1, 1, 1]), np.array([[0.0], [6.0]]))
    assert _valleys(values, found) == pytest.approx((2 / 3, 1.0, 1.0))


def test_very_small_clusters_show_nothing():
    found = Clustering(np.array([0, 0, 0, 1, 1]), np.array([[0.0], [6.0]]))
    assert _valleys(np.array([0.0, 0.0, 0.0, 6.0, 6.0]), found) == (0.0, 0.0, 0.0)
