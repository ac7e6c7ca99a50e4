"""The place for rows that docs/developing.md shows how to add passes all checks."""

from pathlib import Path

import numpy as np
from engines import checks, example
from engines.metering import Metered
from engines.test_engines import UNEVEN, answers, rows_of

from kfree.core.sites import Sites
from kfree.native import _core


def written(folder):
    X, _, _ = rows_of("float32")
    cuts = [_core.BLOCK * block for block in UNEVEN[1:]]
    paths = [folder / f"{number}.npy" for number in range(len(cuts) + 1)]
    for path, rows in zip(paths, np.split(X, cuts), strict=True):
        np.save(path, rows)
    return paths


def test_the_example_passes_the_checks(tmp_path):
    checks.check_same_bits(checks.answered_by(example.open_files(written(tmp_path)), 9.0), answers("float32"))


def test_nothing_as_long_as_the_rows_crosses(tmp_path):
    rows = Metered(example.open_files(written(tmp_path)), checks.N_ROWS)
    sites = Sites.of(rows.first_point()[None, :])
    rows.nearest(sites)
    rows.sweep(sites, 9.0, None, 100)
    assert rows.largest["nearest"] < rows.largest["sweep"] < 1_000


def test_the_guide_shows_the_example():
    guide = Path(__file__).parents[2] / "docs" / "developing.md"
    source = Path(example.__file__).read_text()
    assert source[source.index("import numpy") :] in guide.read_text()
