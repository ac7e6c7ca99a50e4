"""Which code runs a part of the library: compiled, or the reference implementation in NumPy."""

from __future__ import annotations

from types import ModuleType

import kfree.native._core as _core
from kfree.native.reference import agglomerate, cut, hdp, online, passes, path, quadratic, samplers

# "auto" may change the speed, never the answer.
IMPLEMENTATIONS = ("auto", "native", "reference")

_REFERENCE = {
    "rows": passes,
    "groups": hdp,
    "stream": online,
    "graph": cut,
    "quadratic": quadratic,
    "trees": agglomerate,
    "samplers": samplers,
    "path": path,
}


def implementation(name: str, part: str) -> ModuleType:
    """The module that implements ``part`` under one of the names in ``IMPLEMENTATIONS``."""
    return _REFERENCE[part] if name == "reference" else _core
