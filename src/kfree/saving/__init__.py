"""Models in files: ``model.save(path)`` and ``kfree.load(path)``, without pickle."""

from copy import copy
from importlib import import_module

from kfree.saving.container import FORMAT_VERSION, ModelFileError, read_members, write_members
from kfree.saving.values import Packer, Unpacker


def save(model, path):
    """Write a fitted estimator, or another object of kfree's, to one file."""
    packer = Packer()
    manifest = {
        "kfree_version": import_module("kfree").__version__,
        "model": packer.pack(_without_lazy(model), type(model).__name__),
    }
    write_members(path, manifest, packer.arrays)


def _without_lazy(model):
    """The model without labels that are a Dask array, which are not computed."""
    lazy = [name for name, value in vars(model).items() if hasattr(value, "__dask_graph__")]
    if lazy:
        model = copy(model)
        for name in lazy:
            del model.__dict__[name]
    return model


def load(path):
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
        If the file is no model, damaged, or of a later format. It is a ValueError.

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
        model = Unpacker(arrays).unpack(manifest["model"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{path} is a damaged kfree model ({error}); write it again with save.") from error
    if not hasattr(model, "save"):
        raise ModelFileError(f"{path} holds a {type(model).__name__} instead of an estimator; write it with save.")
    return model


__all__ = ["FORMAT_VERSION", "ModelFileError", "load", "save"]
