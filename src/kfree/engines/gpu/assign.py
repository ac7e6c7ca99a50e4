"""Which site is the nearest of each row: ranked in eight bits, decided canonically where these leave doubt."""

from __future__ import annotations

import torch

from kfree.engines.gpu.canonical import join_nearer
from kfree.engines.gpu.ranking import Ranking
from kfree.engines.gpu.rows import DeviceRows

# Fewer products than this per row are computed in float64 at once.
FEW_PRODUCTS = 64


def nearest(
    rows: DeviceRows,
    centres: torch.Tensor,
    listed: torch.Tensor | None = None,
    own: torch.Tensor | None = None,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The nearest centre of rows, all or ``listed``, the first one on ties, and none that ``own`` names.

    Also a lower bound of the distance to every other centre, zero where nothing is known.
    """
    n_items, k = rows.n_rows if listed is None else len(listed), len(centres)
    labels, at_least = out or (torch.empty(n_items, dtype=t, device=rows.device) for t in (torch.int32, torch.float32))
    labels.zero_(), at_least.zero_()
    if n_items == 0 or k == 1:
        return labels, at_least
    if k * rows.n_features <= FEW_PRODUCTS or not rows.rankable:
        unknown = torch.full((n_items,), torch.inf, dtype=torch.float64, device=rows.device)
        join_nearer(rows, centres, labels, unknown, listed=listed, own=own)
    else:
        Ranking(rows, centres, listed, own).run(labels, at_least)
    return labels, at_least
