"""Which device runs the kernels, and how they are started."""

from __future__ import annotations

import os
from typing import Any

# Triton has tensor cores and float64 from this compute capability on.
LEAST_CAPABILITY = (8, 0)
# Labels, distances, bounds, lists of rows and sorted rows, as many as are alive at a time.
BYTES_A_ROW = 108
# Bytes of what is made for a part of the rows at a time.
BYTES_AT_ONCE = 2 << 30
# Asking how much is free takes a millisecond, which is long for few rows.
LEAST_ASKED = 1 << 30
INSTALL = 'pip install "kfree[gpu]"'


def interpreted() -> bool:
    """Whether Triton interprets kernels on the CPU (TRITON_INTERPRET=1), which is how they are tested without a GPU."""
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def require_device() -> Any:
    """The device of torch that kernels run on; raises with what is missing."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise ImportError(f'engine="gpu" needs torch and Triton ({error}). Install them: {INSTALL}') from error
    if interpreted():
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise RuntimeError(
            f'engine="gpu" needs a CUDA device and torch {torch.__version__} finds none. Use engine="auto" for the '
            "CPU, or install a driver and a build of torch for CUDA."
        )
    device = torch.device("cuda", torch.cuda.current_device())
    capability = torch.cuda.get_device_capability(device)
    if capability < LEAST_CAPABILITY:
        raise RuntimeError(
            f'engine="gpu" needs compute capability {_dotted(LEAST_CAPABILITY)} or higher; '
            f'{torch.cuda.get_device_name(device)} has {_dotted(capability)}. Use engine="auto" for the CPU.'
        )
    return device


def require_room(n_rows: int, n_features: int, bytes_to_copy: int, device: Any) -> None:
    """Raise unless the device has room for rows that are not there yet, for their bytes, and for passes over them."""
    import torch

    if device.type == "cpu":
        return
    needed = bytes_to_copy + n_rows * (n_features + BYTES_A_ROW) + min(BYTES_AT_ONCE, n_rows * (2 * n_features + 304))
    if needed < LEAST_ASKED:
        return
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if needed > free:
        raise MemoryError(
            f'engine="gpu" needs about {needed / 1e9:.1f} GB on {torch.cuda.get_device_name(device)} for {n_rows} rows '
            f"of {n_features} columns, and {free / 1e9:.1f} GB are free. Free some, or stream the rows through the "
            'device with memory="1GB".'
        )


def n_programs(device: Any) -> int:
    """How many programs a kernel is started with that takes its work from a list whose length is on the device."""
    import torch

    return 8 if device.type == "cpu" else 8 * torch.cuda.get_device_properties(device).multi_processor_count


# Never fuse a product and a sum: the bits of float64 must be those of the CPU.
EXACT = {"enable_fp_fusion": False}


def _dotted(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))
