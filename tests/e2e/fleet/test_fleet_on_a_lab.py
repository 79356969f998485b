"""A fleet of hosts in namespaces, measured over SSH through a network that goes away."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import pandas as pd
import pytest
from fleet_lab import FleetLab, call, fleet_lab
from notebook_page import executed_page

from netlab.fleet.job import read_events
from netlab.fleet.plan import read_plan
from netlab.results.store import Store

HOSTS, ROUNDS = 4, 2
WAIT_S = 240
"""Timeout on a machine that is busy otherwise."""


def until(condition: Callable[[], object], process: subprocess.Popen) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[1]
        time.sleep(0.02)


def runs(lab: FleetLab) -> pd.DataFrame:
    """The runs that count, of all pairs."""
    plan = read_plan(lab.results)
    found = []
    for pair in plan.pairs:
        rows = Store(plan.pair_directory(pair)).runs()
        found.append(rows.assign(pair=[pair] * len(rows)))
    return pd.concat(found, ignore_index=True)


def overlapping(rows: pd.DataFrame) -> list[str]:
    """Runs of a host that began before the one before it was over."""
    wrong = []
    for host in {name for pair in rows["pair"] for name in pair}:
        own = rows[[host in pair for pair in rows["pair"]]]
        began = own["started_at"].map(lambda time: time.timestamp())
        own = own.assign(began_s=began).sort_values("began_s")
        ends = own["began_s"] + own["window_s"]
        late = own["began_s"].iloc[1:].to_numpy() < ends.iloc[:-1].to_numpy()
        wrong += list(own["run_id"].iloc[1:][late])
    return wrong


@pytest.mark.timeout(600)
def test_a_network_that_goes_away_loses_no_run_and_every_run_is_there_once(tmp_path):
    with fleet_lab(tmp_path, HOSTS, rounds=ROUNDS) as lab:
        how = ("--at-once", "2", "--attempts", "6", "--retry-s", "1", "--batch-s", "0")
        first, folder = lab.run(*how), lab.results / "fleet"
        middle = ("ip", "-n", lab.space("mid"), "link", "set", "bridge")
        until(lambda: lab.sysctl("n2", "net.ipv4.tcp_sack") == "0", first)
        call(*middle, "down")
        until(lambda: any(e["event"] == "job_failed" for e in read_events(folder)), first)
        call(*middle, "up")
        out, complaint = first.communicate(timeout=WAIT_S)
        assert first.returncode == 0, complaint
        assert out.strip() == str(lab.results)
        rows = runs(lab)
        assert len(rows) == HOSTS * ROUNDS * 2
        assert not rows.duplicated(["pair", "run_id"]).any()
        good = rows[rows["flags"] == ""]
        # no load is flagged here, and one can take most of a window of 0.3 s
        assert good["goodput_MBps"].between(0.1, 30).all(), rows["goodput_MBps"]
        assert good["goodput_MBps"].median() > 5, rows["goodput_MBps"]
        assert overlapping(rows) == []
        events = list(read_events(folder))
        done = [event["job"] for event in events if event["event"] == "job_done"]
        assert len(done) == len(set(done)) == HOSTS * ROUNDS
        assert {lab.sysctl(name, "net.ipv4.tcp_sack") for name in lab.names} == {"1"}
        assert lab.processes() == []
        leases = [file.read_text() for file in lab.state.glob("n*/netlab/lease-*")]
        numbers = [event["number"] for event in events if event["event"] == "campaign_started"]
        assert {text.split()[0] for text in leases} == {str(*numbers)} and len(leases) == HOSTS
        assert not any(e["hosts"] for e in events if e["event"] == "job_failed")

        words = ("links", str(lab.results), "--csv", "cells.csv", "--chart", "matrix.svg")
        listed, complaint = lab.start(*words).communicate(timeout=WAIT_S)
        count = len(good[["sender", "receiver"]].drop_duplicates())
        assert listed.count(" -> ") == count > 0, complaint
        cells = pd.read_csv(lab.state / "cells.csv")
        assert len(cells) == count and cells["runs"].sum() == len(good)
        assert (lab.state / "matrix.svg").read_text().startswith("<svg ")

        status, _ = lab.start("status", str(lab.results)).communicate(timeout=WAIT_S)
        assert f"{HOSTS * ROUNDS} of {HOSTS * ROUNDS} jobs done" in status
        for name in lab.names:
            assert name in status
    page = executed_page("21-fleet", tmp_path, results=lab.results)
    assert f"Of {count} links of {HOSTS} hosts the slowest, n" in page
    assert page.count("<svg") + page.count("svg+xml") == 2
    assert f"{HOSTS * ROUNDS} of {HOSTS * ROUNDS} jobs done" in page
    assert all(f">{name}</th>" in page for name in lab.names)
