"""Which site is the nearest of each row: ranked in eight bits, decided canonically where these leave doubt."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton

from kfree.engines.gpu.device import EXACT, n_programs
from kfree.engines.gpu.kernels import distances, half, rank
from kfree.engines.gpu.kernels.quantize import quantize_sites
from kfree.engines.gpu.rows import MOST_STEPS, DeviceRows, Quantized, width_of

# Rows of which more sites than this may be the nearest are compared with all.
MOST_CANDIDATES = 16
# Numbers in half precision that are made at a time, which bounds the memory.
MOST_NUMBERS = 1 << 29
# The largest coordinate in half precision: squares are within float32, and small coordinates not too small.
HALF_RANGE = 256.0
# Sites by the tile.
BLOCK_SITES = 64
# Fewer products than this per row are computed in float64 at once.
FEW_PRODUCTS = 64


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


def distances_to_own(
    rows: DeviceRows, listed: torch.Tensor | None, labels: torch.Tensor, centres: torch.Tensor
) -> torch.Tensor:
    """Canonical squared distances of rows, all or ``listed``, to the centres that ``labels`` name."""
    sq_dist = torch.empty(len(labels), dtype=torch.float64, device=rows.device)
    if len(labels):
        block = 64 if rows.n_features > 32 else 128
        distances.distances_to_own[(triton.cdiv(len(labels), block),)](
            rows.X, _or_other(listed, labels), labels, centres, sq_dist, rows.anchor, rows.shift, rows.lengths,
            len(labels), rows.n_features, *rows.strides,
            LISTED=listed is not None, UNIT=rows.unit, BLOCK_ROWS=block, num_warps=4, **EXACT,
        )  # fmt: skip
    return sq_dist


def join_nearer(
    rows: DeviceRows,
    centres: torch.Tensor,
    labels: torch.Tensor,
    sq_dist: torch.Tensor | None,
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

    With ``items`` only the first ``n_items`` of these are compared, which have no site and no distance yet. ``own`` are
    excluded sites, and a site may only be joined by rows that are visited after ``born_after``.
    """
    if n_items is None:
        n_items = torch.tensor([len(labels)], device=rows.device)
    nobody = labels
    distances.nearest_of_all[(n_programs(rows.device),)](
        rows.X, _or_other(listed, nobody), _or_other(items, nobody), n_items, _or_other(own, nobody),
        centres.T.contiguous(), labels, _or_other(sq_dist, centres), _or_other(place_of_row, nobody),
        _or_other(born_after, nobody),
        rows.anchor, rows.shift, rows.lengths, len(centres), rows.n_features, first_label, *rows.strides,
        CHOSEN=items is not None, LISTED=listed is not None, UNIT=rows.unit, EXCLUDE=own is not None,
        BORN=born_after is not None, ORDERED=place_of_row is not None, BLOCK_ROWS=16, BLOCK_SITES=64,
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
    if k * rows.n_features <= FEW_PRODUCTS or not rows.rankable:
        unknown = torch.full((n_items,), torch.inf, dtype=torch.float64, device=rows.device)
        join_nearer(rows, centres, labels, unknown, listed=listed, own=own)
    else:
        _Ranking(rows, centres, listed, own).run(labels)
    return labels


class _Ranking:
    """One ranking of rows among sites: in eight bits, then in half precision, then canonically for the sites left."""

    def __init__(self, rows: DeviceRows, centres: torch.Tensor, listed: torch.Tensor | None, own: torch.Tensor | None):
        self._rows, self._centres, self._listed, self._own = rows, centres, listed, own
        self._width = width_of(rows.n_features)
        self._k_padded = triton.cdiv(len(centres), BLOCK_SITES) * BLOCK_SITES
        self._tile = {"WIDTH": self._width, "CHUNK": min(self._width, 128), "BLOCK_SITES": BLOCK_SITES}
        self._kind = {"LISTED": listed is not None, "EXCLUDE": own is not None}
        self._n_programs = n_programs(rows.device)

    def run(self, labels: torch.Tensor) -> None:
        """out labels (m,)."""
        room = min(len(labels), MOST_NUMBERS // self._width)
        lists = torch.empty((4, room), dtype=torch.int64, device=self._rows.device)
        bytes_of_sites = self._quantized_sites()
        for first in range(0, len(labels), room):
            end = min(first + room, len(labels))
            counts = torch.zeros((3, 1), dtype=torch.int32, device=self._rows.device)
            self._rank(labels, first, end, bytes_of_sites, lists[0], counts[0])
            n_undecided = int(counts[0])
            if n_undecided:
                self._rank_half(labels, lists[:, :n_undecided], counts)

    def _rank(
        self, labels: torch.Tensor, first: int, end: int, sites: _Bytes, undecided: torch.Tensor, count: torch.Tensor
    ) -> None:
        quantized = sites.rows
        block = 64
        rank.rank[(triton.cdiv(end - first, block),)](
            quantized.values, quantized.sq_norm, quantized.error, _or_other(self._listed, labels),
            _or_other(self._own, labels), sites.values, sites.addend, sites.error, sites.max_error, labels, undecided,
            count, first, end, self._k_padded, quantized.step, SHIFT=sites.shift, WHOLE=sites.whole, BLOCK_ROWS=block,
            **self._kind, **self._tile, num_warps=4, num_stages=3,
        )  # fmt: skip

    def _quantized_sites(self) -> _Bytes:
        k, d = self._centres.shape
        whole, n_tiles = (self._k_padded - 1).bit_length(), max(1, (self._k_padded // BLOCK_SITES - 1).bit_length())
        is_whole = _most_steps(d, whole) >= MOST_STEPS
        shift = whole if is_whole else n_tiles
        quantized = self._rows.quantized(min(MOST_STEPS, _most_steps(d, shift)))
        values = torch.empty((self._k_padded, self._width), dtype=torch.int8, device=self._rows.device)
        addend = torch.empty(self._k_padded, dtype=torch.int32, device=self._rows.device)
        errors = torch.empty((2, self._k_padded), dtype=torch.float32, device=self._rows.device)
        quantize_sites[(self._k_padded,)](
            self._centres, values, addend, errors[0], errors[1], k, d, quantized.step, float(quantized.largest),
            -(1 << 30), WIDTH=self._width, SHIFT=shift, PER_NUMBER=1 if is_whole else BLOCK_SITES,
            BLOCK_COLUMNS=min(128, self._width), num_warps=1,
        )  # fmt: skip
        return _Bytes(quantized, values, addend, errors[0], errors[1].max(), shift, is_whole)

    def _rank_half(self, labels: torch.Tensor, lists: torch.Tensor, counts: torch.Tensor) -> None:
        """What is in doubt after eight bits."""
        rows, device = self._rows, self._rows.device
        undecided, still_undecided, left, beyond = lists
        n_undecided, n_still, n_beyond = counts
        room = len(undecided)
        own = _or_other(self._own, labels)
        frame = rows.anchor, rows.shift, rows.lengths
        H, norm, (error, _) = self._halve(rows.X, rows.strides, frame, undecided, n_undecided, room, rows.unit, True)
        C, site_norm, (site_error, boxed_error) = self._halved_sites()
        least_score = torch.empty(room, dtype=torch.float32, device=device)
        half.rank_half[(self._n_programs,)](
            H, norm, error, undecided, n_undecided, own, C, site_norm, site_error, boxed_error.max(),
            labels, still_undecided, least_score, n_still, self._k_padded, _rounding(rows.n_features),
            EXCLUDE=self._own is not None, BLOCK_ROWS=64, **self._tile, num_warps=4, num_stages=3,
        )  # fmt: skip
        if not int(n_still):
            return
        found = torch.empty((room, MOST_CANDIDATES), dtype=torch.int32, device=device)
        n_found = torch.empty(room, dtype=torch.int32, device=device)
        half.candidates[(self._n_programs,)](
            H, undecided, own, C, site_norm, still_undecided, least_score, n_still, found, n_found, left, beyond,
            n_beyond, self._k_padded, EXCLUDE=self._own is not None, MOST=MOST_CANDIDATES, BLOCK_ROWS=64, **self._tile,
            num_warps=4, num_stages=3,
        )  # fmt: skip
        distances.nearest_of_listed[(self._n_programs,)](
            rows.X, _or_other(self._listed, labels), left, n_still, found, n_found, self._centres, labels,
            rows.anchor, rows.shift, rows.lengths, rows.n_features, *rows.strides,
            MOST=MOST_CANDIDATES, LISTED=self._listed is not None, UNIT=rows.unit, BLOCK_ROWS=64, num_warps=2, **EXACT,
        )  # fmt: skip
        join_nearer(
            rows, self._centres, labels, None, listed=self._listed, items=beyond, n_items=n_beyond, own=self._own
        )

    def _halved_sites(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sites are coordinates already; places beyond them are infinitely far."""
        (k, d), device = self._centres.shape, self._rows.device
        centres = torch.zeros((self._k_padded, d), dtype=torch.float64, device=device)
        centres[:k] = self._centres
        zero = torch.zeros(d, dtype=torch.float64, device=device)
        count = torch.full((1,), self._k_padded, dtype=torch.int32, device=device)
        C, norm, errors = self._halve(centres, (d, 1), (zero, zero, zero), count, count, self._k_padded, False, False)
        norm[k:] = torch.inf
        return C, norm, errors

    def _halve(
        self,
        X: torch.Tensor,
        strides: tuple[int, int],
        frame: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        items: torch.Tensor,
        n_items: torch.Tensor,
        room: int,
        unit: bool,
        chosen: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        values = torch.empty((room, self._width), dtype=torch.float16, device=X.device)
        norm = torch.empty(room, dtype=torch.float32, device=X.device)
        errors = torch.empty((2, room), dtype=torch.float32, device=X.device)
        half.halve[(self._n_programs,)](
            X, _or_other(self._listed, items), items, n_items, values, norm, errors[0], errors[1], *frame,
            self._rows.n_features, *strides, HALF_RANGE / self._rows.largest, HALF_RANGE * 1.000001,
            CHOSEN=chosen, LISTED=chosen and self._listed is not None, UNIT=unit, WIDTH=self._width, BLOCK_ROWS=32,
            BLOCK_COLUMNS=min(self._width, 64), num_warps=4,
        )  # fmt: skip
        return values, norm, errors


def _most_steps(n_features: int, shift: int) -> int:
    """Scores of so many steps fit into a key beside ``shift`` bits: 2|x||c| + |c|² < 2^(30 − shift)."""
    return int(((1 << 30 - shift) / (3 * n_features)) ** 0.5)


def _rounding(n_features: int) -> float:
    """Relative to |x|² + |c|², what float32 leaves out of a score: of each product, of their sums, and of the norms.

    Tensor cores truncate where processors round, so the unit is 2⁻²² and not 2⁻²⁴.
    """
    return (n_features + 16) * 2.0**-22


def _or_other(tensor: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """A kernel that does not use an argument is given another tensor in its place."""
    return other if tensor is None else tensor
