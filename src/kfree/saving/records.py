"""The fields that a class states: its annotated names, with their declared types."""

from __future__ import annotations

import typing
from functools import lru_cache
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

from kfree.core.marks import Mark, Optional, Sizes

# Aliases of Python 3.12 and later; None before.
_ALIAS: Any = getattr(typing, "TypeAliasType", None)
# Set by scikit-learn's ``set_output``.
_OUTPUT = "_sklearn_output_config"


def unmarked(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A declared type without its marks, and the marks."""
    hint = _resolved(hint)
    return (_resolved(hint.__origin__), hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())


def _resolved(hint: Any) -> Any:
    """The type that an alias stands for: from NumPy 2.5 on, NDArray is an alias with a parameter."""
    while _ALIAS is not None and isinstance(get_origin(hint) or hint, _ALIAS):
        alias = get_origin(hint)
        hint = hint.__value__ if alias is None else alias.__value__[get_args(hint)]
    return hint


def mark(marks: tuple[Any, ...], kind: type) -> Any:
    """The mark of this kind, None if there is none."""
    return next((one for one in marks if isinstance(one, kind)), None)


def is_optional(hint: Any) -> bool:
    """Whether not every object has a field."""
    return mark(unmarked(hint)[1], Optional) is not None


@lru_cache
def fields_of(cls: type) -> dict[str, Any]:
    """The declared type of each field of a class, by attribute; of an estimator, of what ``fit`` sets."""
    hints = {name: hint for name, hint in get_type_hints(cls, include_extras=True).items() if not _is_shared(hint)}
    if not is_estimator(cls):
        return hints
    return {name: hint for name, hint in hints.items() if name.endswith("_")} | {
        _OUTPUT: Annotated[dict[str, str], Optional()]
    }


def public(name: str) -> str:
    """The name of an attribute in files."""
    return name.strip("_")


def is_estimator(cls: type) -> bool:
    """Whether objects of a class have parameters and attributes that ``fit`` sets."""
    return hasattr(cls, "get_params")


def record_type(cls: type) -> type:
    """The class whose fields stand for an object of ``cls``: what its ``from_record`` takes, else ``cls``."""
    return get_type_hints(cls.from_record)["record"] if hasattr(cls, "from_record") else cls


def _is_shared(hint: Any) -> bool:
    """Whether an attribute is one of the class and not of its objects."""
    return hint is ClassVar or get_origin(hint) is ClassVar


class Checks:
    """Marks of values that were read; all are looked at when everything has been read, then what is derived is made."""

    def __init__(self) -> None:
        self._marked: list[tuple[Mark, Any, str, Sizes]] = []
        self._made: list[Any] = []

    def add(self, marks: tuple[Any, ...], value: Any, where: str, sizes: Sizes) -> None:
        self._marked += [(one, value, where, sizes) for one in marks if isinstance(one, Mark)]

    def add_made(self, value: Any) -> None:
        if hasattr(value, "_restored"):
            self._made.append(value)

    def run(self) -> None:
        for one, value, where, sizes in self._marked:
            one.compare(value, where, sizes)
        for one, value, where, sizes in self._marked:
            one.check(value, where, sizes)
        for value in self._made:
            value._restored()
