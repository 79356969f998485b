"""What netlab says of one host under two names, an address of lo, and datagrams of any size."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from e2e.faults.fault_site import Site, run

from netlab.results.store import Store
from netlab.study import load


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("hosts")) as site:
        yield site


def netlab(site: Site, *words: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    process = site.start(*words)
    out, complaint = process.communicate(timeout=240)
    return process.returncode, out + complaint


def both(site: Site, *words: str) -> tuple[int, str]:
    """`netlab init` of both hosts, by their SSH names."""
    names = (f"root@{management}" for management, _, _ in site.addresses.values())
    key = ("--identity-file", str(site.state / "key"))
    return netlab(site, "init", *names, *key, "-o", "found.yml", "--force", *words)


def datagrams(site: Site, group: dict, **changes: object) -> str:
    """A study of the hosts that sends datagrams; its file."""
    content = yaml.safe_load(site.study.read_text())
    content |= {"name": "datagrams", "tunings": [{"name": "as-found"}]}
    content |= {"socket": {"pacing_MBps": 5}, "timing": {"rounds": 1, "seconds": 0.3}}
    content["groups"] = [{"name": "only", "path": "cable", "sender": "a", "generator": "udp"}]
    content["groups"][0] |= group
    file = site.state / "datagrams.yml"
    file.write_text(yaml.safe_dump(content | changes, sort_keys=False))
    return str(file)


def test_two_names_of_one_host_are_said_to_be_one(site):
    """Two blocks of the user's configuration lead to one sshd."""
    (site.state / "home" / ".ssh" / "config").write_text(
        f"Host other\n  HostName {site.addresses['a'][0]}\n"
    )
    site.ip("a", "addr add 198.18.0.9/24 dev data0")
    try:
        key = ("--identity-file", str(site.state / "key"))
        names = (f"root@{site.addresses['a'][0]}", "root@other")
        data = ("--data", "198.18.0.1", "198.18.0.9")
        code, printed = netlab(site, "init", *names, *key, *data, "-o", "one.yml")
        assert code == 1 and "log in to one host" in printed, printed
        content = yaml.safe_load(site.study.read_text())
        content["hosts"]["b"]["address"] = "other"
        content["paths"]["cable"]["ends"][1]["address"] = "198.18.0.9"
        (site.state / "one.yml").write_text(yaml.safe_dump(content))
        code, printed = netlab(site, "check", "one.yml")
        assert code == 1 and "a and b: log in to one host" in printed, printed
        assert "network namespace with an sshd of its own" in printed
        assert "another agent" not in printed
    finally:
        site.ip("a", "addr del 198.18.0.9/24 dev data0")
        (site.state / "home" / ".ssh" / "config").unlink()


def test_an_address_that_is_routed_to_a_host_is_measured_by_the_card_that_carries_it(site):
    site.ip("a", "addr add 203.0.113.1/32 dev lo")
    site.ip("b", "route add 203.0.113.1 via 198.18.0.1")
    try:
        code, printed = both(site, "--data", "203.0.113.1", "198.18.0.2")
        assert code == 0, printed
        end = load(site.state / "found.yml").path("data").ends[0]
        assert (end.address, end.interface) == ("203.0.113.1", "data0")
        code, printed = netlab(site, "check", "found.yml")
        assert code == 0, printed
        code, printed = both(site, "--data", "198.18.0.2", "203.0.113.1")
        assert code == 1 and "exchange them" in printed, printed
        code, printed = both(site, "--data", "203.0.113.1", "203.0.113.1")
        assert code == 1 and "takes an address of each host" in printed, printed
    finally:
        site.ip("b", "route del 203.0.113.1")
        site.ip("a", "addr del 203.0.113.1/32 dev lo")


