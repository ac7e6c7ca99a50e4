"""How much processor time test functions take, all their cases together: ``python -m pytest -p tests.measure``.

Writes ``tests/slow.txt``, which ``tests/conftest.py`` reads. Time of threads and of child processes counts, time of
waiting does not, so a busy machine measures about the same.
"""

import os
from collections import Counter

import pytest

from tests.conftest import TIMES, function_of

# Functions that take less than this many seconds are not listed.
LEAST = 0.5
spent, cases = Counter(), Counter()


def processor_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.started = processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "teardown":
        report.processor_seconds = processor_seconds() - item.started
    return report


def pytest_runtest_logreport(report):
    """In the process that all workers report to."""
    if report.when == "teardown":
        spent[function_of(report.nodeid)] += report.processor_seconds
        cases[function_of(report.nodeid)] += 1


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        return
    # Functions that did not run keep what they had.
    known = {function: times for function, times in TIMES.items() if function not in spent}
    measured = {function: (spent[function], cases[function]) for function in spent if spent[function] >= LEAST}
    lines = sorted(f"{function} {seconds:.1f} {n}\n" for function, (seconds, n) in (known | measured).items())
    (session.config.rootpath / "tests" / "slow.txt").write_text("".join(lines))
