"""How large and how deep kfree is, in numbers: ``python -m tests.structure``. A mirror, not a gate.

Sizes are read from the sources of the package that is imported. Depths are traced in two fits on the same 600 × 3 rows,
``DPMeans(lam=50.0)`` and ``DPMeans()``, the second time that they run, so that imports do not count. What is traced is
``fit`` of a model that was not fitted before.
"""

import ast
import re
import statistics
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

# Native functions are replaced before any module of kfree can bind them.
import kfree.native._core as native

PACKAGE = Path(sys.modules["kfree"].__file__).parent
ESTIMATORS = PACKAGE / "estimators"
SEARCH = PACKAGE / "search"
ROLES = ("Sweep", "Bisection", "DeletionCosts", "Potential", "Exchange")
SMALL = 60


@dataclass
class Module:
    """One Python file, and which modules of kfree it imports: at once, or hidden from the import system."""

    name: str
    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text())

    @cached_property
    def n_lines(self) -> int:
        return n_lines(self.path)

    def classes(self) -> list[ast.ClassDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]

    def imports(self) -> Iterator[str]:
        """Names that are imported when the module is, or by one of its functions."""
        hidden = set(map(id, self._guarded()))
        for node in ast.walk(self.tree):
            if id(node) not in hidden:
                yield from imported(node)

    def hidden_imports(self) -> Iterator[str]:
        """Names behind ``TYPE_CHECKING``, and arguments of ``import_module`` that are no text or name kfree."""
        for node in self._guarded():
            yield from imported(node)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                argument = node.args[0]
                if not isinstance(argument, ast.Constant):
                    yield ast.unparse(argument)
                elif argument.value.split(".")[0] == "kfree":
                    yield argument.value

    def _guarded(self) -> Iterator[ast.AST]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                for statement in node.body:
                    yield from ast.walk(statement)


def imported(node: ast.AST) -> Iterator[str]:
    """Names that a statement imports from kfree: modules, or objects whose module is what precedes the last dot."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "kfree")
    elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kfree":
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def n_lines(path: Path) -> int:
    return path.read_text().count("\n")


def read_package() -> dict[str, Module]:
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        modules[name] = Module(name, path)
    return modules


def import_graph(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Which modules each one imports, hidden imports included; the package itself imports lazily and is left out."""
    graph = {}
    for name, module in modules.items():
        names = {*module.imports(), *module.hidden_imports()}
        targets = {target if target in modules else target.rpartition(".")[0] for target in names}
        graph[name] = {target for target in targets if target in modules and target not in (name, "kfree")}
    graph["kfree"] = set()
    return graph


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of modules that import each other, directly or not."""
    reached = {name: reachable(graph, name) for name in graph}
    found = []
    for name in graph:
        circle = {other for other in reached[name] if name in reached[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen, waiting = set(), list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph[name])
    return seen


def lines_of_sources() -> tuple[int, int]:
    """Lines of Python, lines of C++."""
    python = sum(n_lines(path) for path in PACKAGE.rglob("*.py"))
    sources = Path(__file__).parents[1] / "src" / "kfree"
    return python, sum(n_lines(path) for end in ("cpp", "hpp") for path in sources.rglob(f"*.{end}"))


def inheritance(cls: type) -> tuple[list[type], set[str]]:
    """Classes of ours that ``cls`` consists of, itself included, and the private names that they define."""
    ours = [base for base in cls.__mro__ if base.__module__.split(".")[0] == "kfree"]
    names = {name for base in ours for name in vars(base)}
    return ours, {name for name in names if name.startswith("_") and not name.startswith("__")}


@dataclass
class Trace:
    """What one fit did: Python calls in kfree's files, the order of estimator files, frames around native calls."""

    n_calls: int = 0
    files: set[str] = field(default_factory=set)
    estimator_files: list[str] = field(default_factory=list)
    stacks: list[list[str]] = field(default_factory=list)
    native_calls: Counter = field(default_factory=Counter)

    def profile(self, frame: types.FrameType, event: str, argument: object) -> None:
        """For ``sys.setprofile``. A change between estimator files is a call or a return in another one than before."""
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(str(PACKAGE)):
            return
        if event == "call":
            self.n_calls += 1
            self.files.add(path)
        if path.startswith(str(ESTIMATORS)) and self.estimator_files[-1:] != [path]:
            self.estimator_files.append(path)

    def count_frames(self, name: str, frame: types.FrameType | None) -> None:
        """Keep the files of kfree's frames around a native call: its caller first, ``fit`` last."""
        stack = []
        while frame:
            if frame.f_code.co_filename.startswith(str(PACKAGE)):
                stack.append(frame.f_code.co_filename)
            frame = frame.f_back
        self.native_calls[name] += 1
        self.stacks.append(stack)

    @property
    def n_changes(self) -> int:
        return len(self.estimator_files) - 1


TRACES: list[Trace] = []


def watched(name: str, function: Callable) -> Callable:
    """A native function that tells the trace in progress who calls it."""

    def call(*arguments, **named):
        for trace in TRACES:
            trace.count_frames(name, sys._getframe(1))
        return function(*arguments, **named)

    return call


def watch_native_functions() -> None:
    for name, function in vars(native).copy().items():
        if type(function).__name__ == "nb_func":
            setattr(native, name, watched(name, function))


def traced(make: Callable[[], Any], X: Any) -> tuple[Trace, Trace]:
    """Calls and changes of a fit, then frames of another one: the second trace would count its own calls."""
    make().fit(X)
    calls, frames, model = Trace(), Trace(), make()
    sys.setprofile(calls.profile)
    try:
        model.fit(X)
    finally:
        sys.setprofile(None)
    TRACES.append(frames)
    make().fit(X)
    TRACES.clear()
    return calls, frames


def frame_counts(stacks: list[list[str]]) -> list[tuple[str, str]]:
    """Frames around native calls, in three ways: all; without those in ``search``, which is what layers add to moves;
    and those between the innermost one in ``search``, a move, and native code."""
    inside = [[path.startswith(str(SEARCH)) for path in stack] for stack in stacks]
    counts = {
        "from fit to native code": [len(stack) for stack in inside],
        "from fit to native code, outside search": [stack.count(False) for stack in inside],
        "from a move to native code": [stack.index(True) for stack in inside if True in stack],
    }
    return [(name, f"{statistics.median(depths):.0f} / {max(depths)}") for name, depths in counts.items()]


def table() -> list[tuple[str, str]]:
    watch_native_functions()
    modules = read_package()
    return [*sizes(modules), *dependencies(modules), *depths()]


def sizes(modules: dict[str, Module]) -> list[tuple[str, str]]:
    python, cpp = lines_of_sources()
    classes = [node for module in modules.values() for node in module.classes()]
    protocols = [node for node in classes if any("Protocol" in ast.unparse(base) for base in node.bases)]
    roles = [node.name for node in classes if re.search(f"({'|'.join(ROLES)})s?$", node.name)]
    return [
        ("lines in src: Python + C++", f"{python + cpp:,} = {python:,} + {cpp:,}"),
        ("modules / classes / protocols", f"{len(modules)} / {len(classes)} / {len(protocols)}"),
        (f"classes named …{', …'.join(ROLES)}", str(len(roles))),
    ]


def dependencies(modules: dict[str, Module]) -> list[tuple[str, str]]:
    graph = import_graph(modules)
    hiding = [name for name, module in modules.items() if any(module.hidden_imports())]
    importers = Counter(target for targets in graph.values() for target in targets)
    files = [module for module in modules.values() if module.path.name != "__init__.py"]
    alone = [module for module in files if importers[module.name] == 1]
    small = [module for module in alone if module.n_lines < SMALL]
    return [
        ("import circles (hidden imports count)", str(len(circles(graph)))),
        ("modules with imports of kfree behind TYPE_CHECKING or import_module", f"{len(hiding)}: {', '.join(hiding)}"),
        (f"modules with one importer / of these, below {SMALL} lines", f"{len(alone)} / {len(small)}"),
    ]


def depths() -> list[tuple[str, str]]:
    from sklearn.datasets import make_blobs

    from kfree import DPMeans

    X = make_blobs(600, n_features=3, centers=5, random_state=0)[0]
    bases, private = inheritance(DPMeans)
    given, given_frames = traced(lambda: DPMeans(lam=50.0), X)
    auto, auto_frames = traced(DPMeans, X)
    given_files, auto_files = (len(set(each.estimator_files)) for each in (given, auto))
    rows = [
        ("classes of ours in DPMeans / private names reachable", f"{len(bases)} / {len(private)}"),
        ("changes between estimator files, lam=50 / auto", f"{given.n_changes} / {auto.n_changes}"),
        ("files called, lam=50 / auto", f"{len(given.files)} / {len(auto.files)}"),
        ("estimator files called, lam=50 / auto", f"{given_files} / {auto_files}"),
        ("Python calls in kfree, lam=50 / auto", f"{given.n_calls:,} / {auto.n_calls:,}"),
    ]
    for frames, fit in [(given_frames, "lam=50"), (auto_frames, "auto")]:
        rows += [(f"frames {name}, median / max, {fit}", counts) for name, counts in frame_counts(frames.stacks)]
        calls = ", ".join(f"{n} {name}" for name, n in frames.native_calls.most_common(6))
        rows.append((f"native calls, {fit}", calls))
    return rows


if __name__ == "__main__":
    rows = table()
    width = max(len(head) for head, _ in rows)
    for head, value in rows:
        print(f"{head:{width}s}  {value}")
