"""Rows on a device: tensors of torch and arrays of CuPy, which ``engine="gpu"`` uses where they lie."""

import sys
from typing import Any

import numpy as np

from kfree.core.sparse import taken
from kfree.validation.frames import bad_values_error

# Exact in float32, which is what passes read.
_HALVES = ("float16", "bfloat16")


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor of torch or an array of CuPy; neither library is imported for it."""
    return any(
        isinstance(X, getattr(sys.modules[name], kind))
        for name, kind in (("torch", "Tensor"), ("cupy", "ndarray"))
        if sys.modules.get(name)
    )


def is_on_device(X: Any) -> bool:
    """Whether the memory of X is that of a GPU."""
    return is_tensor(X) and getattr(getattr(X, "device", None), "type", "cuda") == "cuda"


def validated_tensor(X: Any, estimator: Any) -> Any:
    """X as a tensor in float32 or float64 that ``engine="gpu"`` can read; raises with what to do."""
    from kfree.engines.gpu.device import require_device

    device = require_device()
    import torch

    tensor = X if isinstance(X, torch.Tensor) else torch.from_dlpack(X)
    if tensor.requires_grad:
        raise ValueError("X needs a gradient, and clustering has none. Give X.detach().")
    if tensor.ndim != 2 or 0 in tensor.shape:
        raise ValueError(
            f"X has shape {tuple(tensor.shape)}; {type(estimator).__name__} takes rows and columns, one at least."
        )
    if tensor.is_cuda and tensor.device != device:
        raise ValueError(
            f"X is on {tensor.device} and the engine on {device}. Give X.to('{device}'), or call "
            f"torch.cuda.set_device({tensor.device.index}) first."
        )
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _HALVES:
        tensor = tensor.float()
    elif name not in ("float32", "float64"):
        raise TypeError(f"X is a tensor of {name}; give one of float32, float64, float16 or bfloat16.")
    # One pass over the values, without an array of their size; NaN are the least and the largest of any. Both ends are
    # copied at once, since each copy waits for the device.
    if not torch.stack(tensor.aminmax()).cpu().isfinite().all():
        raise bad_values_error((~tensor.isfinite()).sum(dim=0).cpu().numpy())
    return tensor.to(device)


def in_memory(rows: Any, index: Any = None) -> Any:
    """Rows or labels, all or some, as an array of NumPy; others than tensors stay what they are."""
    if index is None:
        return rows.cpu().numpy() if is_tensor(rows) else rows
    if isinstance(index, slice):
        return in_memory(rows[index])
    index = np.flatnonzero(index) if index.dtype == bool else index
    if not is_tensor(rows):
        return taken(rows, index)
    import torch

    return in_memory(rows[torch.from_numpy(np.ascontiguousarray(index)).to(rows.device)])


def numbers_of(values: Any) -> Any:
    """A tensor of weights or centres as an array of NumPy, which has no bfloat16; anything else as it is."""
    if not is_tensor(values):
        return values
    if not hasattr(values, "cpu"):
        return values.get()
    return in_memory(values.float() if str(values.dtype) == "torch.bfloat16" else values)


def placed_like(labels: Any, X: Any) -> Any:
    """Labels on the device where X is, by the same library, else in memory."""
    if not is_on_device(X):
        return in_memory(labels)
    if not hasattr(X, "cpu"):
        cupy = sys.modules["cupy"]
        return cupy.from_dlpack(labels) if is_tensor(labels) else cupy.asarray(labels)
    if is_tensor(labels):
        return labels
    return sys.modules["torch"].from_numpy(np.ascontiguousarray(labels)).to(X.device)
