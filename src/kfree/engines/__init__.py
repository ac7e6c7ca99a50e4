"""Engines by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kfree.engines.base import Engine, Frame, Sites
from kfree.engines.local import LocalEngine
from kfree.stats import Floats

__all__ = ["ENGINES", "Engine", "Frame", "Sites", "open_engine"]

# Name → module of passes. "auto" may change the speed, never the answer.
ENGINES = {
    "auto": "kfree.native._core",
    "native": "kfree.native._core",
    "reference": "kfree.native.reference",
}


def open_engine(
    name: str,
    X: Any,
    *,
    weight: Floats | None = None,
    unit: bool = False,
    frame: Frame | None = None,
    n_threads: int | None = None,
) -> Engine:
    """Give validated rows to the engine called ``name``; without a ``frame`` it makes one from the rows."""
    passes = import_module(ENGINES[name])
    return LocalEngine("native" if name == "auto" else name, passes, X, weight, unit, frame, n_threads)
