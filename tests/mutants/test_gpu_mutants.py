"""Mutants of the kernels of the GPU engine, interpreted on the CPU: each must be noticed."""

import os
from pathlib import Path

import pytest

import kfree
from kfree.native import _core
from tests.mutants.planting import Mutant, changed_files, outcome, processes, touched

pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("kernels are interpreted with TRITON_INTERPRET=1", allow_module_level=True)

pytestmark = pytest.mark.mutants
MUTANTS = {
    "anchor and shift are subtracted at once": Mutant(
        "return (x.to(tl.float64) - anchor) - shift",
        "return x.to(tl.float64) - (anchor + shift)",
        "engines/test_gpu.py",
        "forty and weights",
    ),
    "what eight bits leave out is forgotten": Mutant(
        "left_out = tl.load(error + row, mask=mask, other=0.0)",
        "left_out = tl.load(error + row, mask=mask, other=0.0) * -9.0",
        "engines/test_gpu.py",
        "as_many or (many and cosine)",
    ),
    "what float32 rounds off is forgotten": Mutant(
        "bounds(norm, best, runner_up, winner_norm, 0.0, 0.0, 0.0, rounding)",
        "bounds(norm, best, runner_up, winner_norm, 0.0, 0.0, 0.0, -rounding)",
        "engines/test_gpu.py",
        "few_columns",
    ),
    "a block joins its left neighbour twice": Mutant(
        "total = left + total",
        "total = left + left + total",
        "engines/test_gpu.py",
        "tree_of_blocks",
    ),
    "bounds forget that other sites have moved": Mutant(
        "tl.where(way > 0, tl.maximum(at_least - way * MARGIN, 0.0) / MARGIN, at_least)",
        "tl.where(way > 0, at_least + 9.0 * way, at_least)",
        "engines/test_gpu.py",
        "moving_sites",
    ),
    "clusters that rows have left keep their sums": Mutant(
        "changed[before[now != before]] = True",
        "changed[:] = False",
        "engines/test_gpu.py",
        "moving_sites",
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_noticed(mutant, tmp_path, request):
    package, core, since = Path(kfree.__file__).parent, Path(_core.__file__), request.config.getoption("--since")
    if since is not None and not touched(MUTANTS[mutant], package, changed_files(since)):
        pytest.skip("neither its formula nor its tests have changed")
    with processes(1) as pool:
        code, printed = pool.submit(outcome, package, core, MUTANTS[mutant], tmp_path).result()
    assert code == pytest.ExitCode.TESTS_FAILED, printed[-2000:]
