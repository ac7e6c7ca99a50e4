"""Which columns have to do with clusters: neighbours are more alike in them than in surrogates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from kfree.core.one_hot import one_hot_groups
from kfree.core.stats import Floats, Index
from kfree.search.judge.choose import Judge, Views

# Standard deviations by which neighbours must be more alike in a column than neighbours of surrogates. Noise seldom
# reaches 1.1 beside clusters, and one column of it hides nothing.
_ALIKE = 1.0


def columns_of_clusters(judge: Judge, rows: Floats) -> Index:
    """Columns in which rows that are linked by all columns together differ less than in surrogates.

    Columns of noise hide clusters in distances between rows before they hide them here, where each column is asked
    alone. ``rows`` are those of the judge before they were dithered. The columns of a category are kept or left
    together.
    """
    variables = _variables(rows)
    found = _differences(judge.views, variables)
    expected = np.array([_differences(one, variables) for one in judge.surrogates])
    n = len(expected)
    deviation = np.sqrt(expected.var(axis=0, ddof=1).mean() * (1 + 1 / n))
    kept = expected.mean(axis=0) - found >= _ALIKE * deviation
    return np.concatenate([np.arange(0), *(group for group, is_kept in zip(variables, kept, strict=True) if is_kept)])


def _variables(rows: Floats) -> list[Index]:
    """Columns by variable: those of a category together, any other alone."""
    groups = {int(group[0]): group for group in one_hot_groups(rows)}
    inside = {int(column) for group in groups.values() for column in group[1:]}
    return [groups.get(j, np.array([j])) for j in range(rows.shape[1]) if j not in inside]


def _differences(views: Views, variables: Sequence[Index]) -> Floats:
    """For each variable the mean squared difference of ranks along links."""
    rank = rankdata(views.rows[0], axis=0) / len(views.rows[0])
    near = views.near[0]
    along = np.array([np.mean((column[near] - column[:, None]) ** 2) for column in rank.T])
    return np.array([along[group].mean() for group in variables])
