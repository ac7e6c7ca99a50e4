"""More than 2³¹ stored values in a sparse matrix: ``python -m tests.many_values``. A few minutes.

Indices of such a matrix need 64 bits, and its arrays take 26 GB. Here one block of rows is mapped into memory thousands
of times in a row, so that a few megabytes hold them all. Every fit must find the labels of one block, repeated.
"""

import argparse
import ctypes
import mmap
import os
import time

import numpy as np
import scipy.sparse as sp

from kfree import DPMeans, KMeans

N_ROWS, PER_ROW, N_COLUMNS = 512, 1024, 4096
# Blocks of 2¹⁹ values that are more than 2³¹ together.
N_BLOCKS = 4100


def repeated(block, times):
    """The array ``block`` so many times in a row, in the memory of one."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    content = block.tobytes()
    assert len(content) % mmap.PAGESIZE == 0
    file, fixed = os.memfd_create("block"), 0x10
    os.write(file, content)
    begin = libc.mmap(None, len(content) * times, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for number in range(times):
        place = begin + number * len(content)
        assert libc.mmap(place, len(content), mmap.PROT_READ, mmap.MAP_SHARED | fixed, file, 0) == place
    return np.frombuffer((ctypes.c_char * (len(content) * times)).from_address(begin), dtype=block.dtype)


def tables(times):
    """One block of rows in three groups, and the same block many times."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=N_ROWS)
    columns = np.array([np.sort(rng.choice(N_COLUMNS, PER_ROW, replace=False)) for _ in range(N_ROWS)])
    values = (rng.uniform(size=columns.shape) + 4 * (columns % 3 == group[:, None])).astype(np.float32)
    ends = np.arange(0, N_ROWS * PER_ROW * times + 1, PER_ROW)
    block = sp.csr_array((values.ravel(), columns.ravel(), ends[: N_ROWS + 1]), shape=(N_ROWS, N_COLUMNS))
    all_rows = sp.csr_array((N_ROWS * times, N_COLUMNS), dtype=np.float32)
    all_rows.data, all_rows.indices = repeated(values.ravel(), times), repeated(columns.ravel(), times)
    all_rows.indptr = ends
    return block, all_rows, block[[int(np.argmax(group == g)) for g in range(3)]].toarray()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=N_BLOCKS, help=f"of {N_ROWS * PER_ROW} values each")
    times = parser.parse_args().blocks
    block, all_rows, centres = tables(times)
    models = [KMeans(3, init=centres, metric=metric) for metric in ("euclidean", "cosine")]
    # The penalty is so high that no row opens a cluster, and no search beyond the sweeps asks for rows again and again.
    models.append(DPMeans(lam=1e12, init=centres, search="sweep"))
    for model in models:
        began = time.process_time()
        expected = np.tile(model.fit(block).labels_, times)
        model.fit(all_rows)
        assert np.array_equal(model.labels_, expected), f"labels of {model} differ"
        assert np.array_equal(model.predict(all_rows), expected), f"predict of {model} differs"
        print(f"{type(model).__name__}, {model.metric}: {all_rows.nnz} values, {time.process_time() - began:.0f} s")


if __name__ == "__main__":
    main()
