"""A survey is parsed from the output of a host, recorded from a machine with four cards."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.survey.findings import findings
from netlab.survey.probe import parse
from netlab.survey.surveyed import Address, FoundEnd, FoundPath, Interrupt

RECORDED = (Path(__file__).parent / "recorded" / "virtual-machine.txt").read_text()
MACHINE = parse("a", RECORDED)
CARDS = {card.name: card for card in MACHINE.interfaces}
CHANNELS = """\
if eth2 mtu 9000
if eth2 rx_queues 8
if eth2 address 4: eth2    inet {address} scope global eth2
if eth2 channels Channel parameters for eth2:
if eth2 channels Pre-set maximums:
if eth2 channels RX:\t\tn/a
if eth2 channels Combined:\t63
if eth2 channels Current hardware settings:
if eth2 channels RX:\t\tn/a
if eth2 channels Combined:\t8
if eth2 counter      rx_discards_phy: 12
if eth2 counter      rx3_cache_full_drop: 5
if eth2 counter      tx_dropped: 9
if eth2 statistics
if eth2 qdisc qdisc mq 0: root
if eth2 qdisc qdisc fq 8001: parent :1 limit 10000p
"""


def test_the_host():
    assert (MACHINE.kernel, MACHINE.cpus) == ("6.1.0-56-amd64", 1)
    assert MACHINE.ssh_address == "192.0.2.2"
    assert MACHINE.congestion == "cubic"
    assert (MACHINE.rmem_max_B, MACHINE.wmem_max_B) == (2_373_888, 2_373_888)
    assert MACHINE.governors == () and MACHINE.idle_us == 0 and MACHINE.services == ()
    assert MACHINE.synchronised is None and not MACHINE.conntrack and MACHINE.filters == 0
    assert MACHINE.text() == "Linux 6.1.0-56-amd64, 1 x QEMU TCG CPU version 2.5+"


def test_the_cards():
    assert set(CARDS) == {"e1000", "e1000e", "mgmt", "virtio", "vmxnet3"}
    card = CARDS["e1000e"]
    assert card.addresses == (Address.of("198.18.1.1", "198.18.1.1/24"),)
    assert (card.speed_Mbps, card.duplex, card.mtu_B, card.up) == (1000, "full", 1500, True)
    assert card.bus is not None and card.bus.name == "PCIe 1.0 x1" and card.bus == card.bus_max
    assert (card.ring, card.ring_max, card.pauses) == (256, 4096, ("rx", "tx"))
    assert card.interrupts == (Interrupt(31, "0"), Interrupt(32, "0"), Interrupt(33, "0"))
    assert card.qdiscs == ("fq_codel",) and card.drops == {}
    assert card.text() == (
        "e1000e 6.1.0-56-amd64, 1000 Mb/s, PCIe 1.0 x1, 1 receive queue, MTU 1500 B"
    )
    assert CARDS["e1000"].bus is None and CARDS["e1000"].pauses == ("rx",)
    assert CARDS["virtio"].speed_Mbps is None
    assert CARDS["virtio"].features["tcp-segmentation-offload"] == "off"
    assert CARDS["vmxnet3"].bus is None and CARDS["vmxnet3"].channels_max == 1


def test_a_card_with_queues_and_losses():
    (card,) = parse("a", CHANNELS.format(address="192.0.2.1/31")).interfaces
    assert (card.channels_max, card.rx_queues) == (63, 8)
    assert card.drops == {"rx_discards_phy": 12}
    assert card.qdiscs == ("mq", "fq")


@pytest.mark.parametrize(
    ("driver", "counters", "drops"),
    [
        ("ena", {"pps_allowance_exceeded": 3, "rx_drops": 0}, {"pps_allowance_exceeded": 3}),
        ("igb", {"tx_deferred_ok": 8, "rx_flow_control_xon": 2}, {}),
        ("mlx5_core", {"rx_out_of_buffer": 4, "rx3_buff_alloc_err": 4}, {"rx_out_of_buffer": 4}),
        ("virtio_net", {"rx_queue_0_drops": 2, "rx_queue_1_drops": 5}, {"rx_queue_*_drops": 7}),
    ],
)
def test_lost_packets_are_known_by_what_the_driver_counts(driver, counters, drops):
    lines = [f"if eth2 driver driver: {driver}"]
    lines += [f"if eth2 counter      {name}: {value}" for name, value in counters.items()]
    lines += ["if eth2 mtu 9000", "if eth2 address 4: eth2    inet 192.0.2.1/31 scope global eth2"]
    (card,) = parse("a", "\n".join(lines)).interfaces
    assert card.drops == drops


@pytest.mark.parametrize(
    ("text", "own", "reaches"),
    [
        ("inet 192.0.2.1/31 scope global", "192.0.2.1", "192.0.2.1/31"),
        ("inet 192.0.2.1 peer 192.0.2.9/32 scope global", "192.0.2.1", "192.0.2.9/32"),
        ("inet 192.0.2.1 scope global", "192.0.2.1", "192.0.2.1/32"),
        ("inet6 2001:db8::1/64 scope global", "2001:db8::1", "2001:db8::1/64"),
    ],
)
def test_an_address_and_what_it_reaches(text, own, reaches):
    (card,) = parse("a", f"if eth2 address 4: eth2    {text} eth2").interfaces
    assert card.addresses == (Address.of(own, reaches),)


BOND = """\
if bond0 mtu 1500
if bond0 speed 20000
if bond0 operstate up
if bond0 address 4: bond0    inet {address} scope global bond0
if bond0 layer bond0 mode 802.3ad 4
if bond0 layer bond0 xmit_hash_policy layer2 0
if bond0 layer bond0 devtype bond
if bond0 layer bond0 lower eth0
if bond0 layer bond0 lower eth1
if bond0 layer eth0 speed 10000
if bond0 layer eth0 operstate up
if bond0 layer eth1 speed 10000
if bond0 layer eth1 operstate up
"""


def test_a_bond_is_advised_from_one_slave():
    ends = []
    for name, address in (("left", "192.0.2.1/31"), ("right", "192.0.2.0/31")):
        host = parse(name, BOND.format(address=address))
        (bond,) = host.interfaces
        assert bond.speed_Mbps == 10_000  # sysfs has the sum
        assert "bond0 is a bond of eth0 and eth1 (802.3ad, hash policy layer2)" in bond.text()
        ends.append(FoundEnd(host, bond, address.partition("/")[0]))
    path = FoundPath((ends[0], ends[1]), rtt_ms=10.0)
    assert path.bdp_B == 12_500_000
    reasons = [each.reason for each in findings((path,)) if each.host == "left"]
    one = "all streams between two addresses take one slave of bond0 (10000 Mb/s), not the sum"
    assert any(reason.startswith(one) for reason in reasons), reasons


def test_governors_idle_states_services_and_filters():
    text = (
        "governor powersave\ngovernor performance\nidle 0 0 POLL\nidle 133 0 C6\nidle 900 1 C10\n"
        "service irqbalance\nsynchronised no\nconntrack 4\ninput_chains 1\n"
        "iptables -A INPUT -j DROP\n"
    )
    host = parse("a", text)
    assert host.governors == ("powersave", "performance")
    assert host.idle_us == 133  # the deepest one is disabled
    assert host.services == ("irqbalance",) and host.synchronised is False
    assert host.conntrack and host.filters == 2


@given(st.text(max_size=400))
def test_no_text_stops_it(text):
    assert parse("a", text).name == "a"


@given(st.data())
def test_no_damaged_line_stops_it(data):
    lines = RECORDED.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    words = lines[at].split(" ")
    word = data.draw(st.integers(0, len(words) - 1))
    words[word] = data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
    parse("a", "\n".join([*lines[:at], " ".join(words), *lines[at + 1 :]]))
