"""What a fit on files takes at most: the resident memory of a process of its own."""

import sys

import numpy as np
import pytest

from kfree.search.summary.plan import Plan
from tests.limits import rise
from tests.processes import apart


def risen(few, whole, memory, lam):
    """How far the memory of a fit rises above that of a fit on a few rows, and its number of passes."""
    from kfree import DPMeans

    peak, model = rise(DPMeans(lam=lam, memory=memory).fit, few, whole)
    return peak, model.n_passes_


@pytest.mark.slow  # in a process that tests/measure.py does not see
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_regions_of_wide_rows_take_no_more_than_the_memory(tmp_path, rng):
    memory, n_columns = 32_000_000, 100
    centres = 4.0 * rng.normal(size=(20, n_columns))
    for name, n_rows in (("all", 45_000), ("few", 2_000)):
        (tmp_path / name).mkdir()
        rows = centres[rng.integers(20, size=n_rows)] + rng.normal(size=(n_rows, n_columns))
        np.save(tmp_path / name / "0.npy", rows.astype(np.float32))
    peak, n_passes = apart(risen, tmp_path / "few", tmp_path / "all", memory, 75_000.0)
    assert n_passes > 4  # regions
    assert peak <= memory


@pytest.mark.parametrize("n_columns", [1, 10, 74, 1000])
@pytest.mark.parametrize("times", [1, 4, 100])
def test_the_plan_counts_what_is_there_while_a_region_is_read(n_columns, times):
    with pytest.raises(ValueError, match="at least") as error:
        Plan.of(1, n_columns, 2048)
    plan = Plan.of(times * int(str(error.value).split("at least ")[1].split()[0]), n_columns, 2048)
    row = 8 * (n_columns + 2)
    held = row * (plan.sample_rows + plan.most_micro + 7 * plan.chunk_rows)
    assert min(plan.region_rows, plan.region_sample) > 0
    assert held + row * max(plan.region_rows, 2 * plan.region_sample) <= plan.memory
