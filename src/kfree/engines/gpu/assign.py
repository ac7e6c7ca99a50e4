"""Which site is the nearest of each row: ranked in eight bits, decided canonically where these leave doubt."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton

from kfree.engines.gpu.device import EXACT, n_programs
from kfree.engines.gpu.kernels import distances, rank
from kfree.engines.gpu.rows import MOST_STEPS, DeviceRows, width_of

# Rows of which more sites than this may be the nearest are compared with all.
MOST_CANDIDATES = 32
# Items that are ranked at a time, which bounds the memory for candidates.
ITEMS_AT_ONCE = 1 << 22
# Fewer products than this per row are computed in float64 at once.
FEW_PRODUCTS = 64


@dataclass(frozen=True)
class Configuration:
    """Tile sizes of the ranking kernel, by measurement for each width of rows in eight bits."""

    rows: int
    sites: int
    warps: int
    stages: int


def configuration(width: int) -> Configuration:
    return Configuration(128, 64, 4, 3) if width <= 128 else Configuration(64, 64, 4, 2)


def distances_to_own(
    rows: DeviceRows, listed: torch.Tensor | None, labels: torch.Tensor, centres: torch.Tensor
) -> torch.Tensor:
    """Canonical squared distances of rows, all or ``listed``, to the centres that ``labels`` name."""
    sq_dist = torch.empty(len(labels), dtype=torch.float64, device=rows.device)
    if len(labels):
        block = 128
        distances.distances_to_own[(triton.cdiv(len(labels), block),)](
            rows.X, _or_none(listed, labels), labels, centres, sq_dist, rows.anchor, rows.shift, rows.lengths,
            len(labels), rows.n_features, *rows.strides,
            LISTED=listed is not None, UNIT=rows.unit, BLOCK_ROWS=block, num_warps=4, **EXACT,
        )  # fmt: skip
    return sq_dist


def join_nearer(
    rows: DeviceRows,
    centres: torch.Tensor,
    labels: torch.Tensor,
    sq_dist: torch.Tensor,
    *,
    first_label: int = 0,
    listed: torch.Tensor | None = None,
    items: torch.Tensor | None = None,
    n_items: torch.Tensor | None = None,
    own: torch.Tensor | None = None,
    born_after: torch.Tensor | None = None,
    place_of_row: torch.Tensor | None = None,
) -> None:
    """In place: items join the site that is strictly nearer than what they have; all canonical, all sites.

    ``items`` restricts it to the first ``n_items`` of these, ``own`` are excluded sites, and a site may only be joined
    by rows that are visited after ``born_after``.
    """
    if n_items is None:
        n_items = torch.tensor([len(labels)], device=rows.device)
    block = 32
    nobody = labels
    distances.nearest_of_all[(n_programs(rows.device),)](
        rows.X, _or_none(listed, nobody), _or_none(items, nobody), n_items, _or_none(own, nobody),
        centres.T.contiguous(), labels, sq_dist, _or_none(place_of_row, nobody), _or_none(born_after, nobody),
        rows.anchor, rows.shift, rows.lengths, len(centres), rows.n_features, first_label, *rows.strides,
        CHOSEN=items is not None, LISTED=listed is not None, UNIT=rows.unit, EXCLUDE=own is not None,
        BORN=born_after is not None, ORDERED=place_of_row is not None, BLOCK_ROWS=block, BLOCK_SITES=32,
        num_warps=4, **EXACT,
    )  # fmt: skip


def nearest(
    rows: DeviceRows, centres: torch.Tensor, listed: torch.Tensor | None = None, own: torch.Tensor | None = None
) -> torch.Tensor:
    """The nearest centre of rows, all or ``listed``, the first one on ties, and none that ``own`` names."""
    n_items, k = rows.n_rows if listed is None else len(listed), len(centres)
    labels = torch.zeros(n_items, dtype=torch.int32, device=rows.device)
    if n_items == 0 or k == 1:
        return labels
    if k * rows.n_features <= FEW_PRODUCTS:
        unknown = torch.full((n_items,), torch.inf, dtype=torch.float64, device=rows.device)
        join_nearer(rows, centres, labels, unknown, listed=listed, own=own)
    else:
        _Ranking(rows, centres, listed, own).run(labels)
    return labels


class _Ranking:
    """One ranking of rows among sites in eight bits."""

    def __init__(self, rows: DeviceRows, centres: torch.Tensor, listed: torch.Tensor | None, own: torch.Tensor | None):
        self._rows, self._centres, self._listed, self._own = rows, centres, listed, own
        self._width = width_of(rows.n_features)
        self._tiles = configuration(self._width)
        n_tiles = triton.cdiv(len(centres), self._tiles.sites)
        self._shift = max(1, (n_tiles - 1).bit_length())
        # Scores of so many steps fit into a key beside the number of a tile: |2xc| + |c|² < 2^(30 − shift).
        fitting = int(((1 << 30 - self._shift) / (3 * rows.n_features)) ** 0.5)
        self._quantized = rows.quantized(min(MOST_STEPS, fitting))
        self._quantize_sites(n_tiles * self._tiles.sites)

    def _quantize_sites(self, k_padded: int) -> None:
        """Sites in eight bits. A far site is moved into the box of all rows, which brings it nearer to every row."""
        k, d = self._centres.shape
        step, largest = self._quantized.step, self._quantized.largest
        boxed = self._centres.clamp(-step * largest, step * largest)
        steps = torch.floor(boxed / step + 0.5).clamp(-largest, largest)
        device = self._rows.device
        self._sites = torch.zeros((k_padded, self._width), dtype=torch.int8, device=device)
        self._sites[:k, :d] = steps.to(torch.int8)
        tile = torch.arange(k_padded, dtype=torch.int32, device=device) // self._tiles.sites
        self._addend = torch.full((k_padded,), -(1 << 30), dtype=torch.int32, device=device)
        self._addend[:k] = -(steps * steps).sum(dim=1).to(torch.int32) << self._shift
        self._addend += tile
        # How far the site is at most from its bytes, and how much nearer to a row than these at most; rounded up.
        self._site_error = torch.zeros(k_padded, dtype=torch.float64, device=device)
        self._site_error[:k] = (self._centres - steps * step).norm(dim=1) * 1.000001
        self._max_error = float((boxed - steps * step).norm(dim=1).max()) * 1.000001

    def run(self, labels: torch.Tensor) -> None:
        room = min(len(labels), ITEMS_AT_ONCE)
        new = torch.empty
        device = self._rows.device
        self._undecided, self._beyond = (new(room, dtype=torch.int64, device=device) for _ in range(2))
        self._least, self._n_found = (new(room, dtype=torch.int32, device=device) for _ in range(2))
        self._found = new((room, MOST_CANDIDATES), dtype=torch.int32, device=device)
        for first in range(0, len(labels), ITEMS_AT_ONCE):
            self._rank(labels, first, min(first + ITEMS_AT_ONCE, len(labels)))

    def _rank(self, labels: torch.Tensor, first: int, end: int) -> None:
        rows, tiles, quantized = self._rows, self._tiles, self._quantized
        n_undecided, n_beyond = (torch.zeros(1, dtype=torch.int32, device=rows.device) for _ in range(2))
        listed, own = _or_none(self._listed, labels), _or_none(self._own, labels)
        chunk = min(self._width, 128)
        kind = {"LISTED": self._listed is not None, "EXCLUDE": self._own is not None}
        shape = {
            "WIDTH": self._width, "CHUNK": chunk, "SHIFT": self._shift, "BLOCK_SITES": tiles.sites,
            "num_warps": tiles.warps, "num_stages": tiles.stages,
        }  # fmt: skip
        rank.rank[(triton.cdiv(end - first, tiles.rows),)](
            quantized.values, quantized.sq_norm, quantized.error, listed, own, self._sites, self._addend,
            self._site_error, labels, self._undecided, self._least, n_undecided, first, end, len(self._addend),
            quantized.step, self._max_error, BLOCK_ROWS=tiles.rows, **kind, **shape, **EXACT,
        )  # fmt: skip
        rank.candidates[(n_programs(rows.device),)](
            quantized.values, listed, own, self._sites, self._addend, self._undecided, self._least, n_undecided,
            self._found, self._n_found, self._beyond, n_beyond, len(self._centres),
            MOST=MOST_CANDIDATES, BLOCK_ROWS=64, **kind, **shape,
        )  # fmt: skip
        distances.nearest_of_listed[(n_programs(rows.device),)](
            rows.X, listed, self._undecided, n_undecided, self._found, self._n_found, self._centres, labels,
            rows.anchor, rows.shift, rows.lengths, rows.n_features, *rows.strides,
            MOST=MOST_CANDIDATES, LISTED=self._listed is not None, UNIT=rows.unit, BLOCK_ROWS=128, num_warps=4, **EXACT,
        )  # fmt: skip
        self._compare_with_all(labels, n_beyond)

    def _compare_with_all(self, labels: torch.Tensor, n_beyond: torch.Tensor) -> None:
        """Items that too many sites may be the nearest of start anew."""
        count = int(n_beyond)
        if not count:
            return
        items = self._beyond[:count]
        sq_dist = torch.empty(len(labels), dtype=torch.float64, device=self._rows.device)
        labels[items], sq_dist[items] = 0, torch.inf
        join_nearer(
            self._rows, self._centres, labels, sq_dist, listed=self._listed, items=items, n_items=n_beyond, own=self._own
        )


def _or_none(tensor: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """A kernel that does not use an argument is given another tensor in its place."""
    return other if tensor is None else tensor
