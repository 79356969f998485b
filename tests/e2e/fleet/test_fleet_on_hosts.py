"""Hosts of a fleet that die, hang, refuse keys or fill their disk, on a network that goes away:
their jobs fail with the reason, and every run is there once in the end."""

from __future__ import annotations

import contextlib
import os
import signal
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from e2e.faults.fault_site import Site, run, until
from notebook_page import executed_page

from netlab.fleet.events import read_events
from netlab.fleet.plan import read_plan
from netlab.results.store import Store

WAIT_S = 240
"""Timeout on a machine that is busy otherwise."""
HOSTS = {
    f"n{number}": (
        *(f"192.0.2.{4 * number + 2}", f"192.0.2.{4 * number + 1}"),
        f"198.18.0.{number}",
    )
    for number in range(1, 11)
}
PAIRS = "n1:n2,n3:n4,n5:n6,n7:n8,n9:n10,n9:n1"
JOBS = 2 * 6
STUDY = """\
netlab: 1
name: paced
title: A paced stream over every pair
hosts: {left: {kind: lab}, right: {kind: lab}}
paths: {cable: {ends: [{host: left}, {host: right}]}}
groups:
  - {name: there, path: cable, sender: left}
  - {name: back, path: cable, sender: right}
tunings:
  - name: sack-off
    mtus_B: [1500]
    knobs: [{kind: sysctl, name: net.ipv4.tcp_sack, value: 0}]
streams: [1]
socket: {pacing_MBps: 20}
noise: {steal_percent: 100, foreign_cpu_percent: 100, retries: 0}
timing: {rounds: 2, seconds: 0.3, warmup_s: 0.1, interval_ms: 50}
"""
REASONS = {
    # lost in a run, between two, or in a command before the first
    "n2": (("E-HOST-011", "E-HOST-023", "E-HOST-001"), "n2: "),
    "n4": (("E-HOST-053",), "192.0.2.18 sent no SSH banner"),
    "n6": (("E-HOST-027",), "no key or agent was accepted"),
    "n8": (("E-HOST-015",), "no space for the agent"),
}
"""Codes and words of what is recorded of each host that fails."""


def events(site: Site, kind: str) -> list[dict]:
    return [event for event in read_events(site.results / "fleet") if event["event"] == kind]


def sack(site: Site, name: str) -> str:
    """A setting of a host, 0 while it is tuned, which a run follows."""
    return run(*site.inside(name, "sysctl", "-n", "net.ipv4.tcp_sack")).strip()


def die(site: Site, name: str) -> None:
    """End every process of a host but its guard, which reverts it, as a restart does."""
    for pid in site.pids(name):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() != "netlab-guard":
                os.kill(pid, signal.SIGKILL)


def fleet(site: Site, *words: str) -> tuple[str, str]:
    process = site.start("fleet", *words)
    out, complaint = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, complaint
    return out, complaint


def overlapping(rows: pd.DataFrame) -> list[str]:
    """Runs of a host that began before the one before it was over."""
    began_s = rows["started_at"].map(lambda time: time.timestamp())
    rows = rows.assign(began_s=began_s).sort_values("began_s")
    wrong = []
    for host in HOSTS:
        own = rows[[host in pair for pair in rows["pair"]]]
        wrong += [
            late.run_id
            for early, late in pairwise(own.itertuples())
            if late.began_s < early.began_s + early.window_s
        ]
    return wrong


def hang_at(command: str) -> str:
    """Words of a shell in a session: a command with this text never begins, and says nothing."""
    return f'case "$SSH_ORIGINAL_COMMAND" in *{command}*) exec sleep 1000;; esac'


def inventoried(site: Site) -> tuple[str, ...]:
    """Words of `netlab fleet run` for the hosts of an SSH configuration."""
    inventory = site.state / "home" / ".ssh" / "config"
    login = f"\n    User root\n    IdentityFile {site.state}/key\n"
    aliases = (f"Host {name}\n    HostName {where[0]}{login}" for name, where in HOSTS.items())
    inventory.write_text("".join(aliases))
    return str(site.study), "--inventory", str(inventory), "--results", str(site.results)


@pytest.mark.timeout(900)
def test_hosts_that_hang_in_any_step_hold_up_no_other(tmp_path):
    """One as its agent is looked for, one as that starts, one as it is tuned, one in a run."""
    study = STUDY.replace("rounds: 2, seconds: 0.3", "rounds: 1, seconds: 3")
    with Site(tmp_path, HOSTS, study.replace("{", "{{").replace("}", "}}")) as site:
        words = ("run", *inventoried(site), "--pairs", PAIRS)
        site.wrap("n2", hang_at("gensink"))
        site.wrap("n4", hang_at('" agent"'))
        site.wrap("n6", hang_at('" tune "'))
        first = site.start(
            "fleet", *words, "--at-once", "4", "--attempts", "1", "--skip-after", "1"
        )
        until(lambda: sack(site, "n8") == "0", WAIT_S)
        stopped = site.harm("n8", "agent", signal.SIGSTOP)
        code, complaint = site.finished(first, 2 * WAIT_S)
        assert code == 1
        failed = events(site, "job_failed")
        assert sorted(event["job"].split("/")[0] for event in failed) == [
            *("n1~n2", "n3~n4", "n5~n6", "n7~n8")
        ], complaint
        blamed = {host for event in failed for host in event["hosts"]}
        # either end may be the first that does not answer in a run, so that none is blamed
        assert {"n2", "n4", "n6"} <= blamed <= {"n2", "n4", "n6", "n8"}, failed
        done = {event["job"].split("/")[0] for event in events(site, "job_done")}
        assert done == {"n9~n10", "n9~n1"}

        with contextlib.suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGCONT)
        for name in ("n2", "n4", "n6"):
            site.wrap(name)
        fleet(site, *words, "--retry-s", "1")
        assert not list(read_plan(site.results).remaining())
        assert {sack(site, name) for name in HOSTS} == {"1"}


