"""farthest_first_lambda: a penalty from the number of clusters to aim at (Kulis & Jordan 2012, §6.1)."""

from typing import Any

from kfree.engines.registry import open_engine
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.seeding import farthest_first
from kfree.validation.parameters import require_choice, require_count, whole
from kfree.validation.rows import validated_rows, validated_weights


def farthest_first_lambda(X: Any, k: int, sample_weight: Any = None, metric: str = "euclidean") -> float:
    """The penalty ``lam`` at which a DP-means sweep opens about k clusters.

    Starting from the mean of X, the row farthest from all points chosen so far is added, k times. The penalty is the
    squared distance (times the row's weight) of the last one. Use it with ``search="sweep"``. It does not suit
    split-merge search, where the best number of clusters for a fixed penalty grows with the number of rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    k : int
        The number of clusters to aim at.
    sample_weight : array-like of shape (n_samples,), default=None
    metric : {"euclidean", "cosine"}, default="euclidean"

    Returns
    -------
    lam : float
        In units of squared distance.

    Raises
    ------
    ValueError
        If X has too few distinct rows for k clusters.

    Examples
    --------
    >>> from kfree import farthest_first_lambda
    >>> farthest_first_lambda([[0.0], [0.0], [3.0], [9.0]], k=2)
    9.0
    """
    require_count("k", k)
    require_choice("metric", metric, list(OBJECTIVES))
    rows = validated_rows(X, "farthest_first_lambda")
    weight = validated_weights(sample_weight, rows.shape[0])
    engine = open_engine("auto", rows, weight=weight, unit=metric == "cosine")
    return farthest_first(engine, OBJECTIVES[metric](0.0), whole(k))
