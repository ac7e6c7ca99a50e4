"""Progress of a command: a percentage and the time left, on a terminal, after a second."""

import io
import re
import time

import pytest

import kfree
from kfree.cli import progress
from kfree.cli.progress import Progress
from kfree.core.progress import heard_by, tell
from tests.cli.conftest import outcome, rows_of


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line_has_the_share_and_the_time_left():
    now = [0.0]
    shown = Progress(Terminal(), ["reading", "preparing", "clustering", "page"], clock=lambda: now[0])
    assert shown.line() == "kfree: reading, 0 %"
    shown.hear("reading", 0.5)
    now[0] = 2.0
    # Weights are 2, 3, 5 and 5, of which 1 is done; the other 14 take as long each.
    assert shown.line() == "kfree: reading, 7 %, about 28 s left"
    shown.begins("clustering")
    shown.hear("page", 0.9)  # not this step
    assert shown.share == pytest.approx(5 / 15)
    shown.hear("clustering", 0.6)
    shown.hear("clustering", 0.4)  # never back
    now[0] = 600.0
    assert shown.line() == "kfree: clustering, 53 %, about 9 min left"


def test_the_line_is_drawn_and_removed(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    terminal = Terminal()
    with Progress(terminal, ["reading"]) as shown:
        deadline = time.monotonic() + 20
        while "%" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        shown.clear()
    assert "\r\x1b[2Kkfree: reading, 0 %" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_a_command_shows_progress_on_a_terminal_only(blobs_csv, capsys, monkeypatch):
    heard = []
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.001)
    monkeypatch.setattr(Progress, "hear", lambda self, step, share: heard.append((step, share)))
    line = ["cluster", "data.csv", "--encode", "--model", "round", "--report", "r.html"]
    _, _, err = outcome(line, capsys)
    assert "%" not in re.sub(r"\(\d+ %\)", "", err)
    assert heard == []
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    assert outcome(line, capsys)[0] == 0
    assert re.search(r"kfree: \w+, \d+ %", terminal.getvalue())
    assert {step for step, _ in heard} == {"reading", "preparing", "clustering", "page"}
    assert all(0 <= share <= 1 for _, share in heard)
    labels = rows_of("data.clusters.csv")
    monkeypatch.setattr("sys.stderr", quiet := Terminal())
    outcome(["cluster", "data.csv", "--encode", "--quiet"], capsys)
    assert quiet.getvalue() == ""
    assert rows_of("data.clusters.csv") == labels


def test_a_fit_tells_how_far_it_is_to_who_listens(blobs_csv):
    X, _ = blobs_csv
    heard = []
    with heard_by(lambda step, share: heard.append((step, share))):
        kfree.DPMeans().fit(X)
    shares = [share for step, share in heard if step == "clustering"]
    assert len(shares) > 3
    assert 0 <= min(shares) < max(shares) <= 1
    heard.clear()
    kfree.DPMeans().fit(X)
    tell("clustering", 0.5)
    assert heard == []
