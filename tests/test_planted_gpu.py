"""Mistakes planted in the kernels of the GPU engine, one at a time, in a copy of the package: each must be noticed."""

import os
from pathlib import Path

import pytest

import kfree
from tests import spoiled

pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("kernels are interpreted with TRITON_INTERPRET=1", allow_module_level=True)

# What is wrong: the file, the right text, the wrong one, and the tests that notice it.
MISTAKES = {
    "anchor and shift are subtracted at once": (
        "engines/gpu/kernels/coordinates.py",
        "return (x.to(tl.float64) - anchor) - shift",
        "return x.to(tl.float64) - (anchor + shift)",
        ["engines/test_gpu.py", "forty and weights"],
    ),
    "what eight bits leave out is forgotten": (
        "engines/gpu/kernels/rank.py",
        "left_out = tl.load(error + row, mask=mask, other=0.0)",
        "left_out = tl.load(error + row, mask=mask, other=0.0) * -9.0",
        ["engines/test_gpu.py", "as_many or (many and cosine)"],
    ),
    "a block joins its left neighbour twice": (
        "engines/gpu/kernels/sums.py",
        "                total = left + total\n",
        "                total = left + left + total\n",
        ["engines/test_gpu.py", "tree_of_blocks"],
    ),
    "bounds forget that other sites have moved": (
        "engines/gpu/kernels/revisit.py",
        "tl.where(way > 0, tl.maximum(at_least - way * MARGIN, 0.0) / MARGIN, at_least)",
        "tl.where(way > 0, at_least + 9.0 * way, at_least)",
        ["engines/test_gpu.py", "moving_sites"],
    ),
    "clusters that rows have left keep their sums": (
        "engines/gpu/history.py",
        "            changed[before[now != before]] = True\n",
        "            changed[:] = False\n",
        ["engines/test_gpu.py", "moving_sites"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_noticed(mistake, tmp_path):
    with spoiled.processes(1) as pool:
        done = pool.submit(spoiled.outcome, Path(kfree.__file__).parent, MISTAKES[mistake], tmp_path)
        code, printed = done.result()
    assert code == pytest.ExitCode.TESTS_FAILED, printed[-2000:]
