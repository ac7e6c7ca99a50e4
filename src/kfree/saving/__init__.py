"""Models in files: ``model.save(path)`` and ``kfree.load(path)``, without pickle."""

from importlib import import_module
from os import PathLike
from typing import Any

from kfree.core.marks import require
from kfree.saving.container import FORMAT_VERSION, ModelFileError, read_members, write_members
from kfree.saving.records import fields_of, is_estimator, public
from kfree.saving.values import Packer, Unpacker


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted estimator to one file."""
    name = type(model).__name__
    if _estimator(name) is not type(model):
        raise TypeError(f"a {name} cannot be saved: it is no estimator of kfree itself, and load could not rebuild it.")
    packer = Packer()
    write_members(path, {"estimator": name, **packer.record(model, name)}, packer.arrays)


def load(path: str | PathLike[str]) -> Any:
    """Read a model that ``save`` wrote; it predicts the same labels to the bit.

    Nothing in the file is run as code. ``load`` raises if the file was cut short or changed since it was written.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : a fitted estimator

    Raises
    ------
    ModelFileError
        If the file is no model, damaged, or of a format that this version does not read. It is a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kfree
    >>> path = Path(tempfile.mkdtemp()) / "model.kfree"
    >>> X = [[0.0], [1.0], [9.0], [8.0]]
    >>> model = kfree.DPMeans(lam=4.0).fit(X).save(path)
    >>> kfree.load(path).predict([[7.0]]).tolist() == model.predict([[7.0]]).tolist()
    True
    """
    manifest, arrays = read_members(path)
    try:
        name = manifest["estimator"]
        cls = _estimator(name)
        require(cls is not None, repr(name), "is no estimator of kfree")
        names = ("parameters", "fitted") if is_estimator(cls) else map(public, fields_of(cls))
        content = {key: manifest[key] for key in names}
        return Unpacker(arrays).unpack(content, cls, name)
    except Exception as error:  # whatever damage leads to, MemoryError included
        raise ModelFileError(
            f"{path} is a damaged kfree model ({type(error).__name__}: {error}); write it again with save."
        ) from error


def _estimator(name):
    """The estimator with this public name, None if there is none."""
    kfree = import_module("kfree")
    cls = getattr(kfree, name) if name in kfree.__all__ else None
    return cls if isinstance(cls, type) and hasattr(cls, "save") else None


__all__ = ["FORMAT_VERSION", "ModelFileError", "load", "save"]
