"""The progress bar never passes its end, never warns, and follows a clock that cannot be set."""

from __future__ import annotations

import io
import threading
import time
import warnings

import pytest

from netlab.experiment.progress import Bar, Steady
from netlab.study.schedule import VISIT_S


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class Visit:
    """The fields of a visit that the bar reads."""

    round, path, tuning, mtu_text = 1, "cable", "big", "9000"


def test_work_beyond_the_estimate_raises_the_total(capsys):
    bar = Bar(report=False)
    bar.start(runs=2, kept=0, visits=1, seconds_per_run=0.123)
    bar.visit(Visit)
    for _ in range(5):
        bar.run_done()
        assert bar._bar.n <= bar._bar.total
        bar._bar.refresh()
    assert bar._bar.total == pytest.approx(VISIT_S + 5 * 0.123)
    bar.__exit__()
    assert "100%" in capsys.readouterr().err


def test_runs_that_are_measured_again_are_added_and_announced(capsys):
    bar = Bar(report=False)
    bar.start(runs=4, kept=0, visits=1, seconds_per_run=2.0)
    before = bar._bar.total
    bar.again(runs=3, visits=1)
    assert bar._bar.total == before + 3 * 2.0 + VISIT_S
    bar.__exit__()
    assert "netlab: 3 disturbed runs are measured again" in "".join(capsys.readouterr())


def test_a_bar_has_no_thread_and_ignores_the_wall_clock(monkeypatch):
    threads = threading.active_count()
    out = io.StringIO()
    bar = Steady(total=10, file=out, mininterval=0)
    assert threading.active_count() == threads
    now = time.time()
    monkeypatch.setattr("tqdm.std.time", lambda: now - 86_400)
    monkeypatch.setattr(time, "time", lambda: now - 86_400)
    bar.update(5)
    assert 0 <= bar.format_dict["elapsed"] < 10
    bar.close()
    assert "50%" in out.getvalue() and "-" not in out.getvalue().split("[")[-1]


def test_a_bar_without_a_total_counts():
    bar = Steady(file=io.StringIO())
    bar.update(3)
    bar.update()
    assert (bar.n, bar.total) == (4, None)
    bar.close()
