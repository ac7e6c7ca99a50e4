"""What a golden file holds: every fitted attribute and the labels of new rows, as JSON that keeps every bit."""

import dataclasses
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kfree.saving import FORMAT_VERSION
from tests.golden.record import written
from tests.saving.models import LABELS

PRESENT = Path(__file__).parent / f"format_{FORMAT_VERSION}"
FOLDERS = sorted(Path(__file__).parent.glob("format_*"))
EXPECTED = "expected.json"


def path_of(name, folder=PRESENT):
    """The file of a case."""
    return folder / f"{name.replace(', ', '-').replace(' ', '-')}.kfree"


def outcome(model, name):
    """Fitted attributes by name, and labels."""
    attributes = {attribute: getattr(model, attribute) for attribute in dir(model) if is_public(attribute, model)}
    return {key: plain(value) for key, value in attributes.items()} | {"labels": written(LABELS[name](model))}


def is_public(attribute, model):
    return attribute.endswith("_") and not attribute.startswith("_") and attribute != "confidence_"


def plain(value):
    """A value of any kind for JSON, by its bits."""
    if value is None or isinstance(value, str | int | float | np.generic):
        return written(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "OV":
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return written(value)
    fields = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else vars(value)
    return {name: plain(getattr(value, name)) for name in sorted(fields) if not name.startswith("_")}
