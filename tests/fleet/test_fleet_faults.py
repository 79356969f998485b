"""Hosts of a fleet that die, hang, refuse keys or fill their disk, a network that goes away, and
kill -9 of Snakemake and of a job: blocks fail with the reason, and are measured later."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fleet_lab import FleetLab, call, fleet_lab
from test_fleet_on_a_lab import overlapping, runs

from netlab.fleet.events import read_events
from netlab.fleet.plan import read_plan

pytestmark = [pytest.mark.e2e, pytest.mark.beside, pytest.mark.root]

WAIT_S = 240
"""Timeout on a machine that is busy otherwise."""

REASONS = {
    # lost in a run, between two, or in a command before the first
    "n2": (("E-HOST-011", "E-HOST-023", "E-HOST-001"), "n2: "),
    "n4": (("E-HOST-020",), "no SSH session with n4"),
    "n6": (("E-HOST-027",), "no key or agent was accepted"),
    "n8": (("E-HOST-015",), "no space for the agent"),
}
"""Codes and words of what is recorded of each host."""


def events(lab: FleetLab, kind: str) -> list[dict]:
    return [event for event in read_events(lab.results / "fleet") if event["event"] == kind]


def until(condition: Callable[[], object], process: subprocess.Popen) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[1]
        time.sleep(0.02)


def serve(lab: FleetLab, name: str, line: str = "") -> None:
    """Have the host of a name run a command before its sshd; without one, as usual."""
    file = lab.state / f"{name}.sh"
    usual = file.with_suffix(".usual")
    if not usual.exists():
        usual.write_text(file.read_text())
    file.write_text(f"{line}\n{usual.read_text()}")


def die(lab: FleetLab, name: str) -> None:
    """End every process of a host but its guard, which reverts it, as a restart does."""
    serve(lab, name, "exit 255")
    for pid in call("ip", "netns", "pids", lab.space(name)).split():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() != "netlab-guard":
                os.kill(int(pid), signal.SIGKILL)


def measures(lab: FleetLab, name: str) -> bool:
    """True if a host has been tuned, which a run follows."""
    return lab.sysctl(name, "net.ipv4.tcp_sack") == "0"


@pytest.mark.timeout(600)
def test_hosts_that_fail_are_put_aside_by_their_reason_and_measured_once_they_are_well(tmp_path):
    with fleet_lab(tmp_path, 10, rounds=2) as lab:
        pairs = ("--pairs", "n1:n2,n3:n4,n5:n6,n7:n8,n9:n10", "--at-once", "5")
        serve(lab, "n4", "exec sleep 60")
        serve(lab, "n6", f"sed -i s/key.pub/no_key/ {lab.state}/n6.conf")
        full = f"mount -t tmpfs -o size=64k full {lab.state}/n8"
        serve(lab, "n8", f"{full}; mkdir -m 700 {lab.state}/n8/tmp")
        first = lab.run(*pairs, "--attempts", "1", "--aside-after", "1")
        until(lambda: measures(lab, "n2"), first)
        die(lab, "n2")
        _, complaint = first.communicate(timeout=WAIT_S)
        assert first.returncode == 1
        assert "2 of 10 jobs have a result" in complaint

        broken = set(REASONS)
        failed = events(lab, "job_failed")
        reasons = {event["hosts"][0]: event for event in failed if event["hosts"]}
        assert set(reasons) == broken
        for name, (code, words) in REASONS.items():
            assert reasons[name]["code"] in code, reasons[name]
            assert words in reasons[name]["message"]
        assert {event["host"] for event in events(lab, "host_put_aside")} == broken
        assert [event["code"] for event in failed].count("E-FLEET-030") == 4  # the second round

        (lab.state / "n6.conf").write_text((lab.state / "n5.conf").read_text().replace("n5", "n6"))
        for name in broken:
            serve(lab, name)
        second = lab.run(*pairs, "--retry-s", "1")
        _, complaint = second.communicate(timeout=WAIT_S)
        assert second.returncode == 0, complaint
        every_run_once(lab)


@pytest.mark.timeout(600)
def test_a_network_that_goes_away_and_kill_9_of_engine_and_job_lose_no_run(tmp_path):
    with fleet_lab(tmp_path, 4, rounds=2) as lab:
        process = lab.run("--at-once", "2", "--attempts", "6", "--retry-s", "1", "--batch-s", "0")
        until(lambda: measures(lab, "n2"), process)
        middle = ("ip", "-n", lab.space("mid"), "link", "set", "bridge")
        call(*middle, "down")
        until(lambda: events(lab, "job_failed"), process)
        call(*middle, "up")
        until(lambda: len(events(lab, "job_done")) >= 2, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        os.kill(int(children.split()[0]), signal.SIGKILL)  # Snakemake
        started = len(events(lab, "job_started"))
        until(lambda: len(events(lab, "job_started")) > started, process)
        os.kill(events(lab, "job_started")[-1]["pid"], signal.SIGKILL)
        _, complaint = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, complaint
        assert len(events(lab, "pass_started")) >= 3
        assert not any(event["hosts"] for event in events(lab, "job_failed"))
        every_run_once(lab)


def every_run_once(lab: FleetLab) -> None:
    """Every run of the plan is there once, none of a host overlaps, and every host is as found."""
    rows, plan = runs(lab), read_plan(lab.results)
    assert not list(plan.remaining())
    assert len(rows) == len(plan.jobs) * 2 and not rows.duplicated(["pair", "run_id"]).any()
    assert overlapping(rows) == []
    done = [event["job"] for event in events(lab, "job_done")]
    assert len(done) == len(set(done)) == len(plan.jobs)
    assert {lab.sysctl(name, "net.ipv4.tcp_sack") for name in lab.names} == {"1"}
    assert lab.processes() == []
