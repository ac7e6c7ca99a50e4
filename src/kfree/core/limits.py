"""Warnings that several estimators give."""

from typing import Any

from kfree.core.warning import warn


def warn_penalty_rose(max_clusters: int | None, given: float, lam: float) -> None:
    """Say that a stream has reached its limit, after which its penalty is not the one that was asked for."""
    warn(
        f"max_clusters={max_clusters} was reached: the penalty of this stream was raised from {given:g} to {lam:g}, so "
        "that clusters merge, and may rise further. lam_ is the current one. Raise max_clusters, or lam."
    )


def warn_full(estimator: Any, what: str) -> None:
    """Say that a search ended with as many clusters as are allowed, if it did."""
    most = estimator.max_clusters
    if most is not None and estimator.n_clusters_ >= most:
        warn(f"max_clusters={most} was reached; more clusters may lower the {what}. Raise max_clusters.")
