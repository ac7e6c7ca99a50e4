"""Golden files with changed fields and right checksums, as a hostile hand could write them."""

import copy
import io
import random
import zipfile

import numpy as np

from kfree.saving.container import decoded, encoded

ODD_VALUES = [
    None,
    True,
    0,
    -1,
    1,
    3,
    2**31,
    2**63 - 1,
    2**63,
    10**400,
    0.5,
    -0.0,
    1e308,
    5e-324,
    "",
    "auto",
    "os.system",
    [],
    {},
    [[]],
    [1, 2],
    {"float": "nan"},
    {"float": "inf"},
    {"float": "1e999"},
    {"float": 7},
    {"array": "a0"},
    {"array": "missing"},
    {"array": "../a0"},
    {"array": 3},
    {"scalar": "a1"},
    {"tuple": [1, {"array": "a1"}]},
    {"dict": {"a": 1}},
    {"objects": [1, "a", None], "shape": [3]},
    {"objects": [[1], {"dict": {}}], "shape": [2]},
    {"objects": [], "shape": [0, 2**62]},
    {"objects": [1], "shape": [2**62]},
    {"sparse": ["csr_array", "a0", "a1", "a2", [2, 2]]},
    {"sparse": ["csr_array", "a0"]},
    {"kind": "cosine"},
    {"object": "Frame", "state": {}},
]
TYPES = ["<f8", ">f8", "<f4", "<i8", "<i4", "<u8", "|b1", "<i2", "<U3", "|S2", "<M8[us]", "<c16"]


def nodes(value, way=()):
    """Every place of a document: the keys that lead there."""
    yield way
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from nodes(item, (*way, key))


def at(value, way):
    for key in way:
        value = value[key]
    return value


def with_changed_document(document, draw):
    """One value replaced, deleted, or exchanged with another."""
    ways = [way for way in nodes(document) if len(way) > 1 or way in [("estimator",), ("fitted",), ("parameters",)]]
    *outer, key = draw.choice(ways)
    holder, what = at(document, outer), draw.random()
    if what < 0.1 and isinstance(holder, dict):
        del holder[key]
    elif what < 0.3:
        holder[key] = copy.deepcopy(at(document, draw.choice(ways)))
    elif what < 0.35 and isinstance(holder, dict):
        holder[draw.choice(["code", "kind", "__class__"])] = copy.deepcopy(draw.choice(ODD_VALUES))
    else:
        holder[key] = copy.deepcopy(draw.choice(ODD_VALUES))


def odd_array(array, draw):
    """Another array in its place: cut, turned, of another type, or with other numbers."""
    flat = array.reshape(-1).copy()
    numbers = [
        np.nan,
        np.inf,
        -np.inf,
        1e308,
        -1e308,
        5e-324,
        0,
        -1,
        1,
        len(flat),
        2**31 - 1,
        -(2**31),
        2**62,
        -(2**63),
    ]
    which = draw.randrange(10)
    if which == 0:
        return array[:-1].copy() if array.ndim else array
    if which == 1:
        return np.concatenate([array, array]) if array.ndim else array
    if which == 2:
        return array.T.copy() if draw.random() < 0.5 else np.asfortranarray(array)
    if which == 3:
        return flat if draw.random() < 0.5 else array[None]
    if which == 4:
        return array[:0].copy() if array.ndim else array
    if which == 5:
        with np.errstate(all="ignore"):
            return array.astype(draw.choice(TYPES[:-1])) if array.dtype.kind in "biuf" else flat[:0]
    if which == 6:
        return np.frombuffer(draw.randbytes(array.nbytes), array.dtype).reshape(array.shape)
    if array.dtype.kind not in "biuf" or not flat.size:
        return array[:0].copy() if array.ndim else array
    with np.errstate(all="ignore"):
        odd = np.array(draw.choice(numbers), dtype=object)
        try:
            odd = odd.astype(array.dtype)
        except (OverflowError, ValueError):
            odd = np.zeros((), array.dtype)
    flat[slice(None) if which == 7 else draw.randrange(flat.size)] = odd
    return flat.reshape(array.shape)


def damaged(content, seed):
    """The bytes of a golden file with one to three changes, and a right checksum."""
    draw = random.Random(seed)
    document, read = decoded(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name.removeprefix("arrays/").removesuffix(".npy") for name in archive.namelist() if ".npy" in name]
    arrays = {name: read(name) for name in names}
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        if draw.random() < 0.5:
            with_changed_document(document, draw)
        elif names:
            name = draw.choice(names)
            arrays[name] = odd_array(arrays[name], draw)
    return bytes(encoded(document, arrays))
