"""Clusterings at the steps of a staircase, precomputed for the slider of the report page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kfree.core.progress import tell
from kfree.explain import View

# Steps on the slider, and rows from which steps other than the model's own are clustered.
MOST_STEPS = 16
_FINE_STEPS_UP_TO = 8
SAMPLE = 4000


@dataclass(frozen=True)
class SliderStep:
    """A clustering of all rows: labels, a view of some rows by their numbers, and its penalty on the scale of all rows.

    ``is_own`` says that it is the model that the page is about. ``note`` is shown beside the number of clusters in
    place of the penalty. ``parents`` (k,) are the clusters of the next coarser step that these lie in, if they do.
    """

    labels: Any
    view: Callable[[Any], View]
    lam: float | None = None
    is_own: bool = False
    note: str | None = None
    parents: Any = None

    @property
    def k(self):
        return int(self.labels.max(initial=0)) + 1


def slider_steps(model, X, path):
    """The model's own clustering and, of a ``path``, those of other steps, by ascending numbers of clusters."""
    own = SliderStep(np.asarray(model.labels_), lambda rows: model._view(X[rows]), float(model.lam_), True)
    sample = sampled(len(X), SAMPLE)
    share = len(sample) / len(X)
    found = {own.k: own}
    penalties = [] if path is None else _penalties(path, own.k)
    for number, lam in enumerate(penalties):
        tell("page", number / len(penalties))
        step = _clustered(model, X, X[sample], lam, share)
        if step.k not in found:
            found[step.k] = step
    return [found[k] for k in sorted(found)]


def sampled(n_rows, most):
    """Numbers of at most so many rows, ascending; the same ones every time."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def colours(steps):
    """A colour number for each cluster of each step; a cluster keeps that of the largest part it comes from."""
    numbers, n_used = [], 0
    for step, before in zip(steps, [None, *steps], strict=False):
        own = np.full(step.k, -1)
        if before is not None:
            shared = np.zeros((before.k, step.k), dtype=np.int64)
            inside = (before.labels >= 0) & (step.labels >= 0)
            np.add.at(shared, (before.labels[inside], step.labels[inside]), 1)
            for parent, child in zip(*np.unravel_index(np.argsort(-shared, axis=None), shared.shape), strict=True):
                if shared[parent, child] and own[child] < 0 and numbers[-1][parent] not in own:
                    own[child] = numbers[-1][parent]
        fresh = np.flatnonzero(own < 0)
        own[fresh] = n_used + np.arange(len(fresh))
        n_used = max(n_used, int(own.max()) + 1)
        numbers.append(own)
    return [own.tolist() for own in numbers]


def _penalties(path, own_k):
    """Penalties well inside the steps to show: all of few clusters, and the widest of the others."""
    most_k = max(3 * own_k, 30)
    wide = [j for j in range(len(path)) if path.width[j] > 0 and path.k[j] <= most_k and path.k[j] != own_k]
    few = [j for j in wide if path.k[j] <= _FINE_STEPS_UP_TO]
    others = sorted((j for j in wide if path.k[j] > _FINE_STEPS_UP_TO), key=lambda j: -path.score[j])
    return [float(path.lam[j]) for j in (few + others)[: MOST_STEPS - 1]]


def _clustered(model, X, rows, lam, share):
    """A clustering at another penalty: found on a sample, to which the penalty is scaled, and given to all rows."""
    fitted = type(model)(lam=lam * share, metric=model.metric, n_threads=model.n_threads).fit(rows)
    labels = fitted.labels_ if len(rows) == len(X) else fitted.predict(X)
    return SliderStep(np.asarray(labels), lambda some: fitted._view(X[some]), lam)
