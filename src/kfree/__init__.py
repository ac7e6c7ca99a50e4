"""kfree: clustering when nobody knows k.

Public names are imported when they are first used, so that ``import kfree`` is fast.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "DPMeans": "kfree.estimators.dp_means",
    "KMeans": "kfree.estimators.k_means",
    "farthest_first_lambda": "kfree.estimators.farthest_first",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'kfree' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
