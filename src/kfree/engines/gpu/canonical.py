"""Canonical distances of rows on a GPU: float64, columns in order, products and sums never fused."""

from __future__ import annotations

import torch
import triton

from kfree.engines.gpu.device import EXACT, n_programs
from kfree.engines.gpu.kernels import distances
from kfree.engines.gpu.rows import DeviceRows


def distances_to_own(
    rows: DeviceRows,
    listed: torch.Tensor | None,
    labels: torch.Tensor,
    centres: torch.Tensor,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Canonical squared distances of rows, all or ``listed``, to the centres that ``labels`` name."""
    sq_dist = torch.empty(len(labels), dtype=torch.float64, device=rows.device) if out is None else out
    if len(labels):
        block = rows_by_tile(rows)
        distances.distances_to_own[(triton.cdiv(len(labels), block),)](
            rows.X, or_other(listed, labels), labels, centres, sq_dist, rows.anchor, rows.shift, rows.lengths,
            len(labels), rows.n_features, *rows.strides,
            LISTED=listed is not None, UNIT=rows.unit, FEW=rows.columns_at_once, BLOCK_ROWS=block, num_warps=4, **EXACT,
        )  # fmt: skip
    return sq_dist


def distances_to_all(rows: DeviceRows, centres: torch.Tensor, places: slice) -> torch.Tensor:
    """Canonical squared distances of a range of rows to all centres, (m, k)."""
    n_rows, k = places.stop - places.start, len(centres)
    sq_dist = torch.empty((n_rows, k), dtype=torch.float64, device=rows.device)
    by_rows, by_sites = 32, 32
    distances.distances_to_all[(triton.cdiv(n_rows, by_rows), triton.cdiv(k, by_sites))](
        rows.X, centres.T.contiguous(), sq_dist, rows.anchor, rows.shift, rows.lengths, places.start, n_rows, k,
        rows.n_features, *rows.strides, UNIT=rows.unit, BLOCK_ROWS=by_rows, BLOCK_SITES=by_sites, num_warps=4, **EXACT,
    )  # fmt: skip
    return sq_dist


def rows_by_tile(rows: DeviceRows) -> int:
    """How many rows a program takes that computes one distance of each."""
    return 256 if rows.is_narrow else 128 if rows.n_features <= 32 else 64


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

    With ``items`` only the first ``n_items`` of these are compared, which have no site yet; ``sq_dist`` is written
    where it is given. ``own`` are excluded sites, and a site may only be joined by rows that are visited after
    ``born_after``.
    """
    if n_items is None:
        n_items = torch.full((1,), len(labels), device=rows.device)
    nobody = labels
    distances.nearest_of_all[(n_programs(rows.device),)](
        rows.X, or_other(listed, nobody), or_other(items, nobody), n_items, or_other(own, nobody),
        centres.T.contiguous(), labels, or_other(sq_dist, centres), or_other(place_of_row, nobody),
        or_other(born_after, nobody),
        rows.anchor, rows.shift, rows.lengths, len(centres), rows.n_features, first_label, *rows.strides,
        CHOSEN=items is not None, MEASURED=sq_dist is not None, LISTED=listed is not None, UNIT=rows.unit,
        EXCLUDE=own is not None, BORN=born_after is not None, ORDERED=place_of_row is not None, BLOCK_ROWS=16,
        BLOCK_SITES=64, num_warps=4, **EXACT,
    )  # fmt: skip


def or_other(tensor: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """A kernel that does not use an argument is given another tensor in its place."""
    return other if tensor is None else tensor
