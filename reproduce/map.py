"""docs/theory/map.md: where each equation of the texts is computed, tested and measured.

``docs/theory/map.toml`` has names only; the files in which they are defined are looked for here, so that the map
survives a file that moves.
"""

import ast
import importlib
import inspect
import tomllib
from functools import cache
from pathlib import Path

import kfree

ROOT = Path(__file__).parents[1]
DATA, PAGE = ROOT / "docs" / "theory" / "map.toml", ROOT / "docs" / "theory" / "map.md"
SOURCES, TESTS = ROOT / "src" / "kfree", ROOT / "tests"
HEAD = """# The map

Every equation, algorithm and theorem of the five source texts that kfree computes: the class or function, the test that
holds it against the definition, and the experiment that measures it (`python -m reproduce NAME`). Links lead to the
files. Written by `python -m reproduce map` from `map.toml`; a test checks that every name exists and that this page is
up to date. What the texts print wrong is in [Errata](errata.md).
"""


def read():
    """The titles of the texts, and the entries."""
    with DATA.open("rb") as file:
        found = tomllib.load(file)
    return found["texts"], found["entry"]


def file_of_code(name):
    """The file that defines a class, function or method, or that is named; LookupError if there is none, or several."""
    if "/" in name:
        return _only(name, {name: {path.relative_to(ROOT) for path in SOURCES.glob(name)}}, "src/kfree")
    if name.startswith("kfree."):
        path = Path(inspect.getsourcefile(inspect.unwrap(_attribute(name))))
        return (SOURCES / path.relative_to(Path(kfree.__file__).parent)).relative_to(ROOT)
    return _only(name, _defined(SOURCES), "src/kfree")


def file_of_test(name):
    """The file with a test function; ``file.py::name`` where several files have one of that name."""
    where, _, function = name.rpartition("::")
    found = {path for path in _defined(TESTS).get(function, ()) if not where or path.name == where}
    return _only(name, {name: found}, "tests")


def _only(name, defined, where):
    found = defined.get(name, set())
    if len(found) != 1:
        several = f"is in {len(found)} files: {', '.join(map(str, sorted(found)))}" if found else "is nowhere"
        raise LookupError(f"{name!r} {several} in {where}; correct docs/theory/map.toml.")
    return next(iter(found))


def _attribute(name):
    """An object by its dotted name: the longest part that is a module, then attributes."""
    parts = name.split(".")
    for n_parts in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:n_parts]))
        except ModuleNotFoundError:
            continue
        for part in parts[n_parts:]:
            if not hasattr(thing, part):
                raise LookupError(f"{name!r} does not exist; correct docs/theory/map.toml.")
            thing = getattr(thing, part)
        return thing
    raise LookupError(f"{name!r} does not exist; correct docs/theory/map.toml.")


@cache
def _defined(folder):
    """Files by the names of the functions and classes at their top level, and of methods as Class.method."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
                if isinstance(node, ast.ClassDef):
                    names += [f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)]
                for name in names:
                    found.setdefault(name, set()).add(path.relative_to(ROOT))
    return found


def page():
    """The page as text."""
    texts, entries = read()
    lines = [HEAD]
    for text, title in texts.items():
        lines += [f"## {title}\n", "| place | what | code | test | experiment |", "|---|---|---|---|---|"]
        lines += [_row(entry) for entry in entries if entry["text"] == text]
        lines.append("")
    return "\n".join(lines)


def _row(entry):
    code = "<br>".join(_linked(name, file_of_code(name)) for name in entry["code"])
    tests = "<br>".join(_linked(name.rpartition("::")[2], file_of_test(name)) for name in entry["tests"])
    experiments = "<br>".join(f"`{name}`" for name in entry.get("experiments", []))
    return f"| {entry['place']} | {entry['what']} | {code} | {tests} | {experiments} |"


def _linked(name, path):
    return f"[`{name}`](../../{path})"
