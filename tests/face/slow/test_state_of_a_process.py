"""Settings of the caller's process stay as they are: from threads, in a fork and after a stop."""

from __future__ import annotations

import copy
import logging
import multiprocessing
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
import synthetic
from nbformat.v4 import new_code_cell, new_notebook

import netlab
from netlab.analysis.measured import load_measured
from netlab.notebooks.execution import execute
from netlab.notebooks.kernel import Kernel
from netlab.results.store import Damaged

WAIT_S = 30.0
PACKAGE = Path(netlab.__file__).parent


def test_themes_of_two_threads_that_end_out_of_order_change_no_setting():
    before, first_ended = dict(mpl.rcParams), threading.Event()
    second_began = threading.Event()

    def second():
        with netlab.theme():
            second_began.set()
            assert first_ended.wait(WAIT_S)

    thread = threading.Thread(target=second)
    with netlab.theme():
        thread.start()
        assert second_began.wait(WAIT_S)
    first_ended.set()
    thread.join(WAIT_S)
    changed = {name for name, value in before.items() if mpl.rcParams[name] != value}
    assert not thread.is_alive() and not changed


def test_themes_of_generators_that_end_in_any_order_change_no_setting():
    def held():
        with netlab.theme():
            yield mpl.rcParams["axes.grid"]

    before = dict(mpl.rcParams)
    first, second, third = blocks = [held() for _ in range(3)]
    look = {next(block) for block in blocks}
    for block in (second, first, third):
        assert {mpl.rcParams["axes.grid"]} == look
        block.close()
    assert before == dict(mpl.rcParams)


def test_threads_draw_while_a_theme_waits_for_them(results):
    drawn = []

    def draw_chart():
        drawn.append(netlab.show(results.plot("Linux64 -> Linux64")).svg)

    before = dict(mpl.rcParams)
    with netlab.theme():
        # daemons, so that a failure ends
        threads = [threading.Thread(target=draw_chart, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
    draw_chart()
    assert len(drawn) == 3 and len({*drawn}) == 1 and before == dict(mpl.rcParams)


def test_charts_drawn_in_threads_are_each_the_same_figure(results):
    before = dict(mpl.rcParams)

    def drawn(_number=0):
        return netlab.show(results.plot("Linux64 -> Linux64")).svg

    alone = drawn()
    with ThreadPoolExecutor(8) as threads:
        several = list(threads.map(drawn, range(12)))
    assert set(several) == {alone} and not plt.get_fignums()
    assert before == dict(mpl.rcParams)


def draw():
    with netlab.theme():
        plt.close(plt.figure())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of a process with threads
def test_a_fork_draws_while_another_thread_of_its_parent_did():
    began, done = threading.Event(), threading.Event()

    def hold():
        with netlab.theme():
            began.set()
            done.wait(WAIT_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert began.wait(WAIT_S)
    child = multiprocessing.get_context("fork").Process(target=draw)
    child.start()
    child.join(WAIT_S)
    stuck = child.is_alive()
    child.kill()
    done.set()
    thread.join(WAIT_S)
    assert not stuck and child.exitcode == 0


def test_no_filter_of_warnings_is_changed_while_results_are_read(tmp_path, foreign):
    """They are of the whole process, in which another thread may warn, or read results too."""
    synthetic.store_of(tmp_path / "store", foreign)
    next((tmp_path / "store" / "intervals").glob("*.parquet")).unlink()
    calls, filtered = [], set()

    def watch(frame, event, _argument):
        if event == "call" and Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            calls.append(frame.f_code.co_name)
            filtered.update(entry[2] for entry in warnings.filters)

    with pytest.warns(Damaged, match="lacks the samples of") as caught:
        sys.setprofile(watch)
        try:
            m = load_measured(tmp_path / "store", tmp_path / "two-racks.yml")
            m.samples(None)
        finally:
            sys.setprofile(None)
    assert {"counting", "check_samples", "rows_of"} <= set(calls)
    assert Damaged not in filtered and len(caught) == len(m.damaged) == 1


def test_results_go_to_another_process_also_after_their_tables_and_charts_were_made(results):
    assert results.tables.summary() and results.charts and results.intervals is not None
    assert results.measured.findings is not None and results.headline
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (there_and_back,) = pool.map(copy.copy, [results])
    pd.testing.assert_frame_equal(there_and_back.cells, results.cells)
    pd.testing.assert_frame_equal(there_and_back.intervals, results.intervals)
    assert repr(there_and_back) == repr(results)
    assert there_and_back.measured.study == results.measured.study


def test_a_users_loggers_are_the_same_after_a_notebook_and_after_a_stop(tmp_path, caplog):
    path = tmp_path / "n.ipynb"
    cell = new_code_cell("size = 1", metadata={"tags": ["parameters"]})
    kernel_of = {
        "kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}
    }
    nbformat.write(new_notebook(cells=[cell], metadata=kernel_of), path)
    papermill, loop = logging.getLogger("papermill"), logging.getLogger("asyncio")
    before = papermill.level, [*papermill.filters], loop.level
    with caplog.at_level(logging.INFO):
        with pytest.raises(KeyboardInterrupt), Kernel() as kernel:
            execute(path, tmp_path / "out.ipynb", {"size": 2}, kernel=kernel)
            raise KeyboardInterrupt
        assert not [record for record in caplog.records if record.name.startswith("papermill")]
        assert before == (papermill.level, papermill.filters, loop.level)
        papermill.info("a step of the user's own")
        loop.error("Task exception was never retrieved\nfuture: <Task coro=<own() at /x.py:1>>")
        lost = (
            "Task exception was never retrieved\nfuture: <Task coro=<at /lib/nbclient/client.py>>"
        )
        loop.error(lost)
    texts = [record.getMessage() for record in caplog.records]
    assert "a step of the user's own" in texts and lost not in texts
    assert any("own() at /x.py" in text for text in texts)
