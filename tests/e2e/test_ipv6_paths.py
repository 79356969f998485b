"""Paths of IPv6 alone: link-local addresses of two cards with other names, and other generators."""

from __future__ import annotations

from e2e.faults.fault_site import ADDRESSES, ADDRESSES_6, Site

from netlab.results.store import Store

STUDY = """\
netlab: 1
name: six
title: Hosts without IPv4 on their path
hosts:
  a: {{kind: ssh, address: "{a[0]}", user: root, identity_file: {state}/key}}
  b: {{kind: ssh, address: "{b[0]}", user: root, identity_file: {state}/key}}
paths:
  cable:
    ends:
      - {{host: a, address: "{a[2]}", interface: data0}}
      - {{host: b, address: "{b[2]}", interface: CARD}}
groups: GROUPS
streams: [2]
timing: {{rounds: 1, seconds: 0.5}}
noise: {{steal_percent: 100, foreign_cpu_percent: 100, retries: 0, wait: 0}}
"""
PACED = "socket: {{pacing_MBps: 5}}\n"
CABLE = {
    "a": (*ADDRESSES["a"][:2], "fe80::a"),
    "b": (*ADDRESSES["b"][:2], "fe80::b%data0"),  # as copied from one of the hosts
}


def study(*groups: str, card: str = "data0", more: str = "") -> str:
    listed = ", ".join(f"{{{{{group}}}}}" for group in groups)
    return STUDY.replace("GROUPS", f"[{listed}]").replace("CARD", card) + more


def measured(site: Site) -> list[dict]:
    code, said = site.check()
    assert code == 0, said
    code, said = site.finished(site.start("run", str(site.study), "--results", str(site.results)))
    assert code in (0, 4), said  # 4: a thread that waited for a CPU on this machine
    return Store(site.results).runs().to_dict("records")


class NamedOtherwise(Site):
    """The cable is `data0` of a and `cable0` of b, without another address than its own."""

    def up(self) -> None:
        super().up()
        self.ip("b", "link set data0 down")
        self.ip("b", "link set data0 name cable0")
        self.ip("b", "link set cable0 up")
        self.give("b", "cable0", "fe80::b", host_bits=64)

    def give(self, name: str, interface: str, address: str, host_bits: int) -> None:
        super().give(name, interface, address.partition("%")[0], host_bits)


def test_a_cable_with_link_local_addresses_is_checked_and_measured(tmp_path):
    groups = (
        "name: both, path: cable, sender: a, direction: '<->'",
        "name: datagrams, path: cable, sender: b, generator: udp",
    )
    more = f"{PACED}latency: {{{{probe: both}}}}\n"
    with NamedOtherwise(tmp_path, CABLE, study(*groups, card="cable0", more=more)) as site:
        rows = {row["group"]: row for row in measured(site)}
    assert all(row["flags"] != "failed" for row in rows.values()), rows
    assert rows["both"]["ledger_error_B"] == 0 and rows["both"]["goodput_reverse_MBps"] > 0
    assert rows["both"]["rtt_loaded_p50_us"] > 0 and rows["both"]["ping_avg_ms"] > 0
    assert rows["datagrams"]["received_datagrams"] > 0


def test_init_finds_a_cable_that_has_link_local_addresses_alone(tmp_path):
    with NamedOtherwise(tmp_path, CABLE) as site:
        hosts = [f"root@{management}" for management, _, _ in site.addresses.values()]
        words = (*hosts, "--identity-file", str(site.state / "key"), "-o", "found.yml")
        out, complaint = site.start("init", *words).communicate(timeout=240)
        assert "a study of left data0 (fe80::a) and right cable0 (fe80::b)" in out, out + complaint
        site.study = site.state / "found.yml"
        code, said = site.check()
    assert code == 0 and "packets of 1500 B pass both ways" in said, said


def test_a_peer_measures_a_cable_with_link_local_addresses(tmp_path):
    group = "name: one, path: cable, sender: b, generator: iperf3"
    with NamedOtherwise(tmp_path, CABLE, study(group, card="cable0")) as site:
        (row,) = measured(site)
    assert row["flags"] != "failed" and row["goodput_MBps"] > 0, row["message"]


def test_peers_measure_a_path_of_ipv6(tmp_path):
    names = ("iperf2", "nuttcp")
    groups = [f"name: {name}, path: cable, sender: a, generator: {name}" for name in names]
    with Site(tmp_path, ADDRESSES_6, study(*groups)) as site:
        rows = measured(site)
    assert {row["group"] for row in rows} == {*names}
    for row in rows:
        assert row["flags"] != "failed" and row["goodput_MBps"] > 0, row["message"]
