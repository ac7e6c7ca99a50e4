"""Engines by name."""

from __future__ import annotations

from typing import Any

from kfree.core.frame import Frame
from kfree.core.stats import Floats
from kfree.engines.local.engine import LocalEngine
from kfree.native.implementations import IMPLEMENTATIONS, implementation

ENGINES = IMPLEMENTATIONS


def open_engine(
    name: str,
    X: Any,
    *,
    weight: Floats | None = None,
    unit: bool = False,
    frame: Frame | None = None,
    n_threads: int | None = None,
) -> LocalEngine:
    """Give validated rows to the engine called ``name``; without a ``frame`` it makes one from the rows."""
    passes = implementation(name, "rows")
    return LocalEngine.of("native" if name == "auto" else name, passes, X, weight, unit, frame, n_threads)
