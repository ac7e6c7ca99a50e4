"""In which order clusters are published: a stated rule, or as the search numbered them."""

import numpy as np

LABEL_ORDERS = ["size", "found"]


def published_order(rule, labels, weight, row_weight=None):
    """Clusters of ``weight`` (k,) as the search numbers them, in the order of their public labels.

    ``"size"`` is heaviest first and, among equals, in the order of their first rows that count.
    """
    if rule == "found":
        return np.arange(len(weight))
    rows = np.arange(len(labels)) if row_weight is None else np.flatnonzero(row_weight > 0)
    first = np.full(len(weight), len(labels))
    first[labels[rows[::-1]]] = rows[::-1]
    # Sums of equal weights may differ by rounding.
    return np.lexsort((first, -np.round(weight / weight.max(), 12)))


def ranks(order):
    """The public label of each cluster of the search, (k,), int32."""
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank
