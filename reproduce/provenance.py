"""When, where and by which commit a number was made."""

import os
import platform
import re
import shutil
import subprocess
from datetime import date
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIELDS = ("commit", "date", "machine")


def provenance():
    """Commit (with + where files differ from it), date and machine of this run."""
    return {"commit": commit(), "date": date.today().isoformat(), "machine": machine()}


@cache
def commit():
    head, changed = (
        _told("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD"),
        _told("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no", "src", "reproduce/*.py"),
    )
    return (head.strip() or "unknown") + ("+" if changed.strip() else "")


@cache
def machine():
    """The processor and the number of its cores."""
    named = re.search(r"^Model name:\s*(.+)$", _told("lscpu"), flags=re.MULTILINE)
    return f"{named[1] if named else platform.machine()}, {os.cpu_count()} cores"


def _told(*command):
    """What a command prints; nothing where it is not installed."""
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
