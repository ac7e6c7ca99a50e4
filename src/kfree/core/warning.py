"""Warnings that point to the line of the caller, however deep in kfree or scikit-learn they are raised."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OWN = ("kfree", "sklearn")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside kfree and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _OWN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def warnings_kept(texts: list[str]) -> Iterator[None]:
    """Warnings within are given at the end, and added to ``texts`` even where the caller shows none."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            found = list(told)
    for warning in found:
        texts.append(f"warning: {warning.message}")
        warn(str(warning.message), warning.category)


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
