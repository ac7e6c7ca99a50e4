"""Arrays that do not hold what they seem to: masked values, and memory maps of files that were cut."""

import mmap

import numpy as np
import scipy.sparse as sp


def require_sound_array(values, name):
    """Raise if ``values`` hides entries behind a mask, or is mapped to a file that has become shorter.

    NumPy hands out what lies under a mask as if it were a value, and reading beyond the end of a mapped file ends the
    process.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        n_masked = int(np.ma.count_masked(values))
        raise ValueError(
            f"{name} is a masked array with {n_masked} masked value(s), which kfree does not take for values. Impute "
            "them, remove their rows with numpy.ma.compress_rows, or use TableEncoder, which knows missing values."
        )
    arrays = (
        [getattr(values, part, None) for part in ("data", "indices", "indptr")] if sp.issparse(values) else [values]
    )
    for array in arrays:
        if isinstance(array, np.ndarray):
            _require_whole_file(array, name)


def _require_whole_file(array, name):
    while isinstance(array, np.ndarray):
        if isinstance(array.base, mmap.mmap) and isinstance(array, np.memmap):
            begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
            needed, n_bytes = begin + len(array.base), _file_size(array.base)
            if n_bytes is not None and n_bytes < needed:
                raise ValueError(
                    f"{name} is mapped to a file of {n_bytes} bytes, which had at least {needed} when it was opened. "
                    "The file was cut; write it again, and open it again."
                )
        array = array.base


def _file_size(mapped):
    """Bytes of the file, or None for memory without a file."""
    try:
        return mapped.size()
    except (OSError, ValueError):
        return None
