"""Each knob of an interface reverts exactly, whatever hangs on the interface."""

from __future__ import annotations

import pytest
from native.tuning.conftest import Namespace, begun, ended, state

from netlab.tuning.knobs import NAMES
from netlab.tuning.requests import request_line

VALUES = {
    "mtu": ["1500", "8999", "1280"],
    "txqueuelen": ["77"],
    "feature": ["off", "on"],
    "defer": ["20000"],
    "channels": ["1", "3"],
    "napi": ["1"],
    "offload": ["20000", "40000"],
    "qdisc": ["pfifo_fast", "fq"],
}
"""Other values of the kinds that a veth has; its driver has no ring, coalescing and pause."""

KNOBS = [
    {"knob": kind, "name": name, "value": value}
    for kind, values in VALUES.items()
    for name in NAMES[kind] or [None]
    for value in values
    if (kind, name) != ("channels", "combined")
]


def set_and_reverted(
    namespace: Namespace, *knobs: dict, interface: str
) -> tuple[list[str], list[str]]:
    """Set and revert knobs: how the host differs then, and what became of each."""
    before = state(namespace)
    channel = begun(namespace)
    lines = [request_line("set", **knob, interface=interface) for knob in knobs]
    outcomes = [channel.ask(line)["status"] for line in lines]
    reported = [str(one) for one in ended(channel)]
    after = state(namespace)
    lines = sorted(set(before.splitlines()) ^ set(after.splitlines()))
    return [*reported, *(lines or ["in another order"] if after != before else [])], outcomes


@pytest.fixture
def member(hardened) -> Namespace:
    """The interface as the member of a bridge that has an address and an interface above."""
    hardened.sh(
        "ip link add br1 type bridge; ip link set v1 master br1; ip link set br1 up;"
        "ip addr add 10.13.0.1/24 dev br1; ip -6 addr add fd14::1/64 dev br1 nodad;"
        "ip route add 10.14.0.0/16 via 10.13.0.2 mtu 8000;"
        "ip link add m1 link br1 type macvlan mode bridge; ip link set m1 up;"
        "bridge link set dev v1 cost 77 priority 12"
    )
    return hardened


def test_every_kind_of_an_interface_is_tried_or_is_not_of_a_veth():
    elsewhere = {"ring", "coalesce", "adaptive", "pause", "irq", "pci", "governor"}
    assert set(NAMES) == {*VALUES, *elsewhere}


@pytest.mark.parametrize("interface", ["v0", "v1", "br1", "m0"])
def test_each_knob_reverts_exactly(member, interface):
    unlike, changed = {}, 0
    for knob in KNOBS:
        changes, status = set_and_reverted(member, knob, interface=interface)
        changed += status == ["applied"]
        if changes:
            unlike[" ".join(filter(None, knob.values()))] = changes
    assert unlike == {} and changed > 8


@pytest.mark.parametrize("interface", ["v0", "v1", "br1", "m0"])
def test_all_knobs_together_revert_exactly(member, interface):
    changes, outcomes = set_and_reverted(member, *KNOBS, interface=interface)
    assert changes == [] and outcomes.count("applied") > 8


@pytest.mark.parametrize("order", [1, -1])
def test_offloads_that_depend_on_each_other_revert_exactly(member, order):
    """Without checksums the kernel switches segmentation off; the bits asked for stay asked."""
    member.sh(
        "ethtool -K v1 tx-tcp-mangleid-segmentation off tx-udp-segmentation off rx-gro-list on"
    )
    names = ("tx-checksum", "scatter-gather", "tso", "gso", "gro")[::order]
    knobs = [{"knob": "feature", "name": name, "value": "off"} for name in names]
    changes, outcomes = set_and_reverted(member, *knobs, interface="v1")
    assert changes == [] and outcomes.count("applied") >= 3


@pytest.mark.parametrize("ending", ["end", "kill", "kill both"])
def test_offloads_that_a_driver_switches_with_others_come_back(member, tune_build, ending):
    member.sh("ethtool -K v1 rx-gro-list on rx-udp-gro-forwarding on")
    member.program = (tune_build / "tune_coupled",)
    before = state(member)
    channel = begun(member, "knob=feature name=tso interface=v1 value=off")
    assert "rx-gro-list: off" in member.sh("ethtool -k v1")
    if ending == "end":
        assert ended(channel) == []
    elif ending == "kill":
        channel.kill()
        member.settled()
    else:
        channel.kill_both()
        later = member.tune()
        assert "unrestored" not in later.ask_all("recover", "reverted_all")[-1]
        assert later.close() == 0
    assert state(member) == before


@pytest.mark.parametrize("values", [(1, 1), (3, 2), (1, 4), (4, 1)])
def test_channels_revert_exactly_with_the_cpus_of_queues_that_were_gone(member, values):
    member.sh(
        "ip link add q0 numtxqueues 4 numrxqueues 4 type veth peer name q1 numtxqueues 4"
        " numrxqueues 4; ip link set q0 up; ip link set q1 up;"
        "ethtool -L q0 rx 3 tx 3; cd /sys/class/net/q0/queues;"
        "echo 2 > rx-2/rps_cpus; echo 128 > rx-2/rps_flow_cnt; echo 2 > tx-2/xps_cpus"
    )
    knobs = [
        {"knob": "channels", "name": name, "value": str(value)}
        for name, value in zip(("rx", "tx"), values, strict=True)
    ]
    changes, outcomes = set_and_reverted(member, *knobs, interface="q0")
    assert changes == [] and "applied" in outcomes
