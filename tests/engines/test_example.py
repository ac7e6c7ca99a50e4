"""The engine that docs/developing.md shows how to write passes all engine checks."""

from pathlib import Path

import numpy as np
from engines import checks, example
from engines.test_engines import UNEVEN, expected, rows_of

from kfree.native import _core


def test_the_example_passes_the_checks(tmp_path):
    X, _, unit = rows_of("float32")
    cuts = [_core.BLOCK * block for block in UNEVEN[1:]]
    paths = [tmp_path / f"{number}.npy" for number in range(len(cuts) + 1)]
    for path, rows in zip(paths, np.split(X, cuts), strict=True):
        np.save(path, rows)
    checks.check_same_bits(checks.found_by(example.open_files(paths), unit), expected("float32"))
    checks.check_nothing_as_long_as_the_rows_crosses(example.open_files(paths), unit)


def test_the_guide_shows_the_example():
    guide = Path(__file__).parents[2] / "docs" / "developing.md"
    source = Path(example.__file__).read_text()
    assert source[source.index("class MappedPart") :] in guide.read_text()