@pytest.mark.parametrize("mtu_B", [1500, 4000])
def test_datagrams_without_a_size_fill_a_packet(site, mtu_B):
    """The bridge between carries any of them; the smaller end decides."""
    site.ip("a", f"link set data0 mtu {mtu_B}")
    site.ip("b", "link set data0 mtu 4000")
    try:
        file = datagrams(site, {})
        _, printed = netlab(site, "check", file)
        assert f"datagrams of {mtu_B - 28} B arrive from a to b" in printed, printed
        netlab(site, "run", file, "--results", f"filled{mtu_B}")
        (row,) = Store(site.state / f"filled{mtu_B}").runs().itertuples()
        assert row.record_length_B == mtu_B - 28, (row.flags, row.message)
        assert row.received_datagrams > 100 and "ledger" not in row.flags
    finally:
        for name in ("a", "b"):
            site.ip(name, "link set data0 mtu 1500")


def test_a_rate_that_nobody_gave_is_asked_for_by_name(site):
    code, printed = netlab(site, "check", datagrams(site, {}, socket={}))
    assert code == 2 and "socket.pacing_MBps: " in printed and "needs a rate: MB/s" in printed


def test_fragments_that_a_filter_drops_are_said_to_be_dropped(site):
    rules = (
        "add table ip fragments; add chain ip fragments raw "
        "{ type filter hook prerouting priority -450; }; "
        "add rule ip fragments raw iifname data0 ip frag-off & 0x3fff != 0 drop"
    )
    file = datagrams(site, {"record_length_B": 20_000}, udp={"fragment": True})
    code, printed = netlab(site, "check", file)
    assert code == 0 and "datagrams of 20000 B arrive from a to b" in printed, printed
    run(*site.inside("b", "nft", rules))
    try:
        code, printed = netlab(site, "check", file)
        assert code == 1 and "a filter drops fragments; `record_length_B: 1472`" in printed
        netlab(site, "run", file, "--results", "dropped")
        (row,) = Store(site.state / "dropped").runs().itertuples()
        assert "a filter may drop their fragments" in row.message, row.message
        assert "`record_length_B: 1472` sends none" in row.message
        fitting = datagrams(site, {"record_length_B": 1472})
        assert netlab(site, "check", fitting)[0] == 0
    finally:
        run(*site.inside("b", "nft", "delete table ip fragments"))
    closed = (
        "add table ip closed; add chain ip closed in { type filter hook input priority 0; }; "
        "add rule ip closed in iifname data0 meta l4proto udp drop"
    )
    run(*site.inside("b", "nft", closed))
    try:
        code, printed = netlab(site, "check", file)
        assert code == 1 and "B do not arrive from a to b: UDP to the port is filtered" in printed
    finally:
        run(*site.inside("b", "nft", "delete table ip closed"))


def test_a_filter_that_drops_the_latency_probe_alone_is_said_before_the_runs(site):
    group = {"generator": "netlab", "direction": "<->"}
    file = datagrams(site, group, latency={"probe": "both"})
    code, printed = netlab(site, "check", file)
    assert code == 0 and "latency probes of a are answered by b" in printed, printed
    assert "latency probes of b are answered by a" in printed, printed
    closed = (
        "add table ip closed; add chain ip closed in { type filter hook input priority 0; }; "
        "add rule ip closed in iifname data0 udp dport 1024-65535 drop"
    )
    run(*site.inside("b", "nft", closed))
    try:
        code, printed = netlab(site, "check", file)
        lost = "warn  path cable, a to b: latency probe: no answer; UDP to the port"
        assert code == 0 and lost in printed, printed
    finally:
        run(*site.inside("b", "nft", "delete table ip closed"))


def test_what_a_host_refuses_names_the_keys_of_the_study(site):
    file = datagrams(site, {"record_length_B": 20_000})
    _, printed = netlab(site, "run", file, "--results", "refused")
    assert re.search(r"a packet of 20028 B exceeds the MTU of 1500 B.*\(record_length_B\)", printed)
    assert "or set `udp: {fragment: true}` " in printed and "record_B" not in printed
