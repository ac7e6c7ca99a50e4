"""What a fit on files takes at most: the resident memory of a process of its own."""

import json
import subprocess
import sys

import numpy as np
import pytest

from kfree.search.summary.plan import Plan

# Prints how far the resident memory of a fit rises above that of a fit on a few rows, which loads all libraries.
MEASURED = """
import json, sys
from pathlib import Path
import numpy as np
from kfree import DPMeans, open_rows
from kfree.native.memory import give_back_free_memory

def status(name):
    return next(1024 * int(l.split()[1]) for l in Path("/proc/self/status").open() if l.startswith(name))

folder, memory, lam = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
few = open_rows(sys.argv[4])
DPMeans(lam=lam, memory=memory).fit(few)
give_back_free_memory()
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
model = DPMeans(lam=lam, memory=memory).fit(open_rows(folder))
print(json.dumps([status("VmHWM") - before, model.n_passes_]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_regions_of_wide_rows_take_no_more_than_the_memory(tmp_path, rng):
    memory, n_columns = 32_000_000, 100
    centres = 4.0 * rng.normal(size=(20, n_columns))
    for name, n_rows in (("all", 45_000), ("few", 2_000)):
        (tmp_path / name).mkdir()
        rows = centres[rng.integers(20, size=n_rows)] + rng.normal(size=(n_rows, n_columns))
        np.save(tmp_path / name / "0.npy", rows.astype(np.float32))
    command = [sys.executable, "-c", MEASURED, tmp_path / "all", str(memory), "75000", tmp_path / "few"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    peak, n_passes = json.loads(done.stdout)
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
