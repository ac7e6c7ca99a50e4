"""Memory that compiled code and the C library keep for later."""

from __future__ import annotations

import kfree.native._core as _core


def give_back_free_memory() -> None:
    """Give free memory back to the system, for what is about to need as much memory as there may be.

    Without this, arrays that were freed still count as memory of the process: the C library keeps them when some as
    large were freed before.
    """
    _core.give_back_free_memory()
