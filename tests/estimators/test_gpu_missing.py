"""Without torch, ``engine="gpu"`` says what to install, and nothing else needs it."""

import sys

import numpy as np
import pytest

from kfree import DPMeans


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'engine="gpu" needs torch and Triton .* pip install "kfree\[gpu\]"'):
        DPMeans(lam=1.0, engine="gpu").fit(np.zeros((3, 2)))
