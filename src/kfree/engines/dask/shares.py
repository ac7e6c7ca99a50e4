"""Which blocks of rows each worker takes in a pass.

A worker returns statistics for every node of the tree over block numbers (``core/sum_tree.py``) that its blocks are
made of. Consecutive blocks of any number are up to 2·log₂ nodes, which would travel one by one. So every worker takes a
few whole nodes: one of the size 2^a ≤ the fair share, one of 2^b ≤ what then remains, and so on, like binary digits.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

# The mean load of the workers over the largest one is to be at least this; more nodes per worker are tried until it is.
LEAST_BALANCE = 0.8
_MOST_NODES = 6


class Share(NamedTuple):
    """The blocks ``begin`` … ``end`` − 1, one node of the tree, and the number of the worker that takes them."""

    begin: int
    end: int
    worker: int


@lru_cache(maxsize=16)
def shares(n_blocks: int, n_workers: int) -> tuple[Share, ...]:
    """All blocks, in order, divided among the workers; each takes as few nodes as a fair division allows.

    Examples
    --------
    >>> [tuple(share) for share in shares(12, 2)]
    [(0, 4, 0), (4, 8, 1), (8, 10, 0), (10, 12, 1)]
    """
    for n_nodes in range(1, _MOST_NODES + 1):
        dealt = _dealt(n_blocks, n_workers, n_nodes)
        if balance(dealt, n_workers) >= LEAST_BALANCE:
            break
    return dealt


def balance(dealt: tuple[Share, ...], n_workers: int) -> float:
    """The mean load of the workers over the largest one."""
    loads = [0] * n_workers
    for begin, end, worker in dealt:
        loads[worker] += end - begin
    return sum(loads) / (n_workers * max(loads))


def _dealt(n_blocks: int, n_workers: int, n_nodes: int) -> tuple[Share, ...]:
    """Rounds in which every worker takes one node of the same size; in the last round some may take none."""
    dealt: list[Share] = []
    begin, size = 0, 0
    for left in range(n_nodes, 0, -1):
        rest = (n_blocks - begin) / n_workers
        if rest > 0:
            digit = math.log2(max(rest, 1.0))
            size = 1 << (math.ceil(digit) if left == 1 else math.floor(digit))
            for worker in range(min(n_workers, -(-(n_blocks - begin) // size))):
                dealt.append(Share(begin, min(begin + size, n_blocks), worker))
                begin += size
    return tuple(dealt)