@pytest.mark.timeout(600)
def test_hosts_and_a_network_that_fail_lose_no_run_and_every_run_is_there_once(tmp_path):
    with Site(tmp_path, HOSTS, STUDY.replace("{", "{{").replace("}", "}}")) as site:
        words = ("run", *inventoried(site), "--pairs", PAIRS, "--at-once", "6")

        site.servers["n4"].send_signal(signal.SIGSTOP)
        (site.state / "n6" / "authorized_keys").write_text("")
        cache = site.state / "n8" / "cache"
        cache.mkdir()
        site.serve("n8", f"mount -t tmpfs -o size=64k full {cache}; exec")
        first = site.start("fleet", *words, "--attempts", "1", "--skip-after", "1")
        until(lambda: sack(site, "n2") == "0", WAIT_S)
        die(site, "n2")
        code, complaint = site.finished(first, WAIT_S)
        assert code == 1
        assert f"4 of {JOBS} jobs have a result" in complaint
        failed = events(site, "job_failed")
        reasons = {event["hosts"][0]: event for event in failed if event["hosts"]}
        assert set(reasons) == set(REASONS)
        for name, (codes, reason) in REASONS.items():
            assert reasons[name]["code"] in codes, reasons[name]
            assert reason in reasons[name]["message"]
        assert {event["host"] for event in events(site, "host_put_aside")} == set(REASONS)
        assert [event["code"] for event in failed].count("E-FLEET-030") == 4  # the second round

        site.wrap("n6")
        for name in REASONS:
            site.serve(name)
        more = ("--attempts", "6", "--retry-s", "1", "--batch-s", "0")
        second = site.start("fleet", *words, *more)
        until(lambda: sack(site, "n4") == "0", WAIT_S)
        site.ip("mid", "link set bridge down")
        until(lambda: len(events(site, "job_failed")) > len(failed), WAIT_S)
        site.ip("mid", "link set bridge up")
        out, complaint = second.communicate(timeout=WAIT_S)
        assert second.returncode == 0, complaint
        assert out.strip() == str(site.results)
        assert not any(event["hosts"] for event in events(site, "job_failed")[len(failed) :])

        plan = read_plan(site.results)
        assert len(plan.jobs) == JOBS and not list(plan.remaining())
        found = [(pair, Store(plan.pair_directory(pair)).runs()) for pair in plan.pairs]
        rows = pd.concat([runs.assign(pair=[pair] * len(runs)) for pair, runs in found])
        assert len(rows) == 2 * JOBS and not rows.duplicated(["pair", "run_id"]).any()
        assert overlapping(rows) == []
        good = rows[rows["flags"] == ""]
        # no load is flagged here, and one can take most of a window of 0.3 s
        assert (good["goodput_MBps"] > 0).all() and 5 < good["goodput_MBps"].median() < 30
        done = [event["job"] for event in events(site, "job_done")]
        assert len(done) == len(set(done)) == JOBS
        assert {sack(site, name) for name in HOSTS} == {"1"}
        for name in HOSTS:
            until(lambda name=name: not site.processes(name))
        leases = [file.read_text() for file in site.state.glob("n*/cache/netlab/lease-*")]
        numbers = {str(event["number"]) for event in events(site, "campaign_started")}
        assert {text.split()[0] for text in leases} == numbers and len(leases) == len(HOSTS)

        into = ("--csv", "cells.csv", "--chart", "matrix.svg")
        listed, complaint = fleet(site, "links", str(site.results), *into)
        count = len(good[["sender", "receiver"]].drop_duplicates())
        assert listed.count(" -> ") == min(count, 10) > 0, complaint
        cells = pd.read_csv(site.state / "cells.csv")
        assert len(cells) == count and cells["runs"].sum() == len(good)
        assert (site.state / "matrix.svg").read_text().startswith("<svg ")
        status, _ = fleet(site, "status", str(site.results))
        assert f"{JOBS} of {JOBS} jobs done" in status
        assert all(name in status for name in HOSTS)
    page = executed_page("21-fleet", tmp_path, results=site.results)
    assert f"Of {count} links of {len(HOSTS)} hosts the slowest, n" in page
    assert page.count("<svg") + page.count("svg+xml") == 3
    assert f"{JOBS} of {JOBS} jobs done" in page
    assert all(f">{name}</th>" in page for name in HOSTS)
