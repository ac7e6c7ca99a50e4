"""Every engine in one part and in seven uneven ones, on 1, 2 and 8 threads, over all kinds of rows: the same bits."""

from functools import cache

import numpy as np
import pytest
from engines import checks
from engines.metering import Metered, RowsCrossed

from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.native import _core

# Two parts of one block each, one of three, and so on: the blocks at which parts begin.
UNEVEN = [0, 1, 2, 5, 6, 8, 9]
WAYS = {
    "native, one part, 2 threads": ("native", [0], 2),
    "native, one part, 8 threads": ("native", [0], 8),
    "native, seven parts, 1 thread": ("native", UNEVEN, 1),
    "native, seven parts, 2 threads": ("native", UNEVEN, 2),
    "native, seven parts, 8 threads": ("native", UNEVEN, 8),
}
FEW_ROWS = 2_500


def opened(rows, name="native", blocks=(0,), n_threads=1):
    X, weight, unit = rows
    parts = [_core.BLOCK * block for block in blocks]
    return open_engine(name, X, weight=weight, unit=unit, n_threads=n_threads, parts=parts)


def rows_of(kind, n_rows=checks.N_ROWS):
    return checks.rows_of_all_kinds(np.random.default_rng(7), n_rows)[kind]


@cache
def expected(kind, n_rows=checks.N_ROWS):
    """What one part finds on one thread."""
    rows = rows_of(kind, n_rows)
    return checks.found_by(opened(rows), rows[2])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", checks.KINDS)
def test_same_bits(kind, way):
    rows = rows_of(kind)
    checks.check_same_bits(checks.found_by(opened(rows, *WAYS[way]), rows[2]), expected(kind))


@pytest.mark.parametrize("blocks", [[0], [0, 1]], ids=["one part", "two parts"])
@pytest.mark.parametrize("kind", [kind for kind in checks.KINDS if kind not in ("CSR", "many columns")])
def test_the_reference_implementation_has_the_same_bits(kind, blocks):
    rows = rows_of(kind, FEW_ROWS)
    checks.check_same_bits(checks.found_by(opened(rows, "reference", blocks), rows[2]), expected(kind, FEW_ROWS))


@pytest.mark.parametrize("blocks", [[0], UNEVEN], ids=["one part", "seven parts"])
def test_nothing_as_long_as_the_rows_crosses(blocks):
    rows = rows_of("weights, some zero")
    crossed = checks.check_nothing_as_long_as_the_rows_crosses(opened(rows, blocks=blocks), rows[2])
    assert crossed["nearest"] < 1_000


def test_the_meter_notices_rows(rng):
    engine = Metered(open_engine("native", rng.normal(size=(500, 2))), 500)
    done = engine.nearest(Sites.of(np.zeros((1, 2))))
    with pytest.raises(RowsCrossed, match="labels was asked for during a search"):
        engine.labels(done.assignment)
    with pytest.raises(RowsCrossed, match="rows moved an array of 998 elements"):
        engine.rows(np.arange(499))
