"""A hash of the code that makes a number, so that kept numbers are known to be of the present code or of another.

The hash covers a function, what it refers to by name in ``reproduce``, and every module of kfree that these import,
directly or not, with the sources of the compiled core. Comments, docstrings and layout do not count, nor do parts of
kfree that change no number. A name that a package passes on is followed to the module that defines it.
"""

import ast
import hashlib
import importlib
import inspect
import re
import sys
import textwrap
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType

# The sources beside this package: an installed kfree has no C++.
PACKAGE = Path(__file__).parents[1] / "src" / "kfree"
OWN, LIBRARY = "reproduce", "kfree"
DIGITS = 12
# Parts of kfree that draw, describe or keep what was computed, and change no number.
WITHOUT_NUMBERS = tuple(f"{LIBRARY}.{part}" for part in ("cli", "explain", "plot", "report", "saving"))
# What numbers are written down in.
HOLDERS = {f"{OWN}.table.Line", f"{OWN}.result.Result"}
# Numbers that were kept before they carried a hash.
UNKNOWN = "unknown"


def code_of(make):
    """The hash (12 hex digits) of the code behind ``make``: a function, a class, or a partial of one."""
    pieces = {}
    _follow(make, pieces)
    digest = hashlib.sha256()
    for name in sorted(pieces):
        digest.update(f"{name}\n{pieces[name]}\n".encode())
    return digest.hexdigest()[:DIGITS]


def _follow(thing, pieces):
    """Collect the sources behind what can be called."""
    if isinstance(thing, partial):
        _follow(thing.func, pieces)
        # Positional arguments are parameters of a cell, which are its key already; keywords are settings.
        for value in thing.args:
            if callable(value):
                _follow(value, pieces)
        for name, value in thing.keywords.items():
            _follow_global(f"{_name(thing.func)}({name})", value, pieces)
    elif isinstance(thing, ModuleType) and thing.__name__.split(".")[0] == LIBRARY:
        _follow_module(_home(thing.__name__, None), pieces)
    elif isinstance(thing, FunctionType | type):
        _follow_named(thing, pieces)


def _follow_named(thing, pieces):
    """A class or function: of kfree with its whole module, of ``reproduce`` with the globals that it refers to."""
    package = (thing.__module__ or "").split(".")[0]
    if package == LIBRARY:
        _follow_module(thing.__module__, pieces)
    elif package == OWN and _name(thing) not in HOLDERS | pieces.keys():
        pieces[_name(thing)] = _source_of(thing)
        module = sys.modules[thing.__module__]
        _follow_global(f"{_name(thing)} defaults", getattr(thing, "__defaults__", None) or (), pieces)
        for name in _names_used(thing) & set(vars(module)):
            _follow_global(f"{module.__name__}.{name}", vars(module)[name], pieces)


def _follow_global(name, value, pieces):
    """What a function of ``reproduce`` refers to: code, or a constant, whose values may be code in turn."""
    if isinstance(value, partial | ModuleType | FunctionType | type):
        _follow(value, pieces)
    elif isinstance(value, dict | list | tuple):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _follow_global(f"{name}[{key!r}]", item, pieces)
    elif isinstance(value, int | float | str | None):
        pieces[name] = repr(value)


def _name(thing):
    """The full name; all lambdas of a module have the same one, so theirs goes on with what they say."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    return f"{name} {_source_of(thing)}" if thing.__name__ == "<lambda>" else name


def _source_of(thing):
    source = textwrap.dedent(inspect.getsource(thing))
    # A lambda stands in the middle of a statement, and its lines need not be a program.
    return " ".join(source.split()) if thing.__name__ == "<lambda>" else _normalised(source)


def _names_used(thing):
    """The global names in a function, or in all functions of a class."""
    functions = [thing] if isinstance(thing, FunctionType) else [f for f in vars(thing).values() if callable(f)]
    codes = [f.__code__ for f in functions if isinstance(f, FunctionType)]
    names = set()
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes.extend(part for part in code.co_consts if hasattr(part, "co_names"))
    return names


def _follow_module(name, pieces):
    """A module of kfree and all that it imports of kfree."""
    for found in closure(name):
        pieces[found] = _hash_of(_source(found))
    if any(found.startswith(f"{LIBRARY}.native") for found in closure(name)):
        pieces["compiled"] = compiled_sources()


@cache
def closure(name):
    """The names of kfree's modules that ``name`` needs, itself included."""
    found, left = set(), [name]
    while left:
        module = left.pop()
        if module not in found and not module.startswith(WITHOUT_NUMBERS):
            found.add(module)
            left.extend(_imports(module))
    return frozenset(found)


@cache
def _imports(name):
    """The modules of kfree that a module names in its import statements, wherever they stand."""
    return frozenset(_home(module, imported) for module, imported in _names_imported(_source(name)))


@cache
def _names_imported(source):
    """Pairs of a module of kfree and a name that is imported from it, or None."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, None) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "", alias.name) for alias in node.names}
    return {(module, name) for module, name in found if module.split(".")[0] == LIBRARY}


def _home(module, name):
    """The module where a name is defined: a submodule, where an object says, or ``module`` itself."""
    if name is not None and _path(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    if _path(module) is None:  # the compiled module, whose sources are hashed together
        return f"{LIBRARY}.native.implementations"
    if name is not None and _path(module).name == "__init__.py":
        try:
            home = getattr(getattr(importlib.import_module(module), name), "__module__", None)
        except (ImportError, AttributeError):  # an optional part that is not installed here
            home = None
        return home if home and home.split(".")[0] == LIBRARY and _path(home) else module
    return module


def _path(module):
    """The source file of a module of kfree, or None."""
    parts = module.split(".")[1:]
    for path in (
        PACKAGE.joinpath(*parts).with_suffix(".py") if parts else None,
        PACKAGE.joinpath(*parts, "__init__.py"),
    ):
        if path is not None and path.is_file():
            return path
    return None


@cache
def _source(module):
    return _path(module).read_text(encoding="utf-8")


@cache
def _hash_of(source):
    return hashlib.sha256(_normalised(source).encode()).hexdigest()


def _normalised(source):
    """The program without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


@cache
def compiled_sources():
    """A hash of all C++ of the core, without comments and layout."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.joinpath("native").rglob("*.[ch]pp")):
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        digest.update(f"{path.relative_to(PACKAGE)}\n{' '.join(text.split())}\n".encode())
    return digest.hexdigest()
