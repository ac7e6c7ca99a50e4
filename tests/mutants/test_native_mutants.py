"""Mutants of the compiled passes run on request only; what each of them replaces must stand in the sources even so."""

import pytest

from tests.mutants.native import MUTANTS, ROOT


@pytest.mark.parametrize("mutant", MUTANTS)
def test_what_a_mutant_replaces_stands_once(mutant):
    file, right, *_ = MUTANTS[mutant]
    assert (ROOT / "src" / "kfree" / "native" / file).read_text().count(right) == 1
