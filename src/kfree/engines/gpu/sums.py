"""Sums over rows by cluster, joined by the tree over block numbers: the bits of the CPU, without atomic additions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton

from kfree.core.sum_tree import Node
from kfree.engines.gpu.device import EXACT
from kfree.engines.gpu.kernels import sums
from kfree.engines.gpu.rows import DeviceRows

BLOCK = 1 << sums.BLOCK_BITS.value
LEVELS = sums.LEVELS.value
# So many segments keep all processors of a large GPU busy. One with more rows on average would take too long. Where so
# many numbers allow more of them, the largest cluster takes less time.
ENOUGH, ENOUGH_NUMBERS, MOST_ROWS = 8192, 1 << 17, 1024
# Columns that a warp adds at most, and numbers that it loads before it adds them.
MOST_COLUMNS, NUMBERS_AHEAD = 64, 256


class Segments:
    """Rows, all or ``listed`` in ascending order, sorted by label: what each cluster has in each group of blocks."""

    def __init__(
        self, rows: DeviceRows, first_block: int, listed: torch.Tensor | None, labels: torch.Tensor, k: int, levels: int
    ):
        self._rows, self._listed, self._k, self._first_block, self.levels = rows, listed, k, first_block, levels
        self.first_group = first_block >> levels
        last_block = first_block + max(0, rows.n_rows - 1) // BLOCK
        self.n_groups = (last_block >> levels) - self.first_group + 1
        if k == 1:
            sorted_labels, self._order = labels, torch.arange(len(labels), device=rows.device)
        else:
            sorted_labels, self._order = torch.sort(_narrow(labels, k), stable=True)
        self._begin, self._end = torch.zeros((2, k * self.n_groups), dtype=torch.int64, device=rows.device)
        if len(labels):
            block = 256
            sums.boundaries[(triton.cdiv(len(labels), block),)](
                sorted_labels, self._order, self._row_numbers, self._begin, self._end, len(labels),
                first_block, self.first_group, self.n_groups, levels, LISTED=listed is not None, BLOCK_ROWS=block,
            )  # fmt: skip

    @property
    def _row_numbers(self) -> torch.Tensor:
        return self._order if self._listed is None else self._listed

    def sums(
        self, coefficient: torch.Tensor | None, sq_dist: torch.Tensor | None, scalars_only: bool = False
    ) -> torch.Tensor:
        """Sums (groups, k, d + 2) of coefficient·(z, sq_dist, 1); None: ones, and sums that are not defined.

        ``scalars_only``: only the last two are computed.
        """
        rows, d = self._rows, self._rows.n_features
        out = torch.empty((self.n_groups, self._k, d + 2), dtype=torch.float64, device=rows.device)
        nothing = rows.shift
        first = d if scalars_only else 0
        columns = min(MOST_COLUMNS, max(32, triton.next_power_of_2(d + 2 - first)))
        sums.segment_sums[(self._k * self.n_groups, triton.cdiv(d + 2 - first, columns))](
            rows.X, self._order, self._row_numbers, nothing if coefficient is None else coefficient,
            nothing if sq_dist is None else sq_dist, self._begin, self._end, out, rows.anchor, rows.shift,
            rows.lengths, self.n_groups, self._k, d, *rows.strides, self._first_block, first,
            LISTED=self._listed is not None, WEIGHTED=coefficient is not None, MEASURED=sq_dist is not None,
            UNIT=rows.unit, COLUMNS=columns, ABREAST=NUMBERS_AHEAD // columns, num_warps=1, **EXACT,
        )  # fmt: skip
        return out


def levels_for(shape: tuple[int, int], first_block: int, is_all: bool, k: int) -> int:
    """How many levels of the tree a segment holds: as many as leave enough segments that are not too long.

    A range of rows that does not begin and end with a group holds fewer, since groups do not straddle ranges.
    """
    n_rows, n_features = shape
    n_blocks = -(-n_rows // BLOCK)
    ends = 0 if is_all else first_block | (first_block + n_blocks)
    enough = max(ENOUGH, ENOUGH_NUMBERS // (n_features + 2))
    most = min((n_blocks * k) // enough, (MOST_ROWS * k) // BLOCK)
    fits = (level for level in range(LEVELS, 0, -1) if ends % (1 << level) == 0 and 1 << level <= most)
    return next(fits, 0)


def joined(groups: torch.Tensor, first_group: int, levels: int, nodes: Sequence[Node]) -> torch.Tensor:
    """The sums of each of the nodes, from those of groups (n, …) that are nodes of level ``levels``."""
    found = []
    for level, index in nodes:
        begin = max(index << (level - levels), first_group)
        end = min((index + 1) << (level - levels), first_group + len(groups))
        found.append(total(groups[begin - first_group : end - first_group], begin))
    return torch.stack(found)


def total(groups: torch.Tensor, first_group: int) -> torch.Tensor:
    """The sum of all groups (n, …) by the tree over their numbers; an absent one is skipped."""
    shape, columns = groups.shape[1:], 128
    groups = groups.reshape(len(groups), -1).contiguous()
    while len(groups) > 1:
        last = (first_group + len(groups) - 1) >> LEVELS
        n_columns, n_nodes = groups.shape[1], last - (first_group >> LEVELS) + 1
        out = torch.empty((n_nodes, n_columns), dtype=torch.float64, device=groups.device)
        sums.fold[(triton.cdiv(n_columns, columns), n_nodes)](
            groups, out, len(groups), first_group, n_columns, COLUMNS=columns, num_warps=4, **EXACT
        )
        groups, first_group = out, first_group >> LEVELS
    return groups[0].reshape(shape)


def _narrow(labels: torch.Tensor, k: int) -> torch.Tensor:
    """Labels in as few bytes as they need: sorting passes over each byte."""
    return labels.to(torch.uint8 if k <= 256 else torch.int16 if k <= 32767 else torch.int32)
