"""Memory that is available, that dense centres need, and pages of mapped files."""

from __future__ import annotations

import ctypes
import mmap
import re
import sys
from pathlib import Path

from kfree.core.control_groups import own_groups, text_of

_ROOT = Path("/")  # of the file system in which Linux says what memory there is
# The limit of a control group, what it uses, and the line of memory.stat about that part of it which is of files and is
# given up first: in version 2, and in version 1.
_GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
# Fewer bytes are not worth asking the system, which takes as long as a small pass.
_SMALL = 1 << 28
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def memory_bytes(text: str) -> int:
    """Bytes of a limit such as "500MB".

    Examples
    --------
    >>> from kfree.core.memory import memory_bytes
    >>> memory_bytes("1.5GB")
    1500000000
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?B)\s*", text.upper())
    if found is None or float(found[1]) == 0:
        raise ValueError(f"{text!r} is not a limit of memory; give a text such as '500MB' or '2GB'.")
    return round(float(found[1]) * _UNITS[found[2]])


def available_bytes() -> int | None:
    """Bytes that can be allocated without swapping, or None where the system does not say.

    Examples
    --------
    >>> from kfree.core.memory import available_bytes
    >>> available = available_bytes()
    >>> available is None or available > 0
    True
    """
    try:
        fields = dict(line.split(":", 1) for line in (_ROOT / "proc/meminfo").read_text().splitlines())
        available = 1024 * int(fields["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return None
    limits = [_left_in(group) for group in own_groups("memory", _ROOT)]
    return min([available, *(left for left in limits if left is not None)])


def _left_in(group: Path) -> int | None:
    """Bytes that a control group may still take, or None where it has no limit."""
    for limit, used, of_files in _GROUP_FILES:
        most = text_of(group / limit).strip()
        if most.isdigit():  # else "max", or a group of the other version
            statistics = dict(line.split() for line in text_of(group / "memory.stat").splitlines())
            return max(0, int(most) - int(text_of(group / used) or 0) + int(statistics.get(of_files, 0)))
    return None


def require_memory(n_centres: int, n_features: int, n_copies: int) -> None:
    """Raise MemoryError where so many copies of dense float64 centres are more than the memory that is available."""
    needed = 8 * n_centres * n_features * n_copies
    if needed < _SMALL:
        return
    available = available_bytes()
    if available is not None and needed > available:
        raise MemoryError(
            f"{n_centres} centres of {n_features} columns need {needed} bytes in dense form ({n_copies} copies), and "
            f"{available} bytes are available. Reduce the columns of X, for example by TruncatedSVD or a smaller "
            "n_features of HashingVectorizer, or give a larger lam, fewer clusters or fewer rows."
        )


def forget_pages(address: int, size: int) -> None:
    """Unmap pages of a file that was mapped into memory; they are mapped again when they are read. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.MADV_DONTNEED)
