"""A model and its report, made once."""

import numpy as np
import pytest

from kfree import DPMeans
from kfree.report.kinds import report_data

# A name that would run as code, or end the script, if it were not escaped.
NAMES = ["height", "<script>alert(1)</script>", "</script><b>bold</b>", "{{script}} & 'more'"]


@pytest.fixture(scope="session")
def fitted():
    rng = np.random.default_rng(5)
    X = 12.0 * rng.normal(size=(5, 4))[np.arange(200) % 5] + rng.normal(size=(200, 4))
    return DPMeans().fit(X), X


@pytest.fixture(scope="session")
def reported(fitted):
    """What the page shows."""
    model, X = fitted
    return report_data(model, X, NAMES, title="people <i>&amp;</i>.csv", row_numbers=np.arange(1001, 1201))
