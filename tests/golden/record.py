"""Results as JSON that keeps every bit, and what differs between two of them."""

import hashlib
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.golden.fits import FITS, SPECIAL, TOLERANCE

RESULTS = Path(__file__).with_name("results.json")
# Arrays up to this size are kept as numbers that a reader can compare, longer ones as a hash.
SHORT = 24
# What is kept of a long array that is compared with a tolerance.
LEADING = 60


def tolerance_of(name: str, field: str) -> float:
    return TOLERANCE if FITS[name].algebra or field.startswith(SPECIAL) else 0.0


def outcome(name: str) -> dict[str, Any]:
    """Run a fit. The categories of its warnings belong to the result, their texts do not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = FITS[name].run()
    kept = {field: written(value, tolerance_of(name, field) > 0) for field, value in values.items()}
    return kept | {"warnings": sorted({warning.category.__name__ for warning in caught})}


def written(value: Any, leading: bool = False) -> Any:
    """A value for JSON: floats in hexadecimal, arrays with dtype and shape."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value).hex()
    array = np.ascontiguousarray(value.toarray() if sp.issparse(value) else value)
    if array.ndim == 0:
        return written(array.item(), leading)
    numbers = array.ravel()
    kept: dict[str, Any] = {"array": f"{array.dtype} {array.shape}"}
    if leading and array.dtype.kind == "f":
        return kept | {"leading": [float(number).hex() for number in numbers[:LEADING]]}
    if array.size > SHORT:
        return kept | {"sha256": hashlib.sha256(array.tobytes()).hexdigest()[:32]}
    return kept | {"values": [written(number) for number in numbers.tolist()]}


def differences(name: str, expected: dict[str, Any], found: dict[str, Any], exact: bool = False) -> list[str]:
    """One line for each value that differs; floats may differ by the tolerance, relative to the largest of an array."""
    lines = [f"{field} is {'missing' if field in expected else 'new'}" for field in expected.keys() ^ found.keys()]
    for field in expected.keys() & found.keys():
        if not same(expected[field], found[field], 0.0 if exact else tolerance_of(name, field)):
            lines.append(f"{field}: expected {readable(expected[field])}, found {readable(found[field])}")
    return sorted(lines)


def same(expected: Any, found: Any, tolerance: float) -> bool:
    if expected == found or not tolerance:
        return bool(expected == found)
    if isinstance(expected, dict) and "leading" in expected:
        equal = isinstance(found, dict) and expected["array"] == found["array"]
        return equal and close(expected["leading"], found["leading"], tolerance)
    return is_float(expected) and is_float(found) and close([expected], [found], tolerance)


def close(expected: list[str], found: list[str], tolerance: float) -> bool:
    a, b = (np.array([float.fromhex(number) for number in numbers]) for numbers in (expected, found))
    scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def is_float(value: Any) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float.fromhex(value))
    except ValueError:
        return False


def readable(value: Any) -> str:
    if isinstance(value, dict):
        numbers = [readable(number) for number in value.get("values", value.get("leading", []))[:SHORT]]
        return f"{value['array']} {value.get('sha256', '')}{' '.join(numbers)}"
    return repr(float.fromhex(value)) if is_float(value) else repr(value)
