"""Runs by other tools on lab paths: they agree, faults are failed runs, no process stays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from e2e.conftest import run_netlab
from e2e.generator_study import GENERATORS, study_of
from measure.scripted import request
from waiting import until

from netlab.errors import HostError, RunError
from netlab.experiment.endpoint import open_endpoints
from netlab.generators import run_trial, tool_named
from netlab.hosts.opening import close_hosts
from netlab.lab.lab import Lab
from netlab.lab.reaper import processes_in
from netlab.measure.exchange import RunEnd
from netlab.results.store import Store
from netlab.study import Study


def measured(content: dict, tmp_path: Path):
    path = tmp_path / "study.yml"
    path.write_text(yaml.safe_dump(content))
    checked = run_netlab("check", str(path))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for host in ("left", "right"):
        for said in ("iperf3: iperf 3", "iperf2: iperf version 2", "nuttcp: nuttcp-"):
            assert f"{host}: {said}" in checked.stdout
    done = run_netlab("run", str(path), "--results", str(tmp_path / "results"), timeout_s=280)
    # 1: on a busy machine netlab fails a run whose streams ended early; the others are looked at
    assert done.returncode in (0, 1, 4), done.stderr
    return Store(tmp_path / "results")


def test_the_same_columns_are_stored_whoever_sends_one_way_or_both(tmp_path, machine_untouched):
    content = study_of(streams=(4,), warmup_s=0.4)
    content["groups"] += [
        {**group, "name": f"{group['name']}, both ways", "direction": "<->"}
        for group in content["groups"]
    ]
    store = measured(content, tmp_path)
    runs = store.runs()
    assert len(runs) == 16 and set(runs["generator"]) == set(GENERATORS)
    # netlab fails a run of its own whose streams ended before the window, as on a busy machine
    made = runs[~runs["flags"].str.contains("failed")]
    for row in made[made["direction"] == "<->"].itertuples():  # two transfers at the same time
        assert row.goodput_forward_MBps > 0 and row.goodput_reverse_MBps > 0
        both = row.goodput_forward_MBps + row.goodput_reverse_MBps
        assert both == pytest.approx(row.goodput_MBps)
    tools = runs[runs["generator"] != "netlab"]
    messages = [f"{run.group}: {run.message}" for run in tools.itertuples() if run.message]
    assert not tools["flags"].str.contains("failed|lost_host").any(), "; ".join(messages)
    columns = ["generator_version", "sent_B", "received_B", "window_B", "interface_rx_B"]
    columns += ["interval_sum_B", "header_share", "interface_drops", "softnet_drops", "mss_B"]
    columns += ["sender_cpu_percent", "receiver_cpu_percent", "foreign_cpu_percent", "agent_cpu_s"]
    columns += ["interrupts_per_s", "percent_of_ceiling", "bottleneck"]
    assert tools[columns].notna().all().all(), tools[columns].isna().sum()
    assert tools[["acked_B", "busy_share"]].isna().all().all()
    assert not tools["flags"].str.contains("ledger_mismatch").any(), "; ".join(messages)
    assert (tools["header_share"] > 0).all() and (tools["header_share"] < 0.1).all()
    assert (tools["agent_cpu_s"] > 0).all() and (tools["warmup_s"] >= 0.38).all()
    intervals = store.intervals()
    for row in tools.itertuples():
        called = json.loads(row.provenance)["generator"]
        assert called["versions"] == dict.fromkeys(("left", "right"), row.generator_version)
        samples = intervals[intervals["run_id"] == row.run_id]
        assert samples["bytes"].sum() == row.interval_sum_B
        assert samples.loc[samples["in_window"], "bytes"].sum() == row.window_B


@pytest.fixture(scope="module")
def path():
    """Endpoints of a path, and a check that nothing was left in their namespaces.

    A host's sshd takes a moment to end the processes of a session.
    """
    study = Study.model_validate(study_of())
    with Lab.up(study, owned=True) as lab:
        names = [lab.namespace(host) for host in ("left", "right")]
        with open_endpoints(study, "cable", lab=lab) as endpoints:
            before = set(processes_in(names))

            def check_nothing_left():
                until(lambda: not set(processes_in(names)) - before, every_s=0.1)

            yield endpoints, check_nothing_left
            check_nothing_left()


REQUEST = request(
    streams=1, record_length_B=131072, force_buffer=False, warmup_ms=100, window_ms=300
)


LONG = replace(REQUEST, window_ms=20_000)
"""Of a run that a fault ends."""


def made(tool, endpoints, spoiled=None, request=REQUEST):
    sides = [
        RunEnd(name, endpoint.agent, endpoint.address, endpoint.interface, 0, 0)
        for name, endpoint in endpoints.items()
    ]
    hosts = {name: endpoint.host for name, endpoint in endpoints.items()} | (spoiled or {})
    versions = dict.fromkeys(hosts, "some version")
    how = {"mtu_B": 1500, "with_controller": ("left", "right")}
    return run_trial(tool, *sides, request, hosts=hosts, versions=versions, **how)


class Spoiled:
    """A host on which a program and its arguments are another command, and what follows it."""

    def __init__(self, host, script: str, then=lambda: None):
        self._host, self._script, self._then = host, script, then
        self.name = host.name

    def start(self, argv, **more):
        argv = tuple(argv)
        if "iperf3" not in argv:
            return self._host.start(argv, **more)
        at = argv.index("iperf3")
        process = self._host.start((*argv[:at], "sh", "-c", self._script, *argv[at:]), **more)
        self._then()
        return process


def test_every_fault_of_a_tool_is_a_failed_run_and_leaves_nothing(path):
    (endpoints, check_nothing_left), iperf3 = path, tool_named("iperf3")
    faults = {
        "killed": ("left", LONG, '"$0" "$@" & sleep 0.3; kill -9 $!; wait $!', "by signal 9"),
        "damaged": ("left", REQUEST, '"$0" "$@" | head -c 700', "printed damaged output"),
        "server killed": (
            "right",
            LONG,
            # as data flow: beside other tests it may take long to listen
            '"$0" "$@" & until grep -q " 01 " /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done\n'
            "sleep 0.2; kill -9 $!; wait $!",
            r"iperf3's (client on left: exit status 1|server on right: was ended by signal 9)",
        ),
    }
    for host, asked, script, message in faults.values():
        spoiled = {host: Spoiled(endpoints[host].host, script)}
        with pytest.raises(RunError, match=message):
            made(iperf3, endpoints, spoiled, asked)
        check_nothing_left()
    assert made(iperf3, endpoints).outcome.flows[0].sink["total_bytes"] > 1_000_000


def test_nuttcp_runs_what_its_route_says_and_the_route_is_gone(path):
    endpoints, _ = path
    host, peer = endpoints["left"].host, endpoints["right"].address
    routes = host.run(("ip", "route", "show", peer)).stdout
    run = made(tool_named("nuttcp"), endpoints)
    assert run.outcome.flows[0].sink["total_bytes"] > 1_000_000
    assert host.run(("ip", "route", "show", peer)).stdout == routes
    assert "congctl" not in routes


def test_a_sender_that_is_lost_in_mid_run_is_a_lost_host(path):
    """The last test on the path."""
    endpoints, _ = path
    left = endpoints["left"].host
    lost = Spoiled(left, 'exec "$0" "$@"', then=lambda: close_hosts({"left": left}))
    with pytest.raises(HostError) as caught:
        made(tool_named("iperf3"), endpoints, {"left": lost}, LONG)
    assert caught.value.host == "left"
