"""Steps of the lam path tested on held-out rows: each half of a sample is clustered, and tested on the other half."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median_low

import numpy as np

from kfree.core.stats import Floats, Index
from kfree.engines.contract import MemoryRows
from kfree.objectives.dp_means import DPMeansObjective
from kfree.search.monitor import Tell
from kfree.search.path.best_by_k import BestByK, best_by_k
from kfree.search.path.density_dips import DensityDips, Trial, density_dips, median_dips, unimodality
from kfree.search.path.lattice import with_lattice_noise
from kfree.search.path.micro_clusters import MicroClusters
from kfree.search.path.step_tests import StepTests

# Number of reference rows: rows with equal distances to all of these count as equal.
_REFERENCES = 3
# Where it is a close call whether there are clusters, results are medians over the first halves and so many others.
_FURTHER_SPLITS = 4


def tested_on_halves(
    candidates: list[int],
    closely: set[int],
    score: Floats,
    stratified: tuple[MemoryRows, Index],
    objective: DPMeansObjective,
    rng: np.random.RandomState,
    tell: Tell,
) -> dict[int, DensityDips]:
    """Each half of the sample is clustered, and the clusters are tested on the other half.

    If it is a close call whether there are clusters at all, the steps in question are tested with further halves.
    Unimodality is tested where the suggestion or the runner-up depends on it.
    """
    sample, strata = stratified
    if sample.n_rows < 2 or not candidates:
        return {}

    def dips(k: int, split: _Split) -> DensityDips:
        return density_dips(split.trials(k), objective.space, closely=k in closely)

    tell("clusterings of both halves", 0.4)
    splits = [_Split.of(sample, strata, candidates, objective, rng)]
    found = {}
    for j, k in enumerate(splits[0].numbers):
        tell(f"test of k = {k}", 0.6 + 0.4 * j / len(candidates))
        found[k] = dips(k, splits[0])
    if close := [j + 1 for j in StepTests.of(found, len(score)).close_calls(score)]:
        for _ in range(_FURTHER_SPLITS):
            order = rng.permutation(sample.n_rows)
            splits.append(_Split.of(sample.among(order), strata[order], close, objective, rng))
        found |= {k: median_dips([found[k], *(dips(k, split) for split in _with(k, splits[1:]))]) for k in close}
    while steps := StepTests.of(found, len(score)).open_steps(score):
        for k in (j + 1 for j in steps):
            gates = [unimodality(split.trials(k), objective.space, found[k].look) for split in _with(k, splits)]
            found[k] = replace(found[k], unimodal_z=median_low(gates))
    return found


@dataclass(frozen=True)
class _Split:
    """Two halves of a sample, each with its best clusterings for some numbers of clusters."""

    parts: list[MemoryRows]
    clustered: list[tuple[BestByK, MicroClusters]]
    numbers: list[int]

    @classmethod
    def of(
        cls,
        sample: MemoryRows,
        strata: Index,
        candidates: list[int],
        objective: DPMeansObjective,
        rng: np.random.RandomState,
    ) -> _Split:
        whole = with_lattice_noise(sample, objective.space, rng)
        parts = [whole.among(half) for half in stratified_halves(whole, strata)]
        if min(part.n_rows for part in parts) == 0:
            return cls(parts, [], [])
        clustered = [best_by_k(part, part, objective, rng, max(candidates), is_published=False) for part in parts]
        for best, _ in clustered:
            best.climb(max(candidates) + max(candidates) // 3)
            best.keep(candidates)
        numbers = [k for k in candidates if all(best.has(k) for best, _ in clustered)]
        return cls(parts, clustered, numbers)

    def trials(self, k: int) -> list[Trial]:
        """The clusters of each half, and the rows of the other one."""
        centres = [micro.outward(best.centres(k)) for best, micro in self.clustered]
        return [Trial(*trial) for trial in zip(self.parts[::-1], centres, self.parts, strict=True)]


def _with(k: int, splits: list[_Split]) -> list[_Split]:
    return [split for split in splits if k in split.numbers]


def stratified_halves(rows: MemoryRows, strata: Index) -> tuple[Index, Index]:
    """The rows, which are in random order, in two halves of each stratum (n,); copies of a row are left out.

    Strata are clusters of all rows. Without them, a cluster of ten rows would have three in one half in every third
    draw, too few to be worth a cluster there. Which rows of a stratum go to which half is random.

    A copy of a held-out row among the training rows would attract a centre, and copies that are held out together would
    count as several observations. A value that more rows share than the square root of their number is no copied row
    but a point mass, and both halves have their part of it.
    """
    group = _equal_rows(rows)
    is_mass = np.bincount(group)[group] > math.sqrt(rows.n_rows)
    masses = np.flatnonzero(is_mass)
    masses = masses[np.argsort(group[masses], kind="stable")]
    first = np.zeros(rows.n_rows, dtype=bool)
    first[np.unique(group, return_index=True)[1]] = True
    single = np.flatnonzero(first & ~is_mass)
    single = single[np.argsort(strata[single], kind="stable")]
    return np.concatenate([single[::2], masses[::2]]), np.concatenate([single[1::2], masses[1::2]])


def _equal_rows(rows: MemoryRows) -> Index:
    """The number of each row's group of equal rows, in the order in which the groups appear."""
    references = rows.rows(np.arange(min(_REFERENCES, rows.n_rows)))
    _, first, group = np.unique(rows.sq_distances(references), axis=0, return_index=True, return_inverse=True)
    appearance = np.empty(len(first), dtype=np.int64)
    appearance[np.argsort(first)] = np.arange(len(first))
    return appearance[group.ravel()]
