"""Names of columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kfree.core.printing import quoted


def require_order(names: Any, wanted: Any, what: str, remedy: str) -> None:
    """Raise if columns have the ``wanted`` names in another order, since they are taken by place.

    Other names are no error: they may be those of another program for the same columns.
    """
    if names is None or wanted is None or list(names) == list(wanted):
        return
    if Counter(map(str, names)) == Counter(map(str, wanted)):
        raise ValueError(f"the columns of {what} are {quoted(names)}, in another order than {quoted(wanted)}. {remedy}")
