"""A study with stacks of its own: its runs use and name them, and they are gone after it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from netlab.lab.lab import Lab
from netlab.results import Store
from netlab.study import load
from tests.e2e import dumps
from tests.e2e.conftest import NETLAB, ROOT, measured_through, run_netlab, small_study

pytestmark = pytest.mark.e2e

LISTS = ("available", "allowed")
GROUPS = {
    "scalable": ("->", "bpf scalable 1 (netlab "),
    "highspeed": ("<->", "bpf highspeed 1 (netlab "),
    "wad+cubic": ("->", "bpf aimd 1 (netlab "),
    "reno": ("->", "kernel reno (Linux "),
}


def lists() -> dict[str, list[str]]:
    """The congestion controls of the machine, and those that any user may choose."""
    read = {
        name: Path(f"/proc/sys/net/ipv4/tcp_{name}_congestion_control").read_text().split()
        for name in LISTS
    }
    return read


def study_with_stacks(name: str) -> dict:
    content = small_study(name)
    content["groups"] = [
        {
            "name": f"{congestion} {direction}",
            "path": "cable",
            "sender": "left",
            "direction": direction,
            "congestion": congestion,
        }
        for congestion, (direction, _) in GROUPS.items()
    ]
    content["stacks"] = {
        "wad": {"law": "aimd", "increase": 6, "decrease": 0.3, "max_ssthresh_segments": 100}
    }
    content["tunings"] = [{"name": "openlab-2003-normal", "mtus_B": [1500]}]
    content["streams"] = [2]
    content["trace"] = True
    return content


def written(path: Path, content: dict) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def test_every_run_names_what_its_senders_kernel_was_given(tmp_path, machine_untouched):
    before = lists()
    path = written(tmp_path / "stacks.yml", study_with_stacks("stacks"))
    done = run_netlab("run", str(path), "--results", str(tmp_path / "results"))
    measured_through(done)
    runs = Store(tmp_path / "results").runs().set_index("congestion")
    assert set(runs.index) == set(GROUPS)
    for congestion, (_, begin) in GROUPS.items():
        source = runs.loc[congestion, "congestion_source"]
        assert source.startswith(begin), source
        assert "/" not in source, "both ends used the same"
        assert runs.loc[congestion, "goodput_MBps"] > 1
    mixed = runs.loc["wad+cubic", "congestion_source"]
    assert "increase_millionths 6000000, decrease_millionths 300000" in mixed
    assert " + kernel cubic (Linux " in mixed
    traces = Store(tmp_path / "results").rows("traces")
    assert set(traces["run_id"]) == set(runs["run_id"])
    wait_for(lambda: lists() == before, 20)


def test_the_check_before_a_study_says_which_stacks_there_are(tmp_path, machine_untouched):
    before = lists()
    content = study_with_stacks("stacks-checked")
    done = run_netlab("check", str(written(tmp_path / "checked.yml", content)))
    assert done.returncode == 0, done.stdout
    assert "ok    left: congestion control cubic: kernel cubic (Linux " in done.stdout
    assert "wad: bpf aimd 1 (netlab " in done.stdout
    content["groups"][0]["congestion"] = "vegas"
    done = run_netlab("check", str(written(tmp_path / "checked.yml", content)))
    assert done.returncode != 0
    assert "fail  left: left: no congestion control 'vegas' in its kernel" in done.stdout
    wait_for(lambda: lists() == before, 20)


def test_a_killed_controller_leaves_the_machines_stacks_as_they_were(tmp_path):
    """Controller, notebook kernel and all else but the agents are killed in the middle of runs."""
    content = study_with_stacks("stacks-killed")
    content["timing"] = {"rounds": 6, "seconds": 0.5, "warmup_s": 0.05, "interval_ms": 50}
    path = written(tmp_path / "killed.yml", content)
    before, machine = lists(), dumps.dump()
    lab = Lab.up(load(path))
    try:
        argv = (*NETLAB, "run", str(path), "--results", str(tmp_path / "results"))
        process = subprocess.Popen(
            argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            wait_for(lambda: len(lists()["available"]) >= len(before["available"]) + 6, 60)
            time.sleep(0.6)
            for pid in descendants(process.pid):
                # a tool of a moment may be gone by now
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    if b"gensink" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGKILL)
        finally:
            process.kill()
            process.wait(10)
        wait_for(lambda: lists() == before, 20)
    finally:
        lab.down()
    assert dumps.difference(machine, dumps.dump()) == {}


def descendants(pid: int) -> list[int]:
    """Process ids of all descendants, the farthest first."""
    found, todo = [], [pid]
    while todo:
        for task in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            try:
                ids = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += ids
            todo += ids
    return found[::-1]


def wait_for(condition, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, lists()
        time.sleep(0.02)
