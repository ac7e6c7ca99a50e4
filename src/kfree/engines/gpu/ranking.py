"""Rows ranked among sites: in eight bits, then in half precision, then canonically for the sites left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import triton

from kfree.engines.gpu.canonical import join_nearer, or_other
from kfree.engines.gpu.device import EXACT, n_programs
from kfree.engines.gpu.kernels import distances, half, rank
from kfree.engines.gpu.kernels.quantize import quantize_sites
from kfree.engines.gpu.rows import MOST_STEPS, DeviceRows, Quantized, width_of

# Rows of which more sites than this may be the nearest are compared with all.
MOST_CANDIDATES = 32
# Numbers in half precision that are made at a time, which bounds the memory.
MOST_NUMBERS = 1 << 28
# The largest coordinate in half precision: squares are within float32, and small coordinates not too small.
HALF_RANGE = 256.0
# Rows and sites by the tile, for up to 64 columns and for more.
NARROW_TILE, WIDE_TILE = (128, 32), (64, 64)


@dataclass(frozen=True)
class _Bytes:
    """Sites in eight bits, as the rows are, and how many bits of a key hold their number."""

    rows: Quantized
    values: torch.Tensor
    addend: torch.Tensor
    error: torch.Tensor
    max_error: torch.Tensor
    shift: int
    whole: bool


class _Halves(NamedTuple):
    """Rows or sites in half precision (m, width), their squared norms (m,), and what they leave out (2, m)."""

    values: torch.Tensor
    sq_norm: torch.Tensor
    errors: torch.Tensor

    @property
    def max_error(self) -> torch.Tensor:
        """How much nearer to a row a site can be than its half."""
        return self.errors[1].max()


class Ranking:
    """One ranking of rows, all or ``listed``, among sites, none of which ``own`` names.

    How many rows each step leaves is only known on the device, so that kernels are started without waiting for it.
    """

    def __init__(self, rows: DeviceRows, centres: torch.Tensor, listed: torch.Tensor | None, own: torch.Tensor | None):
        self._rows, self._centres, self._listed, self._own = rows, centres, listed, own
        self._width = width_of(rows.n_features)
        self._block_rows, self._block_sites = NARROW_TILE if self._width <= 64 else WIDE_TILE
        self._k_padded = triton.cdiv(len(centres), self._block_sites) * self._block_sites
        self._tile = {
            "WIDTH": self._width,
            "CHUNK": min(self._width, 128),
            "BLOCK_ROWS": self._block_rows,
            "BLOCK_SITES": self._block_sites,
            "num_warps": 4,
            "num_stages": 3,
        }
        self._kind = {"LISTED": listed is not None, "EXCLUDE": own is not None}
        self._n_programs = n_programs(rows.device)

    def run(self, labels: torch.Tensor, at_least: torch.Tensor) -> None:
        """out labels, at_least (m,)."""
        # A multiple of 16, so that what follows in a tensor is aligned: kernels are compiled for that.
        room = triton.cdiv(min(len(labels), MOST_NUMBERS // self._width), 16) * 16
        device = self._rows.device
        lists = torch.empty((4, room), dtype=torch.int64, device=device)
        in_bytes, in_half, room_for_half = self._quantized_sites(), None, self._room_for_half(room)
        for first in range(0, len(labels), room):
            end = min(first + room, len(labels))
            counts = torch.zeros((3, 4), dtype=torch.int32, device=device)  # rows of 16 bytes
            self._rank(labels, at_least, first, end, in_bytes, lists[0], counts[0])
            # What follows is prepared while the device ranks.
            in_half = in_half or self._halved_sites()
            self._rank_half(labels, at_least, lists, counts, in_half, room_for_half)

    def _rank(
        self,
        labels: torch.Tensor,
        at_least: torch.Tensor,
        first: int,
        end: int,
        sites: _Bytes,
        undecided: torch.Tensor,
        count: torch.Tensor,
    ) -> None:
        quantized = sites.rows
        rank.rank[(triton.cdiv(end - first, self._block_rows),)](
            quantized.values, quantized.sq_norm, quantized.error, or_other(self._listed, labels),
            or_other(self._own, labels), sites.values, sites.addend, sites.error, sites.max_error, labels, at_least,
            undecided, count, first, end, self._k_padded, quantized.step, SHIFT=sites.shift, WHOLE=sites.whole,
            **self._kind, **self._tile,
        )  # fmt: skip

    def _quantized_sites(self) -> _Bytes:
        k, d = self._centres.shape
        whole, last_tile = (self._k_padded - 1).bit_length(), self._k_padded // self._block_sites - 1
        is_whole = _most_steps(d, whole) >= MOST_STEPS
        shift = whole if is_whole else max(1, last_tile.bit_length())
        quantized = self._rows.quantized(min(MOST_STEPS, _most_steps(d, shift)))
        values = torch.empty((self._k_padded, self._width), dtype=torch.int8, device=self._rows.device)
        addend = torch.empty(self._k_padded, dtype=torch.int32, device=self._rows.device)
        errors = torch.empty((2, self._k_padded), dtype=torch.float32, device=self._rows.device)
        quantize_sites[(self._k_padded,)](
            self._centres, values, addend, errors[0], errors[1], k, d, quantized.step, float(quantized.largest),
            -(1 << 30), WIDTH=self._width, SHIFT=shift, PER_NUMBER=1 if is_whole else self._block_sites,
            BLOCK_COLUMNS=min(128, self._width), num_warps=1,
        )  # fmt: skip
        return _Bytes(quantized, values, addend, errors[0], errors[1].max(), shift, is_whole)

    def _rank_half(
        self,
        labels: torch.Tensor,
        at_least: torch.Tensor,
        lists: torch.Tensor,
        counts: torch.Tensor,
        sites: _Halves,
        items: _Halves,
    ) -> None:
        """What is in doubt after eight bits."""
        rows, device = self._rows, self._rows.device
        undecided, still_undecided, left, beyond = lists
        n_undecided, n_still, n_beyond = counts
        room = len(undecided)
        own = or_other(self._own, labels)
        frame = rows.anchor, rows.shift, rows.lengths
        self._halve(items, rows.X, rows.strides, frame, undecided, n_undecided, rows.unit, True)
        least_score = torch.empty(room, dtype=torch.float32, device=device)
        half.rank_half[(self._n_programs,)](
            items.values, items.sq_norm, items.errors[0], undecided, n_undecided, own, sites.values, sites.sq_norm,
            sites.errors[0], sites.max_error, labels, at_least, still_undecided, least_score, n_still, self._k_padded,
            rounding(rows.n_features), scale_of(self._rows), EXCLUDE=self._own is not None, **self._tile,
        )  # fmt: skip
        found = torch.empty((room, MOST_CANDIDATES), dtype=torch.int32, device=device)
        n_found = torch.empty(room, dtype=torch.int32, device=device)
        half.candidates[(self._n_programs,)](
            items.values, undecided, own, sites.values, sites.sq_norm, still_undecided, least_score, n_still, found,
            n_found, left, beyond, n_beyond, self._k_padded, EXCLUDE=self._own is not None, MOST=MOST_CANDIDATES,
            **self._tile,
        )  # fmt: skip
        distances.nearest_of_listed[(self._n_programs,)](
            rows.X, or_other(self._listed, labels), left, n_still, found, n_found, self._centres, labels,
            rows.anchor, rows.shift, rows.lengths, rows.n_features, *rows.strides,
            MOST=MOST_CANDIDATES, LISTED=self._listed is not None, UNIT=rows.unit, BLOCK_ROWS=64, num_warps=2, **EXACT,
        )  # fmt: skip
        join_nearer(
            rows, self._centres, labels, None, listed=self._listed, items=beyond, n_items=n_beyond, own=self._own
        )

    def _room_for_half(self, room: int) -> _Halves:
        device = self._rows.device
        return _Halves(
            torch.empty((room, self._width), dtype=torch.float16, device=device),
            torch.empty(room, dtype=torch.float32, device=device),
            torch.empty((2, room), dtype=torch.float32, device=device),
        )

    def _halved_sites(self) -> _Halves:
        """Sites are coordinates already; places beyond them are infinitely far."""
        (k, d), device = self._centres.shape, self._rows.device
        halves = self._room_for_half(self._k_padded)
        zero = torch.zeros(d, dtype=torch.float64, device=device)
        count = torch.full((1,), k, dtype=torch.int32, device=device)
        halves.values[k:], halves.sq_norm[k:], halves.errors[:, k:] = 0.0, torch.inf, 0.0
        self._halve(halves, self._centres, (d, 1), (zero, zero, zero), count, count, False, False)
        return halves

    def _halve(
        self,
        out: _Halves,
        X: torch.Tensor,
        strides: tuple[int, int],
        frame: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        items: torch.Tensor,
        n_items: torch.Tensor,
        unit: bool,
        chosen: bool,
    ) -> None:
        half.halve[(self._n_programs,)](
            X, or_other(self._listed, items), items, n_items, out.values, out.sq_norm, out.errors[0], out.errors[1],
            *frame, self._rows.n_features, *strides, scale_of(self._rows), HALF_RANGE * 1.000001,
            CHOSEN=chosen, LISTED=chosen and self._listed is not None, UNIT=unit, WIDTH=self._width, BLOCK_ROWS=32,
            BLOCK_COLUMNS=min(self._width, 64), num_warps=4,
        )  # fmt: skip


def scale_of(rows: DeviceRows) -> float:
    """Coordinates in half or single precision are multiplied by this."""
    return HALF_RANGE / rows.largest


def _most_steps(n_features: int, shift: int) -> int:
    """Scores of so many steps fit into a key beside ``shift`` bits: 2|x||c| + |c|² < 2^(30 − shift)."""
    return int(((1 << 30 - shift) / (3 * n_features)) ** 0.5)


def rounding(n_features: int) -> float:
    """Relative to |x|² + |c|², what float32 leaves out of a score: of each product, of their sums, and of the norms.

    Tensor cores truncate where processors round, so the unit is 2⁻²² and not 2⁻²⁴.
    """
    return (n_features + 16) * 2.0**-22
