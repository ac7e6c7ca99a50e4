"""How sure a number of clusters is, in words."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

# Clusters with a lower Jaccard index are not found again in halves of the rows (Hennig 2007).
_STABLE = 0.75
# Clusters that are named.
_MOST_NAMED = 5


def in_words(model: Any) -> str:
    """How many clusters a fitted model has, and how sure that is: "4 clusters, clear"."""
    k = int(model.n_clusters_)
    if hasattr(model, "k_interval_"):
        return _by_halves(model, k)
    path = getattr(model, "path_", None)
    if hasattr(path, "is_sure"):
        return in_words_of_path(path, k)
    if any(getattr(model, name, None) is not None for name in ("target_k", "n_clusters", "levels")):
        return f"{counted(k)}, as asked for"
    if isinstance(getattr(model, "lam", None), Real):
        return f"{counted(k)} at the penalty that was given"
    return counted(k)


def counted(k: int, word: str = "cluster") -> str:
    """A number of clusters, or of other things."""
    return f"{k:,} {word}{'s' * (k != 1)}"


def _by_halves(model: Any, k: int) -> str:
    """From fits of halves of the rows, as AutoCluster makes them."""
    low, high = model.k_interval_
    if k == 1:
        found = "no separate groups" if model.candidates_ else "not judged"
        others = "" if high == 1 else f" Some halves of the rows show {'2' if high == 2 else f'up to {high}'} clusters."
        return f"{found}: {_after_colon(model.reason_)}{others} For a practical division give k."
    if model.is_sure_:
        return f"{counted(k)}, clear"
    if low != high:
        numbers = f"{low} or {high}" if high == low + 1 else f"{low} to {high}"
        return f"{numbers} clusters ({k} shown): not sure, because halves of the rows show different numbers"
    if not np.any(model.stability_):  # no halves were compared
        return f"{counted(k)}: not sure. {model.reason_}"
    unstable = [str(c) for c in np.flatnonzero(np.asarray(model.stability_) < _STABLE)]
    which = ", ".join(unstable[:_MOST_NAMED]) + (", …" if len(unstable) > _MOST_NAMED else "")
    return f"{counted(k)}: not sure, because halves of the rows do not show the same cluster {which}"


def in_words_of_path(path: Any, k: int) -> str:
    """The same from the density dips of a lam path."""
    if k == 1:
        return f"no separate groups: nowhere do rows thin out between two centres{_closest(path)}"
    found = path.summary()
    if found.get("judged_k") is not None:
        return f"{counted(k)}, by comparison with rows without clusters (score {found['judged_score']:.2f} of 1)"
    if path.is_sure:
        return f"{counted(k)}, clear"
    second = "" if found["runner_up"] in (None, k) else f"; the runner-up is k = {found['runner_up']}"
    weakest = found["weakest"]
    if weakest is None or not np.isfinite(weakest):
        why = "some clusters have too few rows for a test"
    elif weakest <= 0:
        why = "rows do not thin out between two of them"
    else:
        why = f"the weakest gap between two of them is {weakest:.1f} standard deviations from no gap"
    has_no_gap = weakest is not None and weakest <= 0
    sure = "not sure, because" if path.is_doubtful or has_no_gap else "likely, though"
    return f"{counted(k)}: {sure} {why}{second}"


def _closest(path: Any) -> str:
    """The step that comes nearest to enough evidence, and what to do."""
    closest = path.closest() if hasattr(path, "closest") else None
    if closest is None or closest[0].evidence <= 0:
        return ". For a practical division give k."
    step, needed = closest
    return f"; closest is k = {step.k} (evidence {step.evidence:.1f} of {needed:.1f}). For a practical division give k."


def _after_colon(reason: str) -> str:
    """A reason without the number of clusters that it begins with."""
    return reason.partition(": ")[2] or reason
