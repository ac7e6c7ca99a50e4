"""The order of the public labels: by size, or as the search numbered the clusters."""

import numpy as np

# Rows per block, which bounds the memory.
_ROWS_AT_ONCE = 65536
LABEL_ORDERS = ["size", "found"]


def published_order(rule, labels, weight, row_weight=None):
    """Clusters of ``weight`` (k,) as the search numbers them, in the order of their public labels.

    ``"size"`` is heaviest first and, among equals, in the order of their first rows that count.
    """
    if rule == "found":
        return np.arange(len(weight))
    first = np.full(len(weight), len(labels))
    for begin in reversed(range(0, len(labels), _ROWS_AT_ONCE)):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        counts = np.ones(len(labels[part]), dtype=bool) if row_weight is None else row_weight[part] > 0
        rows = np.flatnonzero(counts)[::-1]
        first[labels[part][rows]] = begin + rows
    # Sums of equal weights may differ by rounding.
    return np.lexsort((first, -np.round(weight / weight.max(), 12)))


def heaviest_first(rule, weight):
    """The same where rows were streamed: equals stay in the order in which they were found."""
    share = np.zeros(len(weight)) if rule == "found" else np.round(weight / weight.max(), 12)
    return np.argsort(-share, kind="stable")


def ranks(order):
    """The public label of each cluster of the search, (k,), int32."""
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank
