"""KMeans in place of scikit-learn's: the tests that scikit-learn ships, with two seeds."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_scikit_learns_own_tests_pass_but_for_those_that_are_listed():
    here = str(Path(__file__).parent)
    paths = os.pathsep.join([here, *filter(None, sys.path)])
    settings = {"SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "0-1", "SKLEARN_RUN_FLOAT32_TESTS": "1"}
    environment = os.environ | settings | {"PYTHONPATH": paths}
    tests = ["--pyargs", "sklearn.cluster.tests.test_k_means"]
    options = ["-q", "-p", "drop_in", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "--tb=short"]
    # Elsewhere than in this folder, whose settings are for kfree's own tests.
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *tests, *options],
        env=environment,
        cwd=Path(sys.executable).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-1000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    # As many as there were when this was written, so that a run that collects nothing fails.
    assert passed is not None
    assert int(passed[1]) >= 150, run.stdout[-300:]
