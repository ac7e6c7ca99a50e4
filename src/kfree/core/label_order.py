"""The order of the public labels: by size, or as the search numbered the clusters."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.core.stats import Floats, Index, Labels, Mask

# Rows per block: few at first, since most clusters have rows among them; then more, while memory remains bounded.
_ROWS_AT_FIRST, _ROWS_AT_ONCE = 1024, 65536
LABEL_ORDERS = ["size", "found"]


def published_order(
    rule: str, labels: Labels | Callable[[], Labels], weight: NDArray[Any], row_weight: Floats | None = None
) -> Index:
    """Clusters of ``weight`` (k,) as the search numbers them, in the order of their public labels.

    ``"size"`` is heaviest first and, among equals, in the order of their first rows that count. Labels that are still
    to be computed, or copied, are given as a function.
    """
    order = order_by_rule(rule, weight)
    if rule == "found":
        return order
    share = _shares(weight)
    share_of_next = share[order[1:]]
    tied = share_of_next[share[order[:-1]] == share_of_next]
    if not len(tied):
        return order
    labels = labels() if callable(labels) else labels
    return np.lexsort((_first_rows(labels, row_weight, np.isin(share, tied)), -share))


def _first_rows(labels: Labels, row_weight: Floats | None, wanted: Mask) -> Index:
    """The first row that counts of each ``wanted`` cluster (k,); the number of rows where there is none."""
    first, begin, size = np.full(len(wanted), len(labels)), 0, _ROWS_AT_FIRST
    while begin < len(labels) and (first[wanted] == len(labels)).any():
        part = slice(begin, begin + size)
        counts = np.ones(len(labels[part]), dtype=bool) if row_weight is None else row_weight[part] > 0
        rows, new = np.flatnonzero(counts)[::-1], np.full(len(wanted), len(labels))
        new[labels[part].take(rows)] = begin + rows
        first = np.minimum(first, new)
        begin, size = begin + size, min(2 * size, _ROWS_AT_ONCE)
    return first


def order_by_rule(rule: str, weight: NDArray[Any]) -> Index:
    """``published_order`` where rows were streamed: equals stay in the order in which they were found."""
    return np.arange(len(weight)) if rule == "found" else np.argsort(-_shares(weight), kind="stable")


def _shares(weight: NDArray[Any]) -> Floats:
    """Weights of clusters as shares of the largest, rounded: sums of equal weights may differ in their last bits."""
    return np.asarray(np.round(weight / weight.max(), 12))


def ranks(order: Index) -> Labels:
    """The public label of each cluster of the search, (k,), int32."""
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank
