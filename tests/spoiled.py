"""What tests say about a copy of the package with one mistake in it.

Nothing of kfree is imported here: a process that runs ``outcome`` imports the copy.
"""

import contextlib
import io
import multiprocessing
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Imported once, by the process that all others are forked from.
SHARED = ["matplotlib", "pandas", "scipy.sparse.linalg", "scipy.special", "sklearn.cluster", "sklearn.mixture"]


def outcome(package, mistake, folder):
    """Exit code and output of pytest. A mistake is a file, the right and the wrong text, and the tests to notice it."""
    file, right, wrong, (tests, selection) = mistake
    copy = folder / "kfree"
    shutil.copytree(package, copy)
    source = (copy / file).read_text()
    if source.count(right) != 1:
        return None, f"the line to spoil has changed in {file}: spoil its successor"
    (copy / file).write_text(source.replace(right, wrong))
    # Not the options of the outer run: under xdist, -x ends with another exit code.
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    os.chdir(TESTS.parent)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", str(TESTS / tests), "-k", selection])
    return code, printed.getvalue()


def processes(n):
    """``n`` processes at a time, each for one call of ``outcome``."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(SHARED)
    return ProcessPoolExecutor(n, mp_context=context, max_tasks_per_child=1)
