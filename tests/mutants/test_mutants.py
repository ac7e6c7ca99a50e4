"""Tests that cannot fail prove nothing: each mutant of ``formulas.py`` must make the tests that it names fail.

``pytest -m mutants`` runs all of them, with ``--since=REF`` those whose formula or tests stand in files that changed
since the branch left REF.
"""

from pathlib import Path

import pytest

import kfree
from kfree.native import _core
from kfree.native.processor import available_cpus
from tests.mutants.formulas import MUTANTS
from tests.mutants.planting import changed_files, outcome, processes, touched

PACKAGE, CORE = Path(kfree.__file__).parent, Path(_core.__file__)
pytestmark = pytest.mark.mutants


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """All mutants that were asked for, as many at a time as there are processors."""
    asked = [item.callspec.params["mutant"] for item in request.session.items if item.path == Path(__file__)]
    since, folder = request.config.getoption("--since"), tmp_path_factory.mktemp
    files = None if since is None else changed_files(since)
    wanted = [name for name in asked if files is None or touched(MUTANTS[name], PACKAGE, files)]
    with processes(available_cpus()) as pool:
        yield {name: pool.submit(outcome, PACKAGE, CORE, MUTANTS[name], folder("mutant")) for name in wanted}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_noticed(mutant, outcomes):
    if mutant not in outcomes:
        pytest.skip("neither its formula nor its tests have changed")
    code, printed = outcomes[mutant].result()
    assert code == pytest.ExitCode.TESTS_FAILED, printed[-2000:]
