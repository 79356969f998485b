"""Hosts over SSH that send to one at once: the port of its switch is what they share."""

from __future__ import annotations

import json
import os
import signal

import pytest
from e2e.faults.fault_site import ADDRESSES, Site, run
from waiting import until

from netlab.results.store import Store

HOSTS = {**ADDRESSES, "c": ("192.0.2.10", "192.0.2.9", "198.18.0.3")}
PORT_MBPS, PACE_MBps = 40, 1.0
LATE = 1.5
"""A bucket of tokens and late reads show more than a port carried."""

STUDY = """\
netlab: 1
name: incast
title: Two hosts send to one
hosts:
  a: {{kind: ssh, address: {a[0]}, user: root, identity_file: {state}/key}}
  b: {{kind: ssh, address: {b[0]}, user: root, identity_file: {state}/key}}
  c: {{kind: ssh, address: {c[0]}, user: root, identity_file: {state}/key}}
paths:
  port:
    ends:
      - {{host: a, address: {a[2]}, interface: data0}}
      - {{host: b, address: {b[2]}, interface: data0}}
    also:
      - {{host: c, address: {c[2]}, interface: data0}}
    link_MBps: 5
groups:
  - name: incast
    path: port
    sender: a
    flows: [{{pacing_MBps: 1.0, count: 1}}, {{from: c, count: 2}}]
tunings:
  - name: big
    mtus_B: [1400]
    knobs: [{{kind: sysctl, name: net.ipv4.tcp_sack, value: 0}}]
streams: [3]
timing: {{warmup_s: 1}}
noise: {{steal_percent: 100, foreign_cpu_percent: 100, retries: 0, wait: 0}}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("incast"), HOSTS, STUDY) as site:
        shape = f"tbf rate {PORT_MBPS}mbit burst 20kb limit 100kb"
        run(
            "tc",
            "-n",
            site.namespaces["mid"],
            "qdisc",
            "add",
            "dev",
            "to-b",
            "root",
            *shape.split(),
        )
        yield site


def test_hosts_that_share_a_port_are_checked_measured_and_reverted(site):
    before = site.dump()
    code, out = site.check()
    assert code == 0 and "ok    c: data0 carries 198.18.0.3" in out, out
    assert "packets of 1400 B pass both ways" in out and site.dump() == before
    code, complaint = site.finished(site.measure())
    (row,) = Store(site.results).runs().to_dict("records")
    assert site.dump() == before
    assert row["ledger_error_B"] == 0 and row["foreign_traffic_percent"] == 0, complaint
    assert not {"failed", "ledger_mismatch", "tuning_drift"} & set(row["flags"].split(","))
    assert 0 < row["goodput_MBps"] < LATE * PORT_MBPS / 8
    assert (row["link_MBps"], row["ceiling_kind"]) == (5, "link")
    assert {of["net.ipv4.tcp_sack"] for of in json.loads(row["knobs"]).values()} == {"0"}
    assert [flow["from"] for flow in json.loads(row["flows"])] == ["a", "c"]
    samples = Store(site.results).rows("intervals")
    of_stream = samples[samples["in_window"]].groupby("stream")["bytes"].sum()
    # the paced one leaves the rest of the port to the two others
    assert 0 < of_stream[0] < LATE * PACE_MBps * 3e6
    assert of_stream[1] + of_stream[2] > of_stream[0]


def test_every_host_is_reverted_after_the_controller_is_killed(site):
    before = site.dump()
    process = site.measure(seconds=60)
    until(lambda: all(site.processes(name, " tune ") for name in HOSTS), 120)
    until(lambda: all("mtu 1400" in run(*_links(site, name)) for name in HOSTS), 120)
    os.killpg(process.pid, signal.SIGKILL)
    site.finished(process)
    for name in HOSTS:
        until(lambda name=name: not site.processes(name))
    assert site.dump() == before


def _links(site: Site, name: str) -> tuple[str, ...]:
    return ("ip", "-n", site.namespaces[name], "link", "show", "data0")


def test_a_sender_that_cannot_reach_the_receiver_is_named(site):
    """Its streams do not connect, and those of the other one wait for them."""
    route = ("ip", "route", "replace", "unreachable", f"{HOSTS['b'][2]}/32")
    run(*site.inside("c", *route))
    try:
        _, complaint = site.finished(site.measure(seconds=1))
    finally:
        run(*site.inside("c", "ip", "route", "del", *route[3:]))
    assert "c: connect to 198.18.0.2 port " in complaint
