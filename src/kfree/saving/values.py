"""Values of a model as JSON and named arrays, and back. What JSON cannot hold becomes an object with a tag."""

import math
import os

import numpy as np
import scipy.sparse as sp

from kfree.saving.classes import kind, name_of

_SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix)}


class Packer:
    """Turns values into JSON; ``arrays`` collects the arrays that these refer to, each once."""

    def __init__(self):
        self.arrays = {}
        self._names = {}
        self._kept = []  # so that no id is used twice

    def pack(self, value, where):
        """``value`` for JSON; ``where`` says in errors what it is."""
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            items = [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value.ravel().tolist())]
            return {"objects": items, "shape": list(value.shape)}
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        return self._packed_whole(value, where)

    def _packed_whole(self, value, where):
        if isinstance(value, (list, tuple)):
            items = [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.pack(item, f"{where}[{key!r}]") for key, item in value.items()}}
        if type(value).__name__ in _SPARSE and sp.issparse(value):
            parts = [self._array(part) for part in (value.data, value.indices, value.indptr)]
            return {"sparse": [type(value).__name__, *parts, list(value.shape)]}
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.pack(value.get_state(), where)}
        name = name_of(type(value))
        if name is None:
            raise TypeError(
                f"{where} is a {type(value).__name__}, which cannot be saved; a model file holds numbers, texts, "
                "arrays and kfree's own classes. Use a parameter that is one of these."
            )
        state = {key: self.pack(item, f"{where}.{key}") for key, item in kind(name).state(value).items()}
        return {"object": name, "state": state}

    def _array(self, array):
        if id(array) not in self._names:
            self._names[id(array)] = f"a{len(self._names)}"
            self._kept.append(array)
            self.arrays[self._names[id(array)]] = array
        return self._names[id(array)]


class Unpacker:
    """Turns JSON back into values; ``arrays`` gives an array by name."""

    def __init__(self, arrays):
        self._arrays, self._read = arrays, {}

    def unpack(self, packed):
        """The value that was packed."""
        if not isinstance(packed, dict):
            return packed
        if "object" in packed:
            state = {key: self.unpack(item) for key, item in packed["state"].items()}
            return kind(packed["object"]).build(state)
        tag = next(iter(packed), None)
        return self._WAYS[tag](self, packed[tag], packed)

    def _array(self, name):
        if name not in self._read:
            self._read[name] = self._arrays(name)
        return self._read[name]

    def _items(self, items):
        return [self.unpack(item) for item in items]

    def _objects(self, items, packed):
        values = np.empty(len(items), dtype=object)
        values[:] = self._items(items)
        return values.reshape(packed["shape"])

    def _sparse(self, content):
        name, data, indices, indptr, shape = content
        arrays = self._array(data), self._array(indices), self._array(indptr)
        matrix = _SPARSE[name](arrays, shape=tuple(shape))
        matrix.check_format(full_check=True)  # indices beyond the shape would be read out of bounds
        return matrix

    def _random_state(self, content):
        random = np.random.RandomState()
        random.set_state(self.unpack(content))
        return random

    _WAYS = {  # noqa: RUF012
        "array": lambda self, name, _: self._array(name),
        "scalar": lambda self, name, _: self._array(name)[()],
        "float": lambda self, text, _: float(text),
        "list": lambda self, items, _: self._items(items),
        "tuple": lambda self, items, _: tuple(self._items(items)),
        "dict": lambda self, content, _: {key: self.unpack(item) for key, item in content.items()},
        "objects": _objects,
        "sparse": lambda self, content, _: self._sparse(content),
        "random_state": lambda self, content, _: self._random_state(content),
    }
