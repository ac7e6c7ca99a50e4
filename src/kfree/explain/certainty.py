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
    if hasattr(model, "reason_"):
        return _as_judged(model, k)
    path, has_halves = getattr(model, "path_", None), hasattr(model, "k_interval_")
    if not hasattr(path, "is_sure"):
        return f"{counted(k)}{_as_given(model, k)}" + (f"; {_halves_beside(model)}" if has_halves else "")
    if not has_halves:
        return in_words_of_path(path, k)
    return _by_halves(model, k) if k > 1 else f"{in_words_of_path(path, k)}{_halves_with_more(model)}"


def _as_given(model: Any, k: int) -> str:
    """Where a parameter set the number of clusters."""
    given = (getattr(model, name, None) for name in ("target_k", "n_clusters", "levels"))
    asked = next((number for number in given if number is not None), None)
    if asked is not None:
        asked = np.ravel(asked)[-1]  # of levels, the finest
        return ", as asked for" if asked == k else f", not {asked:,} as asked for"
    return " at the penalty that was given" if isinstance(getattr(model, "lam", None), Real) else ""


def counted(k: int, word: str = "cluster") -> str:
    """A number of clusters, or of other things."""
    return f"{k:,} {word}{'s' * (k != 1)}"


def _as_judged(model: Any, k: int) -> str:
    """Of AutoCluster, which compares halves of the rows unless there are too few of them."""
    if k == 1:
        is_judged = bool(model.candidates_) or np.any(model.stability_)  # few points have no candidates, but halves
        found = "no separate groups" if is_judged else "not judged"
        return f"{found}: {_after_colon(model.reason_)}{_halves_with_more(model)} For a practical division give k."
    if not np.any(model.stability_):  # no halves were compared
        return f"{counted(k)}: not sure. {model.reason_}"
    return _by_halves(model, k)


def _by_halves(model: Any, k: int) -> str:
    """From fits of halves of the rows, each of which chose its number of clusters."""
    low, high = model.k_interval_
    if model.is_sure_:
        return f"{counted(k)}, clear"
    if low != high:
        numbers = f"{low} or {high}" if high == low + 1 else f"{low} to {high}"
        return f"{numbers} clusters ({k} shown): not sure, because halves of the rows show different numbers"
    return f"{counted(k)}: not sure, because halves of the rows do not show the same {_unstable(model)}"


def _halves_with_more(model: Any) -> str:
    """Where all rows are one cluster: whether some halves are not."""
    high = model.k_interval_[1]
    return "" if high == 1 else f" Some halves of the rows show {'2' if high == 2 else f'up to {high}'} clusters."


def _halves_beside(model: Any) -> str:
    """What halves show where a parameter set the number of clusters, which is the same for halves."""
    low, high = model.k_interval_
    if model.is_sure_:
        return "halves of the rows show the same"
    if low != high:
        return f"halves of the rows show {low} to {high}"
    return f"halves of the rows do not show the same {_unstable(model)}"


def _unstable(model: Any) -> str:
    """The clusters that are not found again in halves of the rows."""
    unstable = [str(c) for c in np.flatnonzero(np.asarray(model.stability_) < _STABLE)]
    return f"cluster {', '.join(unstable[:_MOST_NAMED])}{', …' if len(unstable) > _MOST_NAMED else ''}"


def in_words_of_path(path: Any, k: int) -> str:
    """How sure a lam path is of k: by density dips, by comparison with surrogates, or by the links of a graph."""
    if not hasattr(path, "density_dips"):
        return _by_links(path, k)
    if k == 1:
        return f"no separate groups: {_why_one(path)}. For a practical division give k."
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


def _why_one(path: Any) -> str:
    """Why rows are one cluster, and the step that comes nearest to enough evidence."""
    if getattr(path, "judged_k", None) == 1:  # whatever density dips there are
        return "rows of skewed factors without clusters may look like these"
    step, needed = path.closest() or (None, 0.0)
    if step is None or step.evidence <= 0:
        return "nowhere do rows thin out between two centres"
    if step.evidence >= needed:
        return f"rows thin out between {step.k} centres, but no more than a skewed density with a single peak may"
    closest = f"closest is k = {step.k} (evidence {step.evidence:.1f} of {needed:.1f})"
    return f"nowhere do rows thin out between two centres; {closest}"


def _by_links(path: Any, k: int) -> str:
    """From the staircase of a graph, whose evidence is nats that a description of the links saves."""
    step = path.suggest()
    if step.k == path.k[0]:
        saves = "makes the description of {} links shorter"
        if k == 1:
            none = f"no division of the graph {saves.format('its')}"
            return f"no separate groups: {none}. For a practical division give k."
        return f"{counted(k)}: the connected components; no division of these {saves.format('the')}"
    others = path.evidence[(path.k != step.k) & (path.width > 0)]
    second = np.nanmax(others, initial=0.0)
    least = f"; other numbers of clusters make it at most {second:.1f} shorter" if second > 0 else ""
    return f"{counted(k)}, which make the description of the links {step.evidence:.1f} nats shorter{least}"


def _after_colon(reason: str) -> str:
    """A reason without the number of clusters that it begins with."""
    return reason.partition(": ")[2] or reason
