"""Rows in memory, by the name of what computes."""

from __future__ import annotations

from kfree.core.arrays import Array
from kfree.core.divergences import Divergence, require_domain, require_kind
from kfree.core.frame import Frame
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats
from kfree.engines.contract import MemoryRows
from kfree.engines.gpu.device import require_device
from kfree.engines.local.bregman import BregmanRows
from kfree.engines.local.rows import LocalRows, open_rows_here
from kfree.native.implementations import IMPLEMENTATIONS

ENGINES = (*IMPLEMENTATIONS, "gpu")


def open_engine(
    name: str,
    X: Array,
    *,
    weight: Floats | None = None,
    unit: bool = False,
    frame: Frame | None = None,
    n_threads: int | None = None,
    divergence: Divergence | None = None,
) -> MemoryRows:
    """Give validated rows to what is called ``name``; without a ``frame`` it is made from the rows.

    ``divergence`` takes the place of the squared distance. Its rows are in memory, whatever computes.
    """
    if divergence is not None:
        require_domain(X, divergence)
        require_kind(X, divergence)
        return BregmanRows(name, X, weight, divergence, n_threads)
    if name == "gpu":
        device = require_device()
        from kfree.engines.gpu.engine import open_gpu  # torch takes seconds to import

        return open_gpu(X, weight, unit, frame, device)
    return open_rows_here(name, X, weight, unit, frame, n_threads)


def open_local(
    name: str, X: ArrayOrCSR, *, weight: Floats, unit: bool = False, frame: Frame | None = None
) -> LocalRows:
    """A few weighted rows in this process, for which threads would take longer than what they do."""
    # What is in memory does not go to a GPU.
    return open_rows_here("native" if name == "gpu" else name, X, weight, unit, frame, n_threads=1)
