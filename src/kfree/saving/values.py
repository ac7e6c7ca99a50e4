"""Values as JSON and named arrays, and back by the declared types of fields.

An object is a dict of its fields under their public names. Only where a declared type has alternatives, the dict also
holds a public name of the alternative; no file names a class or a module. Fields without a declared type, such as
parameters, hold numbers, texts, arrays, lists, tuples and dicts.
"""

from __future__ import annotations

import copy
import math
import os
import types
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from typing import Any, Union, get_args, get_origin

import numpy as np
import scipy.sparse as sp

from kfree.core.marks import OneOf, Renamed, Scalar, Sizes, require
from kfree.saving.records import Checks, fields_of, is_estimator, is_optional, mark, public, record_type, unmarked

_SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix)}
_NUMBERS: tuple[type, ...] = (bool, int, float, str)
_SERIES: tuple[type, ...] = (list, tuple, Sequence)


class Packer:
    """Turns values into JSON; ``arrays`` collects the arrays that these refer to, each once."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}
        self._kept: list[np.ndarray] = []  # so that no id is used twice

    def pack(self, value: Any, hint: Any, where: str) -> Any:
        """``value`` of the declared type ``hint`` for JSON; ``where`` says in errors what it is."""
        if value is None:
            return None
        hint, marks = unmarked(hint)
        if (one_of := mark(marks, OneOf)) is not None:
            name = one_of.name_of(type(value))
            return _refuse(value, where) if name is None else {"kind": name, **self.record(value, where)}
        if _is_union(hint):
            return self.pack(value, _alternative(hint, lambda kind: isinstance(value, kind)), where)
        kind = get_origin(hint) or hint
        if kind in _SERIES:
            return [self.pack(*pair, f"{where}[{i}]") for i, pair in enumerate(_with_hints(value, hint, where))]
        if kind is dict and all(isinstance(key, str) for key in value):
            return {key: self.pack(item, get_args(hint)[1], f"{where}[{key!r}]") for key, item in value.items()}
        if kind in _NUMBERS:
            return self.plain(_number(value.item() if isinstance(value, np.generic) else value, kind, where), where)
        if kind is np.ndarray or kind in _SPARSE.values():
            value = value.cpu().numpy() if hasattr(value, "cpu") else value
            return self.plain(_of_kind(value, kind, hint, where), where)
        if kind is Any:
            is_sound = mark(marks, Scalar) is None or not isinstance(value, list | tuple | dict)  # or load refuses it
            return self.plain(value, where) if is_sound else _refuse(value, where)
        return self.record(value, where) if type(value) is kind else _refuse(value, where)

    def record(self, value: Any, where: str) -> dict[str, Any]:
        """An object as a dict of the fields that its class states."""
        value = value.to_record() if hasattr(value, "to_record") else value
        found = {}
        for name, hint in fields_of(type(value)).items():
            if is_optional(hint) and name not in vars(value):
                continue
            part = getattr(value, name)
            if not hasattr(part, "__dask_graph__"):  # labels of a collection, which are not computed
                found[public(name)] = self.pack(part, hint, f"{where}.{name}")
        if not is_estimator(type(value)):
            return found
        given = {name: self.plain(part, f"{where}.{name}") for name, part in value.get_params(deep=False).items()}
        return {"parameters": given, "fitted": found}

    def plain(self, value: Any, where: str) -> Any:
        """A number, a text, an array, or a list, tuple or dict of such, whose type the file tells."""
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            return {"objects": self._items(value.ravel().tolist(), where), "shape": list(value.shape)}
        if isinstance(value, (np.ndarray, np.generic)):
            return {"array" if isinstance(value, np.ndarray) else "scalar": self._array(value)}
        if isinstance(value, (list, tuple)):
            items = self._items(value, where)
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.plain(item, f"{where}[{key!r}]") for key, item in value.items()}}
        if type(value).__name__ in _SPARSE and sp.issparse(value):
            parts = [self._array(part) for part in (value.data, value.indices, value.indptr)]
            return {"sparse": [type(value).__name__, *parts, list(value.shape)]}
        if isinstance(value, np.random.RandomState):  # a file holds a seed: NumPy does not check a generator's state
            return int(copy.deepcopy(value).randint(2**31))
        return _refuse(value, where)

    def _items(self, values: Any, where: str) -> list[Any]:
        return [self.plain(item, f"{where}[{i}]") for i, item in enumerate(values)]

    def _array(self, array: Any) -> str:
        if id(array) not in self._names:
            self._names[id(array)] = f"a{len(self._names)}"
            self._kept.append(array)
            self.arrays[self._names[id(array)]] = np.asarray(array)
        return self._names[id(array)]


class Unpacker:
    """Turns JSON back into values of declared types; ``arrays`` gives an array by name."""

    def __init__(self, arrays: Callable[[str], np.ndarray]):
        self._arrays, self._read, self._checks = arrays, dict[str, np.ndarray](), Checks()

    def unpack(self, packed: Any, hint: Any, where: str) -> Any:
        """The value of the declared type ``hint`` that was packed, after all checks."""
        value = self._value(packed, hint, where, Sizes())
        self._checks.run()
        return value

    def _value(self, packed: Any, hint: Any, where: str, sizes: Sizes) -> Any:
        hint, marks = unmarked(hint)
        renamed, one_of = mark(marks, Renamed), mark(marks, OneOf)
        inner = sizes if renamed is None else sizes.renamed(renamed.names)
        if one_of is not None:
            content = dict(_typed(packed, dict, where))
            value = self._record(content, one_of.named(content.pop("kind", None)), where, inner)
        elif _is_union(hint):
            if packed is None and type(None) in get_args(hint):
                return None
            value = self._value(packed, _alternative(hint, lambda kind: _fits(packed, kind)), where, inner)
        else:
            value = self._of_type(packed, hint, where, inner)
        self._checks.add(marks, value, where, sizes)
        return value

    def _of_type(self, packed: Any, hint: Any, where: str, sizes: Sizes) -> Any:
        kind = get_origin(hint) or hint
        if kind is Any:
            return self._plain(packed, where)
        if kind in _SERIES:
            pairs = enumerate(_with_hints(_typed(packed, list, where), hint, where))
            items = [self._value(*pair, f"{where}[{i}]", sizes) for i, pair in pairs]
            return items if kind is list else tuple(items)
        if kind is dict:
            content = _typed(packed, dict, where)
            return {key: self._value(item, get_args(hint)[1], f"{where}.{key}", sizes) for key, item in content.items()}
        if kind in _NUMBERS:
            return _number(self._plain(packed, where), kind, where)
        if kind is np.ndarray or kind in _SPARSE.values():
            return _of_kind(self._plain(packed, where), kind, hint, where)
        return self._record(packed, kind, where, sizes)

    def _record(self, packed: Any, cls: Any, where: str, sizes: Sizes) -> Any:
        """An object from its fields; no code of its class runs, but for ``from_record`` and ``__init__``."""
        if is_estimator(cls):
            given = _typed(packed["parameters"], dict, where)
            made = cls(**{name: self._plain(item, f"{where}.{name}") for name, item in given.items()})
            made.__dict__.update(self._fields(packed["fitted"], cls, where, Sizes()))
        else:
            stated = record_type(cls)
            made = stated.__new__(stated)
            made.__dict__.update(self._fields(packed, stated, where, sizes))
            self._checks.add_made(made)
            return made if stated is cls else cls.from_record(made)
        self._checks.add_made(made)
        return made

    def _fields(self, packed: Any, cls: type, where: str, sizes: Sizes) -> dict[str, Any]:
        content, hints, found = _typed(packed, dict, where), fields_of(cls), {}
        unknown = content.keys() - set(map(public, hints))
        require(not unknown, where, f"has fields that this version does not know: {', '.join(sorted(unknown))}")
        for name, hint in hints.items():
            there = public(name) in content
            require(there or is_optional(hint), where, f"has no {public(name)}")
            if there:
                found[name] = self._value(content[public(name)], hint, f"{where}.{public(name)}", sizes)
        return found

    def _plain(self, packed: Any, where: str) -> Any:
        """A value whose type the file tells."""
        if isinstance(packed, list):
            return [self._plain(item, where) for item in packed]
        if not isinstance(packed, dict):
            return packed
        tag = next(iter(packed), None)
        ways = {
            "float": lambda text: float(_typed(text, str, where)),
            "array": self._array,
            "scalar": lambda name: self._array(name)[()],
            "objects": lambda items: _objects(self._plain(items, where), packed.get("shape")),
            "tuple": lambda items: tuple(self._plain(_typed(items, list, where), where)),
            "dict": lambda content: {key: self._plain(item, where) for key, item in content.items()},
            "sparse": lambda content: self._sparse(*content),
        }
        require(tag in ways, where, f"has the tag {tag!r}")
        return ways[tag](packed[tag])

    def _array(self, name: str) -> np.ndarray:
        if name not in self._read:
            self._read[name] = self._arrays(name)
        return self._read[name]

    def _sparse(self, name: str, data: str, indices: str, indptr: str, shape: list[int]) -> Any:
        arrays = self._array(data), self._array(indices), self._array(indptr)
        ends = arrays[2]  # SciPy does not look at these where the last is zero, or becomes zero in 32 bits
        rise = len(ends) > 0 and ends[0] == 0 and ends[-1] == len(arrays[1]) and bool((ends[1:] >= ends[:-1]).all())
        require(rise, name, "has ends of rows that do not rise to the number of entries")
        matrix = _SPARSE[name](arrays, shape=tuple(shape))
        matrix.check_format(full_check=True)  # indices beyond the shape would be read out of bounds
        return matrix


def packed(value: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A record, or a list of records and plain values, as JSON and arrays by name."""
    packer = Packer()
    items = value if isinstance(value, list | tuple) else [value]
    found = [packer.pack(item, type(item) if is_dataclass(item) else Any, f"item {i}") for i, item in enumerate(items)]
    return found if items is value else found[0], packer.arrays


