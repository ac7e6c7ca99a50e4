"""What this machine offers to compiled code: processors and instruction sets."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

from kfree.core.control_groups import own_groups, text_of

ISA_VARIABLE = "KFREE_ISA"


def available_cpus() -> int:
    """Processors that this process may use: its affinity, and what its control groups grant."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _own_quota(os.getpid())
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


@cache
def _own_quota(process: int) -> float | None:
    """The quota of this process, which a fork may have made: it takes a millisecond to read, and every fit asks."""
    return cgroup_quota()


def cgroup_quota(root: str | os.PathLike[str] = "/") -> float | None:
    """Processors' worth of time that Linux control groups, version 1 or 2, grant to this process, or None."""
    quotas = [_quota(group) for group in own_groups("cpu", root)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(group: Path) -> float | None:
    """The limit of one group: cpu.max holds "quota period" in version 2, two files do in version 1."""
    words = text_of(group / "cpu.max").split()
    if not words:
        words = (text_of(group / "cpu.cfs_quota_us") + " " + text_of(group / "cpu.cfs_period_us")).split()
    if len(words) < 2 or words[0] in ("max", "-1"):
        return None
    return int(words[0]) / int(words[1])


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
