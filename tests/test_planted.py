"""Tests that cannot fail prove nothing: each mistake planted here must make the named tests fail.

A mistake is a file, what is right in it, what is wrong, and the tests that must notice; ``tests/mistakes/`` lists them.
"""

from pathlib import Path

import pytest

import kfree
from kfree.native.processor import available_cpus
from tests import spoiled
from tests.mistakes import engines, estimators, search

MISTAKES = engines.MISTAKES | search.MISTAKES | estimators.MISTAKES


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """All mistakes that were asked for, as many at a time as there are processors."""
    wanted = [item.callspec.params["mistake"] for item in request.session.items if item.path == Path(__file__)]
    package, folder = Path(kfree.__file__).parent, tmp_path_factory.mktemp
    with spoiled.processes(available_cpus()) as pool:
        yield {
            mistake: pool.submit(spoiled.outcome, package, MISTAKES[mistake], folder("spoiled")) for mistake in wanted
        }


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_noticed(mistake, outcomes):
    code, printed = outcomes[mistake].result()
    assert code == pytest.ExitCode.TESTS_FAILED, printed[-2000:]
