"""A copy of the package with one mistake in it, and what tests say about that copy.

A formula is found by its syntax tree wherever it stands in the package, so that a function may move to another module.
Nothing of kfree is imported here: a process that runs ``outcome`` imports the copy.
"""

import ast
import contextlib
import io
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# Imported once, by the process that all others are forked from.
SHARED = ["matplotlib", "pandas", "scipy.sparse.linalg", "scipy.special", "sklearn.cluster", "sklearn.mixture"]


@dataclass(frozen=True)
class Mutant:
    """What is right, what is wrong instead, and the tests that must notice: a file in ``tests/``, an argument of -k.

    ``right`` is an expression or a statement that the package has once, or once in a function called ``within``.
    """

    right: str
    wrong: str
    tests: str
    selection: str
    within: str | None = None


@dataclass(frozen=True)
class Place:
    """A piece of a file of the package, in bytes: what ``ast`` counts in."""

    path: Path
    begin: int
    end: int
    is_expression: bool

    def replaced(self, wrong: str) -> bytes:
        source = self.path.read_bytes()
        return source[: self.begin] + (f"({wrong})" if self.is_expression else wrong).encode() + source[self.end :]


class NotFound(LookupError):
    """What is to be mutated is not there, or more than once."""


@dataclass(frozen=True)
class Source:
    """A file of the package, read once."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def words(self) -> set[str]:
        return words_of(self.text)

    def nodes(self, within: str | None) -> Iterator[ast.AST]:
        """Nodes of the syntax tree: all, or those of functions of that name."""
        for node in ast.walk(self.tree):
            if within is None:
                yield node
            elif isinstance(node, ast.FunctionDef) and node.name == within:
                yield from ast.walk(node)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def place(self, node: ast.AST) -> Place:
        starts = [0]
        for line in self.text.encode().splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        return Place(self.path, begin, end, isinstance(node, ast.expr))


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@cache
def sources(package: Path) -> list[Source]:
    return [Source(path) for path in sorted(package.rglob("*.py"))]


def place_of(mutant: Mutant, package: Path) -> Place:
    """Where in the package the mutant's formula stands."""
    pattern = ast.parse(mutant.right).body[0]
    wanted, words = ast.dump(pattern.value if isinstance(pattern, ast.Expr) else pattern), words_of(mutant.right)
    candidates = [source for source in sources(package) if words <= source.words]
    found = [
        (source, node) for source in candidates for node in source.nodes(mutant.within) if ast.dump(node) == wanted
    ]
    if len(found) != 1:
        where = "" if mutant.within is None else f" in functions called {mutant.within}"
        raise NotFound(f"{mutant.right!r} is found {len(found)} times{where}; give the mutant the formula of today")
    source, node = found[0]
    return source.place(node)


def copied(package: Path, core: Path, folder: Path) -> Path:
    """A copy of the package, with the compiled part, which an editable install keeps elsewhere."""
    copy = folder / "kfree"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(core, copy / "native")
    return copy


def outcome(package: Path, core: Path, mutant: Mutant, folder: Path) -> tuple[int, str]:
    """Exit code and output of pytest in this process, which must not have imported kfree."""
    place = place_of(mutant, copied(package, core, folder))
    place.path.write_bytes(place.replaced(mutant.wrong))
    # Not the options of the outer run: under xdist, -x ends with another exit code.
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ["PYTHONPATH"] = str(folder)
    # An editable install comes before all folders.
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
    sys.path.insert(0, str(folder))
    os.chdir(TESTS.parent)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", str(TESTS / mutant.tests), "-k", mutant.selection])
    return code, printed.getvalue()


def touched(mutant: Mutant, package: Path, files: set[str]) -> bool:
    """Whether a change of these files may change what becomes of the mutant. A mutant that is not found has changed."""
    try:
        formula = place_of(mutant, package).path.relative_to(package.parent)
    except NotFound:
        return True
    return f"src/{formula}" in files or f"tests/{mutant.tests}" in files


def processes(n: int) -> ProcessPoolExecutor:
    """``n`` processes at a time, each for one call of ``outcome``."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(SHARED)
    return ProcessPoolExecutor(n, mp_context=context, max_tasks_per_child=1)


def changed_files(since: str) -> set[str]:
    """Files that differ from where this branch left ``since``, uncommitted changes included."""
    base = git("merge-base", since, "HEAD")
    return {
        *git("diff", "--name-only", base).split("\n"),
        *git("ls-files", "--others", "--exclude-standard").split("\n"),
    }


def git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=TESTS.parent, text=True).strip()
