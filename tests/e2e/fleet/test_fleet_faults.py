"""Hosts of a fleet that die, hang, refuse keys or fill their disk: their blocks fail with the
reason, and are measured later."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest
from fleet_lab import FleetLab, call, fleet_lab
from test_fleet_on_a_lab import WAIT_S, overlapping, runs, until

from netlab.fleet.job import read_events
from netlab.fleet.plan import read_plan

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
