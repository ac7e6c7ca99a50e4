"""The example of docs/developing.md: rows in several .npy files."""

import numpy as np

from kfree.engines.contract import Rows
from kfree.engines.files.engine import Place, open_stream
from kfree.engines.local.rows import LocalRows


class MappedRows(Rows):
    """Rows of .npy files, which the operating system reads as they are needed.

    All files but the last one hold a multiple of 2,048 rows, the block size of sums.
    """

    def __init__(self, paths, frame, scanned=None):
        self._files = [np.load(path, mmap_mode="r") for path in paths]
        n_rows = sum(len(X) for X in self._files)
        super().__init__("native", frame, n_rows, self._files[0].shape[1], scanned)

    def ask(self, question):
        return self.in_turn(question, self._ranges())

    def take(self, copies):
        return LocalRows("native", copies.X, copies.weight, self.frame)

    def _ranges(self):
        begin = 0
        for X in self._files:
            yield LocalRows("native", X, None, self.frame, span=(begin, self.n_rows))
            begin += len(X)


def open_files(paths):
    n_features = np.load(paths[0], mmap_mode="r").shape[1]
    return open_stream(Place(n_features, lambda frame, scanned: MappedRows(paths, frame, scanned)))
