"""Warnings that point to the line of the caller, however deep in kfree or scikit-learn they are raised."""

import sys
import warnings

_OWN = ("kfree", "sklearn")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside kfree and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _OWN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
