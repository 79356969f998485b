"""No setting of a host stays changed after Ctrl-C, kill -9 or a lost agent."""

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
from netlab.study import load
from tests.e2e import dumps
from tests.e2e.conftest import NETLAB, ROOT, small_study

pytestmark = [pytest.mark.e2e, pytest.mark.beside]

SETTLE_S = 20.0


@pytest.fixture
def lab_study(tmp_path: Path):
    """A study and its lab, which is up before and after, so that its hosts can be compared."""
    content = small_study("killed")
    content["timing"] = {"rounds": 6, "seconds": 0.4, "warmup_s": 0.05, "interval_ms": 50}
    path = tmp_path / "killed.yml"
    path.write_text(yaml.safe_dump(content))
    lab = Lab.up(load(path))
    try:
        yield path, lab
    finally:
        lab.down()


def hosts_dump(lab: Lab) -> dict[str, dict[str, str]]:
    """A dump of each host of the lab."""
    return {name: dumps.dump(lab.namespace(name)) for name in lab.hosts}


def differences(before: dict, lab: Lab) -> dict:
    """Differences on each host of the lab."""
    after = hosts_dump(lab)
    found = {name: dumps.difference(before[name], after[name]) for name in before}
    return {name: lines for name, lines in found.items() if lines}


def is_tuned(lab: Lab) -> bool:
    """True if a tuning is applied on a host right now: 2003's tunings all set tcp_rmem."""
    argv = ("ip", "netns", "exec", lab.namespace("left"), "sysctl", "-n", "net.ipv4.tcp_rmem")
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return text.split() in (["4096", "87380", "174760"], ["10000000", "10000000", "10000000"])


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


def command_of(pid: int) -> bytes:
    """Its command line, empty when it is gone: a tool of a moment may be."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def kill(pid: int) -> None:
    """Kill a process unless it is gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("how", "delay_s"),
    [
        ("SIGINT", 0.0),
        ("SIGKILL", 0.0),
        ("SIGKILL", 0.7),
        ("SIGKILL", 2.3),
        ("SIGKILL controller only", 0.4),
    ],
)
def test_a_killed_controller_leaves_every_host_as_it_was(lab_study, tmp_path, how, delay_s):
    """Dumps of every host and of the machine are equal before and after."""
    path, lab = lab_study
    machine, before = dumps.dump(), hosts_dump(lab)
    argv = (*NETLAB, "run", str(path), "--results", str(tmp_path / "results"))
    process = subprocess.Popen(
        argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        assert wait_until(lambda: is_tuned(lab), 40), "the study never tuned a host"
        time.sleep(delay_s)
        assert differences(before, lab), "no setting was changed, so a revert is not tested"
        if how == "SIGINT":
            os.killpg(process.pid, signal.SIGINT)
        elif how == "SIGKILL":
            for pid in [process.pid, *children_of(process.pid)]:
                command = command_of(pid)
                if command and b"gensink" not in command and b"sshd" not in command:
                    kill(pid)
        else:
            os.kill(process.pid, signal.SIGKILL)
            for pid in children_of(process.pid):
                if b"ipykernel" in command_of(pid):
                    kill(pid)
    finally:
        if how == "SIGINT":
            process.wait(30)
            assert process.returncode == 130, process.stderr.read()
        else:
            process.wait(10)
    assert wait_until(lambda: not differences(before, lab), SETTLE_S), differences(before, lab)
    assert dumps.difference(machine, dumps.dump()) == {}
    left = [pid for name in lab.hosts for pid in _processes(lab, name)]
    assert wait_until(lambda: not [p for n in lab.hosts for p in _processes(lab, n)], 5), left


def _processes(lab: Lab, host: str) -> list[int]:
    argv = ("ip", "netns", "pids", lab.namespace(host))
    return [int(word) for word in subprocess.run(argv, capture_output=True).stdout.split()]
