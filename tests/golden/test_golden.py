"""Every fit of ``fits.py`` gives the labels, centres and costs that it gave when ``results.json`` was written.

Results of the canonical arithmetic have the same bits on every processor, thread count and version of NumPy, so they
are compared bit for bit. Where LAPACK, BLAS or a special function takes part, floats may differ by 1e-9 of the largest
in an array: ``algebra`` in ``fits.py`` (kernels, spectra, free energies, wide rows) and ``SPECIAL`` (outlier
scores). Labels may not differ.
"""

import json

import pytest
from threadpoolctl import threadpool_limits

from tests.golden.fits import FITS, FITTED, MOVES
from tests.golden.record import RESULTS, differences, outcome

EXPECTED = json.loads(RESULTS.read_text())["fits"]


def test_results_of_every_fit_are_kept():
    assert sorted(EXPECTED) == sorted(FITS)


def test_every_attribute_that_is_looked_at_belongs_to_some_fit():
    recorded = set().union(*EXPECTED.values())
    assert {*FITTED, *MOVES} <= recorded


@pytest.mark.parametrize("name", FITS)
def test_the_same_result(name):
    with threadpool_limits(2, user_api="blas"):  # which other tests do not have, see tests/conftest.py
        assert differences(name, EXPECTED[name], outcome(name)) == []
