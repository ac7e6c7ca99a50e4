"""What an experiment gives: lines of a table, pictures, and the file that keeps them."""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field

from reproduce.table import FIELDS, Line

SIZES = ("quick", "part", "full")


@dataclass(frozen=True)
class Experiment:
    """``run(quick)`` returns a Result; ``explanation`` says why ours is worse where it is, or not comparable."""

    about: str
    run: Callable
    explanation: str = ""


@dataclass(frozen=True)
class Result:
    """Lines, and a matplotlib figure where the paper has one."""

    lines: list[Line] = field(default_factory=list)
    figure: object = None


def keep(result, folder, name, size):
    """Write lines as CSV with all digits and the figure as PNG; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('/', '-')}.{size}"
    paths = [folder / f"{stem}.csv"]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows([getattr(line, name) for name in FIELDS] for line in result.lines)
    if result.figure is not None:
        paths.append(folder / f"{stem}.png")
        result.figure.savefig(paths[1], dpi=70)
    return paths


def kept(folder, name):
    """The rows of the largest run that was kept, its size, and its picture or None; None if there is no run."""
    stem = name.replace("/", "-")
    for size in reversed(SIZES):
        path = folder / f"{stem}.{size}.csv"
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            picture = path.with_suffix(".png")
            return rows, size, picture if picture.is_file() else None
    return None
