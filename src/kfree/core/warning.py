"""Warnings that point to the line of the caller, however deep in kfree or scikit-learn they are raised."""

import sys
import warnings
from collections.abc import Callable
from typing import Any

_OWN = ("kfree", "sklearn")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside kfree and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _OWN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class RewordedWarnings:
    """A context that holds back the warnings of its body, and gives them when it ends, with other texts.

    ``reword(text)`` returns what a warning is to say. Where the body raises an exception, the warnings become notes of
    it, since they may name its cause. This is a class, because a generator would put the frame of contextlib between a
    warning and the caller that it is for.
    """

    def __init__(self, reword: Callable[[str], str]):
        self._reword, self._catching = reword, warnings.catch_warnings(record=True)

    def __enter__(self) -> None:
        caught = self._catching.__enter__()
        assert caught is not None  # as warnings are recorded
        self._caught = caught
        warnings.simplefilter("always")

    def __exit__(self, *error: Any) -> None:
        self._catching.__exit__(*error)
        if isinstance(error[1], Exception):
            for text in dict.fromkeys(str(warning.message) for warning in self._caught):
                error[1].add_note(self._reword(text))
            return
        for warning in self._caught if error[0] is None else ():
            warn(self._reword(str(warning.message)), warning.category)


def warn_penalty_rose(max_clusters: int | None, given: float, lam: float) -> None:
    """Say that a stream has reached its limit, after which its penalty is not the one that was asked for."""
    warn(
        f"max_clusters={max_clusters} was reached: the penalty of this stream was raised from {given:g} to {lam:g}, so "
        "that clusters merge, and may rise further. lam_ is the current one. Raise max_clusters, or lam."
    )


def warn_cut_short(estimator: str, limit: str, value: Any) -> None:
    """Say that a search ended at the parameter ``limit``, before no move lowered its cost."""
    from sklearn.exceptions import ConvergenceWarning  # readers of files warn too, and need no scikit-learn

    warn(
        f"{estimator} did not converge within {limit}={value}; the clustering is valid but a longer search may improve "
        f"it. Raise {limit}.",
        ConvergenceWarning,
    )


def warn_full(estimator: Any, what: str) -> None:
    """Say that a search ended with as many clusters as are allowed, if it did."""
    most = estimator.max_clusters
    if most is not None and estimator.n_clusters_ >= most:
        warn(f"max_clusters={most} was reached; more clusters may lower the {what}. Raise max_clusters.")
