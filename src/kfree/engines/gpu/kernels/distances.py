"""Canonical squared distances of rows to one site each, and to all sites."""

import triton
import triton.language as tl

from kfree.engines.gpu.kernels.coordinates import coordinate, sq_dist_to


@triton.jit(do_not_specialize=["n_items"])
def distances_to_own(
    X, rows, labels, centres, sq_dist, anchor, shift, lengths, n_items, d, row_stride, column_stride,
    LISTED: tl.constexpr, UNIT: tl.constexpr, FEW: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """out sq_dist (m,): item i is the row rows[i], or i itself, and is compared with the site labels[i]."""
    item = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask = item < n_items
    row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
    site = tl.load(labels + item, mask=mask, other=0)
    length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
    total = sq_dist_to(
        X, row, site, centres, anchor, shift, length, mask, d, row_stride, column_stride, UNIT, FEW, BLOCK_ROWS
    )
    tl.store(sq_dist + item, total, mask=mask)


@triton.jit
def nearest_of_listed(
    X, rows, items, n_listed, found, n_found, centres, label, anchor, shift, lengths, d, row_stride, column_stride,
    MOST: tl.constexpr, LISTED: tl.constexpr, UNIT: tl.constexpr, BLOCK_ROWS: tl.constexpr,
):  # fmt: skip
    """in-out label (m,): of each of ``items``, the nearest of the sites found[i, : n_found[i]], the first on ties.

    Items that have more than MOST are left alone.
    """
    n = tl.load(n_listed)
    for start in range(tl.program_id(0) * BLOCK_ROWS, n, tl.num_programs(0) * BLOCK_ROWS):
        place = (start + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
        mask = place < n
        item = tl.load(items + place, mask=mask, other=0)
        n_sites = tl.load(n_found + place, mask=mask, other=0)
        mask = mask & (n_sites <= MOST)
        n_sites = tl.where(mask, n_sites, 0)
        row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
        length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
        best = tl.full([BLOCK_ROWS], float("inf"), tl.float64)
        winner = tl.load(found + place * MOST, mask=mask, other=0)
        for j in range(0, tl.max(n_sites)):
            compared = j < n_sites
            site = tl.load(found + place * MOST + j, mask=compared, other=0)
            sq_dist = sq_dist_to(
                X, row, site, centres, anchor, shift, length, compared, d, row_stride, column_stride, UNIT, False,
                BLOCK_ROWS,
            )  # fmt: skip
            nearer = compared & (sq_dist < best)
            best = tl.where(nearer, sq_dist, best)
            winner = tl.where(nearer, site, winner)
        tl.store(label + item, winner, mask=mask)


@triton.jit
def _sq_dist_tile(
    X, row, site, centres_by_column, anchor, shift, length, mask, k, d, row_stride, column_stride,
    UNIT: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """Σ_t (z_t − c_t)² of a tile of rows and sites, t in order."""
    total = tl.zeros([BLOCK_ROWS, BLOCK_SITES], tl.float64)
    for t in range(0, d):
        z = coordinate(X, row, t, mask, anchor, shift, length, row_stride, column_stride, UNIT)
        c = tl.load(centres_by_column + t * k + site, mask=site < k, other=0.0)
        gap = z[:, None] - c[None, :]
        total += gap * gap
    return total


@triton.jit(do_not_specialize=["first_row", "n_rows", "k"])
def distances_to_all(
    X, centres_by_column, sq_dist, anchor, shift, lengths, first_row, n_rows, k, d, row_stride, column_stride,
    UNIT: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """out sq_dist (n_rows, k): from the rows that begin at first_row to all sites."""
    place = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    mask, row = place < n_rows, first_row + place
    length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
    site = tl.program_id(1) * BLOCK_SITES + tl.arange(0, BLOCK_SITES)
    total = _sq_dist_tile(
        X, row, site, centres_by_column, anchor, shift, length, mask, k, d, row_stride, column_stride, UNIT,
        BLOCK_ROWS, BLOCK_SITES,
    )  # fmt: skip
    tl.store(sq_dist + place[:, None] * k + site[None, :], total, mask=mask[:, None] & (site < k)[None, :])


@triton.jit(do_not_specialize=["k", "first_label"])
def nearest_of_all(
    X, rows, items, n_listed, own, centres_by_column, label, sq_dist, place_of_row, born_after, anchor, shift, lengths,
    k, d, first_label, row_stride, column_stride,
    CHOSEN: tl.constexpr, MEASURED: tl.constexpr, LISTED: tl.constexpr, UNIT: tl.constexpr, EXCLUDE: tl.constexpr,
    BORN: tl.constexpr, ORDERED: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_SITES: tl.constexpr,
):  # fmt: skip
    """in-out label, sq_dist (m,): items join the nearest site that is strictly nearer than what they have.

    CHOSEN: only the listed ``items``, which have nothing yet. MEASURED: distances are stored. EXCLUDE: never the site
    own[i]. BORN: only sites that were born before the row is visited, which is its place in the order (ORDERED) or its
    number.
    """
    n = tl.load(n_listed)
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK_ROWS, n, tl.num_programs(0) * BLOCK_ROWS):
        place = start + tl.arange(0, BLOCK_ROWS)
        mask = place < n
        item = tl.load(items + place, mask=mask, other=0) if CHOSEN else place
        row = tl.load(rows + item, mask=mask, other=0) if LISTED else item
        length = tl.load(lengths + row, mask=mask, other=1.0) if UNIT else tl.zeros([BLOCK_ROWS], tl.float64)
        if CHOSEN:
            best = tl.full([BLOCK_ROWS], float("inf"), tl.float64)
            winner = tl.zeros([BLOCK_ROWS], tl.int32)
        else:
            best = tl.load(sq_dist + item, mask=mask, other=0.0)
            winner = tl.load(label + item, mask=mask, other=0)
        for first in range(0, k, BLOCK_SITES):
            site = first + tl.arange(0, BLOCK_SITES)
            total = _sq_dist_tile(
                X, row, site, centres_by_column, anchor, shift, length, mask, k, d, row_stride, column_stride, UNIT,
                BLOCK_ROWS, BLOCK_SITES,
            )  # fmt: skip
            allowed = mask[:, None] & (site < k)[None, :]
            if EXCLUDE:
                allowed = allowed & (tl.load(own + item, mask=mask, other=-1)[:, None] != site[None, :])
            if BORN:
                visited = tl.load(place_of_row + row, mask=mask, other=0) if ORDERED else row
                born = tl.load(born_after + site, mask=site < k, other=0)
                allowed = allowed & (visited[:, None] > born[None, :])
            total = tl.where(allowed, total, float("inf"))
            least = tl.min(total, axis=1)
            # The first site that has it.
            which = tl.min(tl.where(total == least[:, None], site[None, :], 2147483647), axis=1)
            nearer = least < best
            best = tl.where(nearer, least, best)
            winner = tl.where(nearer, first_label + which, winner)
        if MEASURED:
            tl.store(sq_dist + item, best, mask=mask)
        tl.store(label + item, winner, mask=mask)
