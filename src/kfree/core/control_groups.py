"""Linux control groups, version 1 or 2, whose limits bind this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def own_groups(controller: str, root: str | os.PathLike[str] = "/") -> Iterator[Path]:
    """Folders of the groups that limit what this process uses of "cpu" or "memory": its own, and those around it.

    A limit of a group binds all groups in it. Inside a container the upper ones may be out of sight.
    """
    for line in text_of(Path(root, "proc/self/cgroup")).splitlines():
        _, controllers, name = line.split(":", 2)
        hierarchy = Path(root, "sys/fs/cgroup")
        if controllers:  # version 1
            if controller not in controllers.split(","):
                continue
            hierarchy = hierarchy / controller
        group = Path(name.lstrip("/"))
        yield from (hierarchy / part for part in (group, *group.parents))


def text_of(path: Path) -> str:
    """What the file holds; nothing where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""
