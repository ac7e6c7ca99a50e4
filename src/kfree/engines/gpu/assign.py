"""Which site is the nearest of each row: ranked with less precision, decided canonically where that leaves doubt."""

from __future__ import annotations

import torch
import triton

from kfree.engines.gpu.canonical import distances_to_own, join_nearer, or_other
from kfree.engines.gpu.device import EXACT
from kfree.engines.gpu.kernels.narrow import rank_narrow, scale_sites
from kfree.engines.gpu.ranking import Ranking, rounding, scale_of
from kfree.engines.gpu.rows import DeviceRows

# Fewer products than this per row are computed in float64 at once.
FEW_PRODUCTS = 64
# Rows and sites by the tile, for rows of few columns.
_ROWS, _SITES, _WARPS = 128, 4, 2
# Tiles of which only the best score is compared with others, from so many sites a column on: the winner's tiles are
# scored twice. On an H200 that takes .64 of the time with 3 columns and 1,000 sites, 1.06 with 8 and 100.
_GROUP, _GROUP_FROM = 4, 32


def nearest(
    rows: DeviceRows,
    centres: torch.Tensor,
    listed: torch.Tensor | None = None,
    own: torch.Tensor | None = None,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    sq_dist: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The nearest centre of rows, all or ``listed``, the first one on ties, and none that ``own`` names.

    Also a lower bound of the distance to every other centre, zero where nothing is known. out ``sq_dist``, if given:
    canonical squared distances to the nearest centre.
    """
    n_items, k = rows.n_rows if listed is None else len(listed), len(centres)
    labels, at_least = out or (torch.empty(n_items, dtype=t, device=rows.device) for t in (torch.int32, torch.float32))
    is_open = n_items > 0 and k > 1
    if is_open and rows.is_narrow and rows.rankable:
        _rank_narrow(rows, centres, listed, own, labels, at_least, sq_dist)
        return labels, at_least
    if is_open and rows.rankable and k * rows.n_features > FEW_PRODUCTS:
        Ranking(rows, centres, listed, own).run(labels, at_least)
    else:
        labels.zero_(), at_least.zero_()
        if is_open:
            unknown = torch.full((n_items,), torch.inf, dtype=torch.float64, device=rows.device)
            join_nearer(rows, centres, labels, unknown, listed=listed, own=own)
    if sq_dist is not None:
        distances_to_own(rows, listed, labels, centres, out=sq_dist)
    return labels, at_least


def _rank_narrow(
    rows: DeviceRows,
    centres: torch.Tensor,
    listed: torch.Tensor | None,
    own: torch.Tensor | None,
    labels: torch.Tensor,
    at_least: torch.Tensor,
    sq_dist: torch.Tensor | None,
) -> None:
    (k, d), device, scale = centres.shape, rows.device, scale_of(rows)
    group, at_once = _GROUP if k >= _GROUP_FROM * d else 1, 32
    n_groups = triton.cdiv(k, _SITES * group)
    n_tiles = n_groups * group
    scaled = torch.empty((n_tiles, d + 1, _SITES), dtype=torch.float32, device=device)
    scale_sites[(triton.cdiv(n_tiles, at_once),)](
        centres, scaled, k, n_tiles, scale, D=d, BLOCK_SITES=_SITES, TILES=at_once, num_warps=4
    )
    undecided = torch.empty(len(labels), dtype=torch.int64, device=device)
    n_undecided = torch.zeros(1, dtype=torch.int32, device=device)
    rank_narrow[(triton.cdiv(len(labels), _ROWS),)](
        rows.X, or_other(listed, labels), or_other(own, labels), scaled, centres, labels, at_least,
        or_other(sq_dist, centres), undecided, n_undecided, rows.anchor, rows.shift, rows.lengths, len(labels),
        n_groups, *rows.strides, rounding(d), scale, D=d, LISTED=listed is not None, EXCLUDE=own is not None,
        MEASURED=sq_dist is not None, UNIT=rows.unit, FEW=rows.columns_at_once, BLOCK_ROWS=_ROWS, BLOCK_SITES=_SITES,
        GROUP=group, num_warps=_WARPS, **EXACT,
    )  # fmt: skip
    join_nearer(rows, centres, labels, sq_dist, listed=listed, items=undecided, n_items=n_undecided, own=own)
