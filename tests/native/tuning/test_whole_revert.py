"""A revert restores what a knob changed beside itself: routes, addresses, interfaces above."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native.tuning.conftest import MTU, begun, ended, state

from netlab.tuning.knobs import Knob
from netlab.tuning.profiles import load_profile
from netlab.tuning.session import TuningSession


@pytest.mark.parametrize("mtu_B", [1500, 8999, 1280])
@pytest.mark.parametrize("verified", [True, False])
def test_a_lower_mtu_and_back_restores_routes_addresses_and_interfaces_above(busy, mtu_B, verified):
    before = state(busy)
    channel = begun(busy, f"{MTU} value={mtu_B}")
    if verified:
        assert channel.ask("verify")["drifted"] == 0
    assert state(busy) != before
    assert ended(channel) == []
    assert state(busy) == before


def test_a_higher_mtu_and_back_restores_the_lower_one_of_routes_and_of_ipv6(busy):
    busy.sh(
        "ip link set v0 mtu 1500; sysctl -qw net.ipv6.conf.v0.mtu=1400;"
        "ip -6 route change fd10::/64 via fd09::2 mtu 1300"
    )
    before = state(busy)
    channel = begun(busy, f"{MTU} value=9000")
    assert channel.ask("verify")["drifted"] == 0
    assert ended(channel) == []
    assert state(busy) == before


def test_a_guard_and_a_recover_restore_them_as_well(busy):
    before = state(busy)
    channel = begun(busy, f"{MTU} value=1500")
    assert channel.ask("verify")["drifted"] == 0
    channel.kill()
    busy.settled()
    assert state(busy) == before
    channel = begun(busy, f"{MTU} value=1500")
    channel.kill_both()
    assert state(busy) != before
    later = busy.tune()
    assert later.ready["stale"] == 1
    answers = later.ask_all("recover", "reverted_all")
    assert "unrestored" not in answers[-1] and state(busy) == before
    assert later.close() == 0
    assert busy.tune().ready["stale"] == 0


def test_ipv6_off_and_on_loses_no_address_route_or_proxy(busy):
    busy.sh("for a in 10.9.0.77 fd09::77; do ip neigh add proxy $a dev v0 protocol static; done")
    before = state(busy)
    channel = begun(busy, "knob=sysctl name=net.ipv6.conf.v0.disable_ipv6 value=1")
    assert channel.ask("verify")["drifted"] == 0
    assert "fd09::1" not in busy.sh("ip addr")
    assert "fd09::77" not in state(busy)
    assert ended(channel) == []
    assert state(busy) == before


@pytest.mark.parametrize(
    "knob", ["net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv6.conf.all.forwarding"]
)
@pytest.mark.parametrize("old", [0, 1])
def test_forwarding_and_back_leaves_that_of_each_interface_and_redirects(busy, knob, old):
    busy.sh(f"sysctl -qw {knob}={old}")
    busy.sh(
        "sysctl -qw net.ipv4.conf.all.accept_redirects=0 net.ipv4.conf.v0.forwarding=1 "
        "net.ipv4.conf.m0.forwarding=0 net.ipv6.conf.v0.forwarding=1 net.ipv6.conf.m0.forwarding=0"
    )
    before = state(busy)
    channel = begun(busy, f"knob=sysctl name={knob} value={1 - old}")
    assert channel.ask("verify")["drifted"] == 0
    assert ended(channel) == []
    assert state(busy) == before


def test_queues_and_back_keep_the_cpus_of_each(busy):
    busy.sh("ethtool -L v0 rx 2 tx 2")
    busy.sh(
        "cd /sys/class/net/v0/queues; for q in 0 1; do echo 1 > rx-$q/rps_cpus;"
        "echo 64 > rx-$q/rps_flow_cnt; echo 1 > tx-$q/xps_cpus; done"
    )
    before = state(busy)
    queues = [f"knob=channels name={name} interface=v0 value=1" for name in ("rx", "tx")]
    channel = begun(busy, *queues)
    assert channel.ask("verify")["drifted"] == 0
    assert ended(channel) == []
    assert state(busy) == before


def test_what_another_program_changed_during_the_session_stays_and_is_reported(busy):
    channel = begun(busy, f"{MTU} value=1500")
    assert channel.ask("verify")["drifted"] == 0
    busy.sh("ip route del 10.10.0.0/16; ip addr add 10.77.0.1/24 dev m0")
    left = {answer["what"]: (answer["was"], answer["found"]) for answer in ended(channel)}
    route = next(what for what in left if what.startswith("route 10.10.0.0/16 via 10.9.0.2 dev v0"))
    assert "mtu 8000" in left[route][0] and left[route][1] is None
    address = next(what for what in left if what.startswith("address 10.77.0.1"))
    assert left[address][0] is None
    assert "10.10.0.0" not in busy.sh("ip route") and "10.77.0.1" in busy.sh("ip addr")
    assert not [what for what in left if "mtu" in what]


def test_a_guard_leaves_what_it_could_not_restore_to_the_report_of_recover(busy):
    channel = begun(busy, f"{MTU} value=1500")
    assert channel.ask("verify")["drifted"] == 0
    busy.sh("ip route del 10.10.0.0/16")
    channel.kill()
    busy.settled()
    later = busy.tune()
    assert later.ready["stale"] == 1
    (left, total) = later.ask_all("recover", "reverted_all")
    assert left["event"] == "unrestored" and left["what"].startswith("route 10.10.0.0/16")
    assert total["conflicts"] == total["unrestored"] == 1
    assert "uncompared" not in total
    assert later.ask_all("recover", "reverted_all")[-1]["conflicts"] == 0
    assert later.close() == 0


def test_ten_thousand_routes_come_back_without_a_wait_for_each(busy):
    busy.sh(
        "for i in $(seq 40); do for j in $(seq 250); do echo route add 10.$((100 + i)).$j.0/24"
        " via 10.9.0.2 mtu 8000; done; done | ip -batch -"
    )
    before = state(busy)
    begin_s = time.monotonic()
    channel = begun(busy, f"{MTU} value=1500")
    assert channel.ask("verify")["drifted"] == 0
    assert ended(channel) == []
    took_s = time.monotonic() - begin_s
    print(f"{took_s * 1e3:.0f} ms")
    assert took_s < 50
    assert state(busy) == before


def test_routes_that_are_too_many_to_compare_are_named_as_not_compared(busy):
    busy.sh(
        "for i in $(seq 201); do for j in $(seq 250); do echo route add 10.$((20 + i)).$j.0/24"
        " dev v0; done; done | ip -batch -"
    )
    session = TuningSession(busy.tune(ready=False), load_profile("as-found"), "v0", 1500, hold_s=0)
    with session:
        pass
    (entry,) = session.result.conflicts
    assert (entry["knob"], entry["name"]) == ("host", "routes")
    assert entry["reason"].startswith("the routes were not compared with those of before")
    assert session.result.failed == []


SYSCTLS = (
    *("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding", "net.ipv4.conf.v0.rp_filter"),
    *("net.ipv6.conf.v0.disable_ipv6", "net.ipv6.conf.all.disable_ipv6", "net.ipv4.tcp_sack"),
)
CHANGES = st.one_of(
    st.sampled_from([1280, 1500, 4000, 8999, 9000]).map(lambda size_B: f"{MTU} value={size_B}"),
    st.tuples(st.sampled_from(SYSCTLS), st.sampled_from([0, 1])).map(
        lambda pair: f"knob=sysctl name={pair[0]} value={pair[1]}"
    ),
    st.tuples(st.sampled_from(["rx", "tx"]), st.sampled_from([1, 2])).map(
        lambda pair: f"knob=channels name={pair[0]} interface=v0 value={pair[1]}"
    ),
    st.tuples(st.sampled_from(["tso", "gso", "tx-checksum"]), st.sampled_from(["on", "off"])).map(
        lambda pair: f"knob=feature name={pair[0]} interface=v0 value={pair[1]}"
    ),
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    sessions=st.lists(
        st.tuples(
            st.lists(CHANGES, min_size=1, max_size=6), st.sampled_from(["end", "kill", "kill both"])
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_sessions_however_they_end_leave_the_host_as_before(busy, sessions):
    before = state(busy)
    for changes, ending in sessions:
        channel = begun(busy)
        for change in changes:
            assert channel.ask(f"set {change}")["status"] in ("applied", "unchanged")
        if ending == "end":
            assert ended(channel) == []
        elif ending == "kill":
            channel.kill()
            busy.settled()
        else:
            channel.kill_both()
            later = busy.tune()
            assert "unrestored" not in later.ask_all("recover", "reverted_all")[-1]
            assert later.close() == 0
        assert state(busy) == before, (changes, ending)


RISKY = [
    "net.ipv4.ip_forward",
    "net.ipv4.conf.all.forwarding",
    "net.ipv4.conf.default.rp_filter",
    "net.ipv6.conf.v0.disable_ipv6",
    "net.ipv6.conf.all.forwarding",
    "net.ipv4.neigh.v0.unres_qlen",
    "net.ipv6.neigh.v0.unres_qlen",
    "net.ipv6.neigh.v0.unres_qlen_bytes",
    "net.unix.max_dgram_qlen",
]
BESIDE = {
    "net.ipv4.ip_forward": "sysctl net.ipv4.conf.m0.forwarding",
    "net.ipv4.conf.all.forwarding": "sysctl net.ipv4.conf.m0.forwarding",
    "net.ipv4.conf.default.rp_filter": "sysctl net.ipv4.conf.v1.rp_filter",
    "net.ipv6.conf.v0.disable_ipv6": "address fd09::1/64 dev v0",
    "net.ipv6.conf.all.forwarding": "sysctl net.ipv6.conf.m0.forwarding",
    "net.ipv4.neigh.v0.unres_qlen": "sysctl net.ipv4.neigh.v0.unres_qlen_bytes",
    "net.ipv6.neigh.v0.unres_qlen": "sysctl net.ipv6.neigh.v0.unres_qlen_bytes",
    "net.ipv6.neigh.v0.unres_qlen_bytes": "sysctl net.ipv6.neigh.v0.unres_qlen",
}


@pytest.mark.parametrize("name", RISKY)
def test_what_a_knob_with_a_risk_changed_beside_itself_is_named_and_put_back(hardened, name):
    before, old, notes = state(hardened), int(hardened.sysctl(name)), []
    value = 1 - old if old in (0, 1) else 2 * old
    knob = Knob(kind="sysctl", name=name, value=value, source="here", risk="to see what it changes")
    session = TuningSession(
        hardened.tune(ready=False),
        load_profile("as-found"),
        "v0",
        extra_knobs=[knob],
        hold_s=0,
        on_wait=notes.append,
    )
    with session:
        assert state(hardened) != before
    named = [one["what"] for entry in session.result.beside for one in entry["changes"]]
    assert f"sysctl {name}" not in named
    assert any(what.startswith(BESIDE.get(name, "")) for what in named) == (name in BESIDE)
    assert any(f"{name} = {value} also changed: " in note for note in notes) == (name in BESIDE)
    assert (session.result.conflicts, session.result.failed) == ([], [])
    assert state(hardened) == before
