"""A survey is parsed from the output of a host, recorded from a machine with four cards."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import NetlabError, RunError
from netlab.hosts import stack
from netlab.hosts.host import Completed
from netlab.survey import probe
from netlab.survey.findings import findings
from netlab.survey.paths import find_paths, joined
from netlab.survey.probe import parse
from netlab.survey.surveyed import Address, FoundEnd, FoundPath, HostSurvey, Interface, Interrupt

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


# Two interfaces are a path if each reaches the other's address and a TCP connection passes.


def card(name: str, *addresses: str, **more) -> Interface:
    found = (Address.of(text.partition("/")[0], text) for text in addresses)
    return Interface(name, tuple(one for one in found if one), **more)


def host(name: str, *cards: Interface, ssh: str = "") -> HostSurvey:
    return HostSurvey(name, ssh_address=ssh, interfaces=cards)


@dataclass
class Pinging:
    """A host on which pings between some addresses come back."""

    survey: HostSurvey
    answers: dict[tuple[str, str], str]
    routes: dict[str, str] = field(default_factory=dict)

    def run(self, argv, **_):
        what, words = argv[3], argv[4:]
        if what == "route":
            out = f"{words[0]} via 192.0.2.254 dev eth0 src {self.routes.get(words[0], '')}"
        else:
            times = self.answers.get((words[0], words[1]))
            out = f"rtt min/avg/max/mdev = 0.01/{times}/0.09/0.02 ms" if times else ""
        return Completed(tuple(argv), out, "", 0 if out else 1)


@dataclass
class Connecting:
    """Connects between some addresses, by TCP."""

    carried: set[tuple[str, str]]

    def rtt_ms(self, ends):
        addresses = ends[0].address, ends[1].address
        if addresses not in self.carried:
            raise RunError("refused", reason="refused", code="E-MEASURE-002")
        return TCP_RTT_ms


TCP_RTT_ms = 7.0


def found(left, right, answers, *, data=None, routes=({}, {}), pings=True):
    hosts = tuple(
        Pinging(survey, answers if pings else {}, way)
        for survey, way in zip((left, right), routes, strict=True)
    )
    return [
        ((path.ends[0].address, path.ends[1].address), path.rtt_ms, path.routed)
        for path in find_paths(hosts, (left, right), Connecting(set(answers)), data)
    ]


LEFT = host(
    "left",
    card("eth0", "192.0.2.10/24", speed_Mbps=1000),
    card("eth2", "198.18.0.1/31", speed_Mbps=25_000),
    card("eth3", "203.0.113.1/24", up=False),
    card("docker0", "172.17.0.1/16"),
    ssh="192.0.2.10",
)
RIGHT = host(
    "right",
    card("eth0", "192.0.2.11/24", speed_Mbps=1000),
    card("eth4", "198.18.0.0/31", speed_Mbps=25_000),
    card("eth5", "203.0.113.2/24"),
    card("docker0", "172.17.0.1/16"),
    ssh="192.0.2.11",
)
BOTH = {("198.18.0.1", "198.18.0.0"): "0.05", ("192.0.2.10", "192.0.2.11"): "0.4"}


def two(left: list[str], right: list[str], ssh=("", "")) -> tuple[HostSurvey, ...]:
    """Hosts with a card for each address."""
    sides = zip(("left", "right"), (left, right), ssh, strict=True)
    return tuple(host(name, *(card(a, a) for a in cards), ssh=to) for name, cards, to in sides)


DATA, SSH = BOTH
ROUTED = ("192.0.2.10", "198.51.100.7")


@pytest.mark.parametrize(
    ("hosts", "answers", "more", "expected"),
    [
        # the path of SSH is the last
        ((LEFT, RIGHT), BOTH, {}, [(DATA, 0.05, False), (SSH, 0.4, False)]),
        # a link without an answer is none
        ((LEFT, RIGHT), {SSH: "0.4"}, {}, [(SSH, 0.4, False)]),
        # an interface is in one path only
        (
            two(["192.0.2.1/24", "192.0.2.2/24"], ["192.0.2.3/24", "192.0.2.4/24"]),
            {(f"192.0.2.{ours}", f"192.0.2.{theirs}"): "1" for ours in (1, 2) for theirs in (3, 4)},
            {},
            [(("192.0.2.1", "192.0.2.3"), 1.0, False), (("192.0.2.2", "192.0.2.4"), 1.0, False)],
        ),
        # IPv6 is taken where there is no IPv4
        (
            two(["2001:db8::1/64"], ["2001:db8::2/64"]),
            {("2001:db8::1", "2001:db8::2"): "1"},
            {},
            [(("2001:db8::1", "2001:db8::2"), 1.0, False)],
        ),
        # hosts of different networks are joined by the route between them
        (
            two(["192.0.2.10/24"], ["198.51.100.7/24"], ROUTED),
            {ROUTED: "18.5"},
            {"routes": ({ROUTED[1]: ROUTED[0]}, {ROUTED[0]: ROUTED[1]})},
            [(ROUTED, 18.5, True)],
        ),
        # given addresses are taken also through a router
        (
            (LEFT, RIGHT),
            {("192.0.2.10", "198.18.0.0"): "3"},
            {"data": ("192.0.2.10", "198.18.0.0")},
            [(("192.0.2.10", "198.18.0.0"), 3.0, True)],
        ),
    ],
)
def test_the_paths_of_two_hosts_are_those_that_carry_tcp(hosts, answers, more, expected):
    assert found(*hosts, answers, **more) == expected
    without = [(ends, TCP_RTT_ms, routed) for ends, _, routed in expected]
    assert found(*hosts, answers, **more, pings=False) == without


def test_a_point_to_point_address_reaches_its_peer_only():
    peer = Interface("a", tuple(filter(None, [Address.of("192.0.2.1", "192.0.2.9/32")])))
    back = Interface("c", tuple(filter(None, [Address.of("192.0.2.9", "192.0.2.1/32")])))
    other = card("d", "192.0.2.7/24")
    (pair,) = joined(host("left", peer), host("right", back, other))
    assert [end.interface.name for end in pair] == ["a", "c"]


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (None, "E-SURVEY-001", r"eth3 203\.0\.113\.1 \(down\)"),
        (("198.18.0.1", "198.18.0.0"), "E-SURVEY-001", "no TCP connection"),
        (("203.0.113.1", "203.0.113.2"), "E-SURVEY-001", r"\n\| 203.* and 203.*: refused"),
        (("192.0.2.99", "198.18.0.0"), "E-SURVEY-002", "left: no interface has the address"),
    ],
)
def test_no_connection_or_no_such_address_lists_the_addresses(data, code, said):
    with refused(NetlabError, code, match=said):
        found(LEFT, RIGHT, {}, data=data)


def test_a_survey_reads_the_stack_of_interfaces_as_facts_do():
    assert stack.SCRIPT in probe.SCRIPT
