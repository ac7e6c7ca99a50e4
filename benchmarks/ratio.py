"""Side by side: contestants take turns, each keeps its best time, and a ratio says who is faster and by how much."""

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass
class Row:
    """One case: seconds and notes for every contestant, the first of which is kfree."""

    case: str
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    target: float | None = None

    def ratio(self, peer):
        """How many times as long the peer takes."""
        return self.seconds[peer] / self.seconds["kfree"]


def race(case, contestants, rounds=5, target=None, notes=None, clock=time.perf_counter):
    """Run all contestants in turn, ``rounds`` times over; ``notes(name, result)`` describes a result."""
    row = Row(case, target=target)
    for _ in range(rounds):
        for name, run in contestants.items():
            gc.collect()
            started = clock()
            result = run()
            seconds = clock() - started
            row.seconds[name] = min(seconds, row.seconds.get(name, seconds))
            if notes:
                row.notes[name] = notes(name, result)
    print(*markdown([row]).splitlines()[2:], sep="\n", flush=True)
    return row


def markdown(rows):
    """A table of seconds, ratios to kfree and notes."""
    lines = ["| case | contestant | seconds | times kfree's | notes |", "|---|---|---|---|---|"]
    for row in rows:
        for name, seconds in row.seconds.items():
            goal = f" (goal ≥ {row.target:g} against the fastest peer)" if name == "kfree" and row.target else ""
            lines.append(
                f"| {row.case} | {name} | {seconds:.4g} | {row.ratio(name):.2f}{goal} | {row.notes.get(name, '')} |"
            )
    return "\n".join(lines)


def versions(*packages):
    """Versions of the contestants, and where they ran."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found | {"commit": commit(), "python": platform.python_version(), "processor": processor()}


def commit():
    """The commit that is measured; KFREE_COMMIT names it where there is no repository.

    Changed results do not make it dirty: they are what a benchmark writes.
    """
    if "KFREE_COMMIT" in os.environ:
        return os.environ["KFREE_COMMIT"]
    name = _git("describe", "--always") or "unknown"
    return f"{name}-dirty" if _git("status", "--porcelain", "--untracked-files=no", ":/", ":!.") else name


def _git(*command):
    """What git says, an empty text where there is no repository."""
    return subprocess.run(["git", *command], cwd=RESULTS, capture_output=True, text=True, check=False).stdout.strip()


def processor():
    found = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    names = [text.split(":", 1)[1].strip() for text in found.splitlines() if text.startswith("Model name")]
    return f"{platform.machine()} {' '.join(names)}, {os.cpu_count()} cores"


def keep_cells(file, cells, lines, *packages, indent=1):
    """Keep ``cells`` as JSON in a file, and the ``lines`` of their table as Markdown beside it, both with versions."""
    facts = versions("kfree", *packages)
    file.write_text(json.dumps({"versions": facts, "cells": cells}, indent=indent) + "\n")
    file.with_suffix(".md").write_text("\n".join([heading_of(facts), *lines]) + "\n")


def heading_of(facts):
    return ", ".join(f"{key} {value}" for key, value in facts.items())


def report(name, rows, *packages, only=None, peer=None):
    """Print the table and keep it as JSON and Markdown under benchmarks/results/.

    If ``only`` some cases were run, what was kept of the others stays. ``peer`` holds versions from another
    environment.
    """
    facts = versions("kfree", *packages) | {f"{package} (peer)": version for package, version in (peer or {}).items()}
    RESULTS.mkdir(exist_ok=True)
    kept = RESULTS / f"{name}.json"
    if only is not None and kept.exists():
        old = {row["case"]: Row(**row) for row in json.loads(kept.read_text())["rows"]}
        rows = list((old | {row.case: row for row in rows}).values())
    table = markdown(rows)
    kept.write_text(json.dumps({"versions": facts, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")
    heading = heading_of(facts)
    kept.with_suffix(".md").write_text(f"{heading}\n\n{table}\n")
    print(heading, table, sep="\n\n")


def peak_bytes():
    """The most memory that this process alone has had (Linux); getrusage would start from that of its parent."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def arguments(description, switches=None):
    """The options that all benchmarks share, and ``switches`` of one, by name, with what they are for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant (default: %(default)s)")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the cases to run (default: all)")
    for name, purpose in (switches or {}).items():
        parser.add_argument(name, action="store_true", help=purpose)
    return parser.parse_args()


def chosen(cases, options):
    """The cases that ``--only`` names, or all."""
    cases = list(cases)
    return cases if options.only is None else [cases[number] for number in options.only]