def unpacked(declared: Any, data: Any, arrays: Callable[[str], np.ndarray]) -> Any:
    """The value of a declared type that ``packed`` wrote."""
    return Unpacker(arrays).unpack(data, declared, "it")


def _refuse(value: Any, where: str) -> Any:
    raise TypeError(
        f"{where} is a {type(value).__name__}, which cannot be saved; a model file holds numbers, texts, arrays, and "
        "fields that kfree's own classes state. Give one of these in its place."
    )


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _alternative(hint: Any, fits: Callable[[Any], bool]) -> Any:
    """The first type of a union that fits, the first of all if none does."""
    others = [one for one in get_args(hint) if one is not type(None)]
    kinds = [get_origin(unmarked(one)[0]) or unmarked(one)[0] for one in others]
    return next((one for one, kind in zip(others, kinds, strict=True) if len(others) > 1 and fits(kind)), others[0])


def _fits(packed: Any, kind: Any) -> bool:
    """Whether a packed value may be of this kind."""
    if isinstance(packed, dict):
        return kind is np.ndarray if "array" in packed or "objects" in packed else kind in _SPARSE.values()
    return type(packed) is kind


def _with_hints(items: Any, hint: Any, where: str) -> list[tuple[Any, Any]]:
    """The items of a list or tuple, with their declared types."""
    hints = get_args(hint)
    if get_origin(hint) is tuple and hints[-1] is not Ellipsis:
        require(len(items) == len(hints), where, f"has {len(items)} items instead of {len(hints)}")
        return list(zip(items, hints, strict=True))
    return [(item, hints[0]) for item in items]


def _typed(value: Any, kind: type, where: str) -> Any:
    """A value of exactly this type; whole numbers leave room in 64 bits to count on."""
    ok = type(value) is kind and (kind is not int or abs(value) < 2**62)
    require(ok, where, f"is a {type(value).__name__} instead of a {kind.__name__} that it may be")
    return value


def _number(value: Any, kind: type, where: str) -> Any:
    """A number or text of this type; a whole number is a float too."""
    return float(value) if kind is float and type(value) is int else _typed(value, kind, where)


def _of_kind(value: Any, kind: Any, hint: Any, where: str) -> Any:
    """An array of the declared type of elements, or a sparse matrix of the declared class."""
    require(type(value) is kind, where, f"is a {type(value).__name__} instead of a {kind.__name__}")
    if kind is np.ndarray:
        (element,) = get_args(get_args(hint)[1])
        ok = element is Any or value.dtype == np.dtype(element)
        require(ok, where, f"has the type {value.dtype} instead of {getattr(element, '__name__', element)}")
    return value


def _objects(items: list[Any], shape: Any) -> np.ndarray:
    """An array of numbers and texts of any kind, or tuples of such."""
    values = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        hash(item)  # raises for what can be no name
        values[i] = item
    return values.reshape(shape)
