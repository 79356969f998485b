"""The face of a study on a lab: changes, a block, an interrupt."""

from __future__ import annotations

import json
import os
import queue
import re
import time
from pathlib import Path

import pytest
from face_home import home_at
from jupyter_client.manager import start_new_kernel

import netlab
from netlab.errors import BadInput
from netlab.files import paths
from netlab.lab.lab import labs
from tests.e2e.conftest import ROOT, small_study
from tests.face.examples import ON_A_LAB, examples, failures

EXAMPLES = examples()


def wait_until(condition, timeout_s: float) -> bool:
    """Poll a condition; whether it came true in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def children_of(pid: int) -> list[int]:
    """Process ids of all descendants."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                ids = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += ids
            todo += ids
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A directory with studies and results of its own, current for the tests."""
    with pytest.MonkeyPatch.context() as patch:
        yield home_at(tmp_path_factory.mktemp("home"), patch)


@pytest.mark.parametrize("name", sorted(ON_A_LAB))
def test_an_example_on_a_lab_is_true_and_leaves_nothing(name, home, machine_untouched):
    assert failures(EXAMPLES[name]) == ""


def test_changes_show_every_host_as_a_diff_and_change_nothing(home, machine_untouched):
    study = netlab.Study(small_study("diffs"))
    changes = study.changes(tuning="openlab-2003-full")
    text, page, frame = repr(changes), changes._repr_html_(), changes.frame
    assert (
        "# cable, openlab-2003-full, MTU 9000: left" in text
        and "cable, openlab-2003-full, MTU 9000: right" in page
    )
    assert "+ " in text and "net.ipv4.tcp_sack" in page and "tcp_tw_recycle" in text
    assert set(frame["host"]) == {"left", "right"} and set(frame["tuning"]) == {"openlab-2003-full"}
    mtu = frame[frame["knob"].str.contains("mtu")]
    assert mtu["old"].tolist() == ["1500"] * 2 and mtu["new"].tolist() == ["9000"] * 2
    with pytest.raises(BadInput, match="has the tunings openlab-2003-normal, openlab-2003-full"):
        study.changes(tuning="fool")


def test_a_block_is_measured_once_and_shows_what_it_met(home, machine_untouched):
    study = netlab.Study(small_study("blocks"), rounds=2)
    block = study.measure("cable@openlab-2003-full@9000")
    assert block.result.runs["round"].tolist() == [1] * len(block.result.runs)
    assert "net.ipv4.tcp_sack" in repr(block.changes) and "tcp_tw_recycle" in repr(block.notes)
    assert "packets transmitted" in block.path.text and "4 Streams" in repr(block.cells)
    again = study.measure("cable@openlab-2003-full@9000")
    assert len(again.result.runs) == (block.result.runs["flags"] != "").sum()
    second = study.measure("cable@openlab-2003-full@9000", round=2)
    assert sorted(second.runs["round"].unique()) == [1, 2]
    with pytest.raises(BadInput, match="no such block"):
        study.measure("cable@openlab-2003-full@1500")


class Kernel:
    """A notebook's kernel: cells are executed in it, and interrupted."""

    def __init__(self, place: Path):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.manager, self.client = start_new_kernel(cwd=str(place), env=environment)
        self.pid = self.manager.provisioner.pid

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code: str, *, interrupt_at: str = "", timeout_s: float = 240) -> str:
        """Execute a cell; text that it prints or raises. Interrupt some time after a text."""
        asked = self.client.execute(code)
        said, deadline, interrupt_s = "", time.monotonic() + timeout_s, None
        while time.monotonic() < deadline:
            if interrupt_s is not None and time.monotonic() > interrupt_s:
                self.manager.interrupt_kernel()
                interrupt_s, interrupt_at = None, ""
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                continue
            content = message["content"]
            shown = content.get("data", {}).get("text/plain", "")
            said += "".join((content.get("text", ""), shown, content.get("evalue", ""), "\n"))
            if interrupt_at and interrupt_at in said and interrupt_s is None:
                interrupt_s = time.monotonic() + 4
            idle = content.get("execution_state") == "idle"
            if idle and message["parent_header"].get("msg_id") == asked:
                return said
        raise AssertionError(f"the cell did not end: {said[-500:]}")


@pytest.fixture
def kernel(home):
    one = Kernel(home)
    yield one
    one.close()


def test_an_interrupted_study_leaves_nothing_and_goes_on_later(kernel, home, machine_untouched):
    content = small_study("halted")
    content["timing"] = {"rounds": 3, "seconds": 0.4, "warmup_s": 0.05, "interval_ms": 50}
    kernel.run(f"import netlab; study = netlab.Study({content!r})")
    said = kernel.run("results = study.run()", interrupt_at="of 24 runs")
    assert re.search(r"Stopped: \d+ of 24 runs kept", said) and "Traceback" not in said
    assert wait_until(lambda: children_of(kernel.pid) == [], 5.0)
    assert [lab for lab in labs() if lab.status()["study"] == "halted"] == []
    directory = paths.results_dir("halted")
    assert [path.name for path in directory.rglob(".*")] == [".lock"]
    for page in directory.glob("notebooks/*.ipynb"):  # of visits that were over by then
        ended = json.loads(page.read_text())["metadata"]["papermill"]
        assert ended["end_time"] and not ended["exception"]
    before = set(directory.rglob("*.parquet"))
    done = kernel.run("results = study.run(); print(len(results.runs), results.name)")
    assert "24 halted" in done
    assert len(netlab.Results("halted").runs) == 24
    assert before < set(directory.rglob("*.parquet"))
