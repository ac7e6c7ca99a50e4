"""The example of docs/developing.md: rows in several .npy files."""

import numpy as np

from kfree.engines.local.engine import RowEngine, anchored_frame, centred_frame
from kfree.engines.local.part import LocalPart
from kfree.native.implementations import implementation


class MappedPart(LocalPart):
    """Rows of one .npy file, which the operating system reads as they are needed."""

    def __init__(self, path, frame, begin):
        passes, rows = implementation("native", "rows"), np.load(path, mmap_mode="r")
        super().__init__(passes, rows, None, frame, n_threads=None, begin=begin, alone=False)


def open_files(paths):
    """An engine over files that hold a multiple of BLOCK rows each, but for the last one."""

    def engine_in(frame):
        parts, begin = [], 0
        for path in paths:
            parts.append(MappedPart(path, frame, begin))
            begin += parts[-1].n_rows
        return RowEngine("native", parts)

    return engine_in(centred_frame(engine_in(anchored_frame(np.load(paths[0], mmap_mode="r"), None))))
