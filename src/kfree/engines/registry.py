"""Engines by name."""

from __future__ import annotations

from collections.abc import Sequence

from kfree.core.arrays import Array
from kfree.core.frame import Frame
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats
from kfree.engines.chunked.engine import ChunkedEngine
from kfree.engines.gpu.device import require_device
from kfree.engines.local.engine import LocalEngine, open_parts
from kfree.native.implementations import IMPLEMENTATIONS, implementation

ENGINES = (*IMPLEMENTATIONS, "gpu")


def open_engine(
    name: str,
    X: Array,
    *,
    weight: Floats | None = None,
    unit: bool = False,
    frame: Frame | None = None,
    n_threads: int | None = None,
    parts: Sequence[int] = (0,),
) -> ChunkedEngine:
    """Give validated rows to the engine called ``name``; without a ``frame`` it makes one from the rows.

    ``parts`` are the rows at which parts begin, multiples of the block size; the answer does not depend on them.
    """
    if name == "gpu":
        device = require_device()
        from kfree.engines.gpu.engine import open_gpu  # torch takes seconds to import

        return open_gpu(X, weight, unit, frame, parts, device)
    passes = implementation(name, "rows")
    return open_parts("native" if name == "auto" else name, passes, X, weight, unit, frame, n_threads, parts)


def open_local(
    name: str,
    X: ArrayOrCSR,
    *,
    weight: Floats,
    unit: bool = False,
    frame: Frame | None = None,
    n_threads: int | None = 1,
) -> LocalEngine:
    """Weighted rows in one part, which shows them; for a few, threads would take longer than what they do."""
    # What is in memory does not go to a GPU.
    name = "native" if name == "gpu" else name
    engine = open_engine(name, X, weight=weight, unit=unit, frame=frame, n_threads=n_threads)
    assert isinstance(engine, LocalEngine)  # there is one part
    return engine
