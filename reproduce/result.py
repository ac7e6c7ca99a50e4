"""What an experiment gives: lines of a table, pictures, and the file that keeps them."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from reproduce.code import UNKNOWN, code_of
from reproduce.provenance import provenance
from reproduce.table import FIELDS, Line

SIZES = ("quick", "part", "full")


@dataclass(frozen=True)
class Experiment:
    """``run(quick)`` returns a Result; ``explanation`` says why ours is worse where it is, or not comparable.

    ``data`` are the names of the public sets that it needs, ``stand_in`` says what is not the paper's data, and
    ``cells`` is the table of kept cells that it is put together from, if there is one.
    """

    about: str
    run: Callable
    explanation: str = ""
    data: tuple[str, ...] = ()
    stand_in: str = ""
    cells: str = ""


@dataclass(frozen=True)
class Result:
    """Lines, and a matplotlib figure where the paper has one."""

    lines: list[Line] = field(default_factory=list)
    figure: object = None


@dataclass(frozen=True)
class Kept:
    """A run that was kept: its rows as text, its size, its picture or None, and by what and when it was made."""

    rows: list[dict]
    size: str
    picture: object
    made: dict


def keep(result, folder, name, size, run, **about):
    """Write lines as CSV with all digits, the figure as PNG, and what ``run`` made them as JSON; returns the paths.

    ``about`` is kept beside the hash of the code.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('/', '-')}.{size}"
    paths = [folder / f"{stem}.csv", folder / f"{stem}.json"]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows([getattr(line, name) for name in FIELDS] for line in result.lines)
    made = {"code": code_of(run)} | provenance() | about
    paths[1].write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if result.figure is not None:
        paths.append(folder / f"{stem}.png")
        result.figure.savefig(paths[-1], dpi=70)
    return paths


def kept(folder, name):
    """The largest run that was kept; None if there is none."""
    stem = name.replace("/", "-")
    for size in reversed(SIZES):
        path = folder / f"{stem}.{size}.csv"
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            picture, about = path.with_suffix(".png"), path.with_suffix(".json")
            made = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {"code": UNKNOWN}
            return Kept(rows, size, picture if picture.is_file() else None, made)
    return None
