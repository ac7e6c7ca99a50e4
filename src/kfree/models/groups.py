"""Clusters that groups share: rows of known groups go to clusters that these use, new groups choose theirs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kfree.core.fields import PerCluster
from kfree.core.frame import Frame
from kfree.core.label_order import ranks
from kfree.core.marks import Shape
from kfree.core.sites import Sites
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels, Used
from kfree.engines.contract import Pass
from kfree.engines.local.grouped import GroupedRows
from kfree.explain.spread import spread_sample
from kfree.models.centres import CentreModel
from kfree.models.feature_space import FeatureSpace
from kfree.objectives.hdp import HDPObjective
from kfree.search.result import Result
from kfree.validation.rows import require_sound_centres


@dataclass(frozen=True)
class GroupModel(CentreModel):
    """``used`` (k, number of groups) says which of ``groups`` use which cluster; ``weights`` (k,) are of the clusters.

    ``space`` gives coordinates in the feature space of a kernel; None for rows as they are.
    """

    objective: HDPObjective
    used: Annotated[Used, Shape("k", "groups")] = field(default=cast(Used, None), kw_only=True)
    weights: PerCluster = field(default=cast(Floats, None), kw_only=True)
    groups: Annotated[NDArray[Any], Shape("groups")] = field(default=cast(Any, None), kw_only=True)
    space: FeatureSpace | None = field(default=None, kw_only=True)

    def seen(self, rows: ArrayOrCSR) -> ArrayOrCSR:
        """Rows in the coordinates of the fit: unchanged, or those of the kernel's feature space."""
        return rows if self.space is None else self.space.of(rows)

    def grouped(
        self, rows: ArrayOrCSR, group: Index, weight: Floats | None, name: str, n_threads: int | None
    ) -> tuple[GroupedRows, Floats]:
        """Rows in the coordinates of the fit, and the centres in those of the rows."""
        frame, centres = self.frame, self.centres
        if sp.issparse(rows):
            frame, centres = Frame.plain(rows.shape[1]), frame.outward(centres)
        require_sound_centres(centres, rows.shape[1])
        opened = GroupedRows.open(name, rows, group, weight=weight, frame=frame, n_threads=n_threads)
        return opened.penalised(self.objective.lam_local), centres

    def assigned(self, rows: GroupedRows, centres: Floats, names: NDArray[Any]) -> Pass:
        """Rows of known groups one by one, those of new groups together; ``names`` are those of the groups of rows."""
        place = {name: number for number, name in enumerate(self.groups.tolist())}
        known = np.array([place.get(name, -1) for name in names.tolist()])
        sites = Sites.of(centres).used_by(self.used[:, known] & (known >= 0))
        is_new = (known < 0)[rows.group]
        labels = np.empty(rows.n_rows, dtype=np.int32)
        if not is_new.all():
            one_by_one = rows.weightless().visit(sites, np.inf)
            labels = rows.labels(one_by_one.assignment)
        if is_new.any():
            together = rows.nearest(Sites.of(centres))
            labels = np.where(is_new, rows.labels(together.assignment), labels)
        return rows.pass_of_labels(labels, centres)

    def with_old_clusters(
        self, rows: ArrayOrCSR, group: Index, weight: Floats | None, name: str, n_threads: int | None
    ) -> tuple[GroupedRows, Sites]:
        """Further rows together with the old clusters, each of which is one heavy row and a group of its own.

        Its cost in any cluster differs from that of its rows by a constant.
        """
        old, k = self.frame.outward(self.centres), len(self.centres)
        all_rows = sp.vstack([old, rows], format="csr") if sp.issparse(rows) else np.vstack([old, rows])
        all_weights = np.concatenate([self.weights, np.ones(len(group)) if weight is None else weight])
        groups = np.concatenate([np.arange(k), k + group])
        opened, centres = self.grouped(all_rows, groups, all_weights, name, n_threads)
        used = np.zeros((k, opened.n_groups), dtype=bool)
        np.fill_diagonal(used, True)
        return opened, Sites.of(centres).used_by(used)

    def extended(
        self, points: ArrayOrCSR, names: NDArray[Any], result: Result, name: str, n_threads: int | None
    ) -> GroupModel:
        """The model after a search over old clusters and further rows, ``points``; clusters keep their order."""
        state, k, labels = result.state, len(self.weights), result.labels
        # A cluster takes the place of the first old one that went into it; new ones come last.
        place = np.full(len(state.sites.uids), k)
        np.minimum.at(place, labels[:k], self.rank)
        order = np.argsort(place, kind="stable")
        used = np.zeros((len(state.sites.uids), self.used.shape[1]), dtype=np.bool_)
        np.logical_or.at(used, labels[:k], self.used)
        placed = replace(self, frame=result.rows.frame, centres=state.sites.centres, order=order)
        return replace(
            placed,
            sample=spread_sample(placed.distances(points, name, n_threads), ranks(order)[labels[k:]], None),
            used=np.hstack([used, state.stats.users[:, k:]]),
            weights=state.stats.n,
            groups=np.concatenate([self.groups, names]),
        )


def numbers_within(group: Index, labels: Labels, n_clusters: int) -> Labels:
    """Labels counted from 0 within each group, in the order of the labels."""
    pairs, local = np.unique(group * n_clusters + labels, return_inverse=True)
    owner = pairs // n_clusters
    first = np.searchsorted(owner, np.arange(group.max() + 1))
    return np.asarray(local - first[owner[local]], dtype=np.int32)
