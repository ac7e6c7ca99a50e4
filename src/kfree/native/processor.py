"""What this machine offers to compiled code: processors and instruction sets."""

from __future__ import annotations

import os

ISA_VARIABLE = "KFREE_ISA"


def available_cpus() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chosen_instruction_set(available: list[str]) -> str:
    """The widest that this machine runs, or the one that the environment variable KFREE_ISA names."""
    wanted = os.environ.get(ISA_VARIABLE)
    if not available:  # an engine that does not choose
        return ""
    if wanted is None:
        return available[-1]
    if wanted not in available:
        raise ValueError(
            f"{ISA_VARIABLE}={wanted!r} does not run on this machine; set it to one of {available} or unset it."
        )
    return wanted
