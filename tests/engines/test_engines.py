"""Every engine in one part and in seven uneven ones, on 1, 2 and 8 threads, over all kinds of rows: the same bits."""

import numpy as np
import pytest
from engines import checks
from engines.metering import Metered, RowsCrossed

from kfree.core.sites import Sites
from kfree.engines.registry import open_engine
from kfree.native import _core

# Where seven uneven parts begin, in blocks; some hold one block, one holds most.
CUTS = {"one part": None, "seven uneven parts": 7}


def opened(name, parts, n_threads):
    def open_rows(X, weight, unit):
        sizes = None if parts is None else uneven(X.shape[0], parts)
        return open_engine(name, X, weight=weight, unit=unit, n_threads=n_threads, parts=sizes or [0])

    return open_rows


def uneven(n_rows, n_parts):
    """First rows of parts: as many as there are blocks for, most rows in the second."""
    n_blocks = -(-n_rows // _core.BLOCK)
    return [0, *range(max(1, n_blocks - n_parts + 1) * _core.BLOCK, n_rows, _core.BLOCK)]


@pytest.mark.parametrize("kind", checks.KINDS)
@pytest.mark.parametrize("parts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_same_bits(kind, parts, n_threads, rng):
    if parts is None and n_threads == 1:
        pytest.skip("that is what the others are held against")
    checks.check_same_bits(opened("native", parts, n_threads), *checks.rows_of_all_kinds(rng)[kind])


@pytest.mark.parametrize("parts", CUTS.values(), ids=CUTS)
def test_nothing_as_long_as_the_rows_crosses(parts, rng):
    crossed = checks.check_nothing_as_long_as_the_rows_crosses(
        opened("native", parts, 1), *checks.rows_of_all_kinds(rng)["weights, some zero"]
    )
    assert crossed["nearest"] < 1_000


def test_the_meter_notices_rows(rng):
    engine = Metered(open_engine("native", rng.normal(size=(500, 2))), 500)
    assert len(engine.labels(engine.nearest(Sites.of(np.zeros((1, 2)))).assignment)) == 500
    with pytest.raises(RowsCrossed, match="rows moved an array of 1000 elements"):
        engine.rows(np.arange(499))
