"""Queries: pure functions of rows that run on workers, and how their answers about consecutive rows are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.core.stats import Floats
from kfree.engines.drawing import Region, RegionRows, joined_rows
from kfree.engines.files.facts import Drawn, Facts, facts_of, first_counting_row, joined_facts
from kfree.engines.files.part import Recipe, StreamPart
from kfree.engines.files.source import Reading, RowSource
from kfree.engines.files.sums import SumStack
from kfree.engines.parts import NodeSums, joined

# A worker may run so many tasks of a pass at the same time, if it has the threads.
TASKS_AT_ONCE = 2


@dataclass(frozen=True)
class Held:
    """What all tasks of an engine need: where the rows are, the frame, how they are streamed, and their number."""

    source: RowSource | None
    frame: Frame
    reading: Reading
    n_rows: int

    def part(self, begin: int, end: int) -> StreamPart:
        """The passes over some rows, on the threads of the worker that this runs on."""
        assert self.source is not None  # blocks of a collection are put in its place by their tasks
        reading = self.reading
        if reading.n_threads is None:
            reading = replace(reading, n_threads=threads_per_task())
        return StreamPart(self.source, begin, end, self.frame, reading, end - begin)

    def fewest(self, sums: NodeSums, begin: int, end: int) -> NodeSums:
        """Sums of the rows ``begin`` … ``end`` − 1 as one node, where these are the last rows and within one node.

        Blocks beyond the last one are absent, so that their part of the node is complete without them.
        """
        block = self.reading.passes.BLOCK
        first, size = begin // block, -(-(end - begin) // block)
        level = (size - 1).bit_length()
        if end < self.n_rows or first % (1 << level):
            return sums
        return NodeSums(((level, first >> level),), tuple(total[None] for total in joined([sums])))


class Query(NamedTuple):
    """``ask(held, shared, begin, end)`` answers for some rows; ``join`` makes one answer of several, in row order."""

    name: str
    ask: Callable[[Held, Any, int, int], Any]
    join: Callable[[Sequence[Any]], Any]


def threads_per_task() -> int:
    """The threads of a worker, divided among the tasks that it may run at the same time."""
    try:
        n_threads = import_module("distributed").get_worker().state.nthreads
    except ValueError:  # not on a worker
        return 1
    return max(1, -(-int(n_threads) // TASKS_AT_ONCE))


def merged(found: Sequence[NodeSums]) -> NodeSums:
    """Sums of consecutive blocks by as few nodes as possible; later ones may know more clusters."""
    stack = SumStack()
    for one in found:
        stack.push(one)
    return stack.by_node(max(one.sums[0].shape[1] for one in found))


def _look(held: Held, sample: tuple[int, int, float], begin: int, end: int) -> Facts:
    size, seed, highest_key = sample
    part = held.part(begin, end)
    facts = facts_of(part.source, begin, end, held.frame, part.reading, size, seed)
    sums = held.fewest(facts.sums, begin, end)
    return replace(facts, sums=sums, drawn=_below(facts.drawn, highest_key))


def _below(drawn: Drawn, highest_key: float) -> Drawn:
    """Rows with keys up to a limit, which almost certainly are all that the sample of all rows needs."""
    kept = drawn.keys <= highest_key
    weight = None if drawn.weight is None else drawn.weight[kept]
    return replace(drawn, keys=drawn.keys[kept], rows=drawn.rows[kept], X=drawn.X[kept], weight=weight)


def _join_facts(found: Sequence[Facts]) -> Facts:
    return replace(joined_facts(found), sums=merged([one.sums for one in found]))


def _first_row(held: Held, _: None, begin: int, end: int) -> Floats | None:
    return first_counting_row(held.part(begin, end).source, begin, end, held.reading)


def _first(found: Sequence[Any]) -> Any:
    return next((one for one in found if one is not None), None)


class Sums(NamedTuple):
    """Sums by node, and how many distances they took."""

    nodes: NodeSums
    n_distances: int


def _join_sums(found: Sequence[Sums]) -> Sums:
    return Sums(merged([one.nodes for one in found]), sum(one.n_distances for one in found))


def _nearest(held: Held, sites: Sites, begin: int, end: int) -> Sums:
    part = held.part(begin, end)
    _, partial = part.nearest(sites)
    return Sums(held.fewest(partial.by_node(), begin, end), part.n_distances)


class SumsAndRows(NamedTuple):
    """Sums of a pass, and the rows of a region that may be drawn; ``size`` are."""

    sums: Sums
    rows: RegionRows
    size: int


def _nearest_drawing(held: Held, asked: tuple[Sites, Region], begin: int, end: int) -> SumsAndRows:
    part = held.part(begin, end)
    _, partial, rows = part.nearest_drawing(*asked)
    sums = Sums(held.fewest(partial.by_node(), begin, end), part.n_distances)
    return SumsAndRows(sums, rows, asked[1].size)


def _join_drawing(found: Sequence[SumsAndRows]) -> SumsAndRows:
    size = found[0].size
    return SumsAndRows(_join_sums([one.sums for one in found]), joined_rows([one.rows for one in found], size), size)


def _sums(held: Held, asked: tuple[Recipe, int], begin: int, end: int) -> NodeSums:
    return held.fewest(held.part(begin, end).sums(*asked).by_node(), begin, end)


def _restated(held: Held, recipe: Recipe, begin: int, end: int) -> Sums:
    """Statistics of the rows about the sites of a recipe."""
    stack, n_clusters, n_distances = SumStack(), len(recipe.centres) + len(recipe.newborn), 0
    for part, labels, sq_dist in held.part(begin, end).labelled(recipe):
        stack.push(part.stats_of(labels, sq_dist, n_clusters).by_node())
        n_distances += part.n_distances
    return Sums(held.fewest(stack.by_node(n_clusters), begin, end), n_distances)


def _fingerprints(held: Held, asked: tuple[Recipe, int], begin: int, end: int) -> Any:
    return held.part(begin, end).fingerprints(*asked)


def _draw(held: Held, sample: tuple[int, int], begin: int, end: int) -> Drawn:
    return held.part(begin, end).draw(*sample)


def _join_drawn(found: Sequence[Drawn]) -> Drawn:
    return found[0].with_others(*found[1:])


def _labels(held: Held, recipe: Recipe, begin: int, end: int) -> Any:
    return held.part(begin, end).labels(recipe)


def _sq_dists(held: Held, asked: tuple[Recipe, Floats], begin: int, end: int) -> Any:
    return held.part(begin, end).sq_dists(*asked)


LOOK = Query("look", _look, _join_facts)
FIRST_ROW = Query("first-row", _first_row, _first)
NEAREST = Query("nearest", _nearest, _join_sums)
DRAWING = Query("nearest-drawing", _nearest_drawing, _join_drawing)
SUMS = Query("sums", _sums, merged)
RESTATE = Query("restate", _restated, _join_sums)
FINGERPRINTS = Query("fingerprints", _fingerprints, sum)
DRAW = Query("draw", _draw, _join_drawn)
LABELS = Query("labels", _labels, np.concatenate)
SQ_DISTS = Query("distances", _sq_dists, np.concatenate)
