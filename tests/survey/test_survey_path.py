"""Two interfaces are a path if each reaches the other's address and a TCP connection passes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from refusals import refused

from netlab.errors import NetlabError, RunError
from netlab.hosts import stack
from netlab.hosts.host import Completed
from netlab.survey import probe
from netlab.survey.connection import Connected
from netlab.survey.paths import find_paths, joined
from netlab.survey.surveyed import Address, HostSurvey, Interface


def card(name: str, *addresses: str, **more) -> Interface:
    found = (Address.of(text.partition("/")[0], text) for text in addresses)
    return Interface(name, tuple(one for one in found if one), **more)


def local(address: str) -> tuple[Address, ...]:
    own = Address.of(address, f"{address}/64")
    return (own,) if own else ()


def host(name: str, *cards: Interface, ssh: str = "") -> HostSurvey:
    return HostSurvey(name, ssh_address=ssh, interfaces=cards)


@dataclass
class Pinging:
    """A host on which pings between some addresses come back."""

    survey: HostSurvey
    answers: dict[tuple[str, str], str]
    routes: dict[str, str] = field(default_factory=dict)
    leaves: dict[str, str] = field(default_factory=dict)

    def run(self, argv, **_):
        what, words = argv[3], argv[4:]
        if what == "leaves":
            out = f"{self.leaves.get(words[0], words[2])}\n{words[2]}\n"
        elif what == "route":
            out = f"{words[0]} via 192.0.2.254 dev eth0 src {self.routes.get(words[0], '')}"
        else:
            times = self.answers.get((words[0], words[1]))
            out = f"rtt min/avg/max/mdev = 0.01/{times}/0.09/0.02 ms" if times else ""
        return Completed(tuple(argv), out, "", 0 if out else 1)


@dataclass
class Connecting:
    """Connects between some addresses, by TCP."""

    carried: set[tuple[str, str]]
    refused: dict[str, str] = field(default_factory=dict)

    def connect(self, ends):
        addresses = ends[0].address, ends[1].address
        if addresses not in self.carried:
            raise RunError("refused", reason="refused", code="E-MEASURE-002")
        return Connected(TCP_RTT_ms, self.refused)


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
    card("eth4", "198.18.0.0/31", speed_Mbps=25_000, link_local=local("fe80::4")),
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
        (
            ("198.18.0.1", "fe80::4"),
            "E-SURVEY-014",
            r"198.18.0.1 is IPv4 and fe80::4 is IPv6.*right has .*eth4 198.18.0.0.*eth4 fe80::4",
        ),
    ],
)
def test_no_connection_or_no_such_address_lists_the_addresses(data, code, said):
    with refused(NetlabError, code, match=said):
        found(LEFT, RIGHT, {}, data=data)


def test_a_survey_reads_the_stack_of_interfaces_as_facts_do():
    assert stack.SCRIPT in probe.SCRIPT


def bare(name: str, address: str, **more) -> Interface:
    """A card with a link-local address alone."""
    return Interface(name, link_local=local(address), **more)


def cabled(*more: Interface) -> tuple[HostSurvey, HostSurvey]:
    """Hosts with a path of SSH, and cards on a bare cable."""
    left = host("left", card("eth0", "192.0.2.10/24"), bare("eth1", "fe80::1"), *more, ssh=SSH[0])
    right = host("right", card("eth0", "192.0.2.11/24"), bare("enp3s0", "fe80::2"), ssh=SSH[1])
    return left, right


CABLE = ("fe80::1", "fe80::2")
OVER_CABLE = {
    SSH: "0.4",
    ("eth1", "fe80::2%eth1"): "0.05",  # of the search
    ("fe80::1%eth1", "fe80::2%eth1"): "0.05",
    CABLE: "0.05",
}


def test_a_cable_without_other_addresses_than_its_own_comes_before_the_path_of_ssh():
    expected = [(CABLE, 0.05, False), (SSH, 0.4, False)]
    assert found(*cabled(), OVER_CABLE) == expected
    elsewhere = (bare("eth2", "fe80::9"), bare("eth3", "fe80::1", up=False))
    assert found(*cabled(*elsewhere), OVER_CABLE) == expected


@pytest.mark.parametrize(
    ("speed_Mbps", "first"), [(1000, SSH), (None, SSH), (25_000, CABLE)], ids=str
)
def test_a_card_in_the_switch_of_ssh_comes_before_it_only_if_it_is_faster(speed_Mbps, first):
    left, right = (
        host(
            each.name,
            replace(each.interfaces[0], speed_Mbps=1000, link_local=local(f"fe80::a{number}")),
            replace(each.interfaces[1], speed_Mbps=speed_Mbps),
            ssh=each.ssh_address,
        )
        for number, each in enumerate(cabled())
    )
    switched = OVER_CABLE | {("eth1", "fe80::a1%eth1"): "0.05"}
    assert found(left, right, switched)[0][0] == first
    assert found(left, right, OVER_CABLE)[0][0] == CABLE, "a cable of its own"


def test_a_card_by_which_the_packets_of_its_address_do_not_leave_is_not_a_path():
    """Two cards in one subnet: the kernel sends by the first route, whatever the address."""
    left = host("left", card("eth2", "198.18.0.1/24"), card("eth3", "198.18.0.11/24"))
    right = host("right", card("eth2", "198.18.0.2/24"), card("eth3", "198.18.0.12/24"))
    leaves = {f"198.18.0.{number}": "eth3" for number in (1, 2)}
    hosts = tuple(Pinging(each, {}, leaves=leaves) for each in (left, right))
    ends = {(ours, theirs) for ours in ("198.18.0.1", "198.18.0.11") for theirs in ("198.18.0.12",)}
    carried = Connecting(ends | {("198.18.0.1", "198.18.0.2")})
    (path,) = find_paths(hosts, (left, right), carried)
    assert [end.interface.name for end in path.ends] == ["eth3", "eth3"]
    with refused(NetlabError, "E-SURVEY-001", match="198.18.0.2 leave by eth3, not by eth2: take"):
        find_paths(hosts, (left, right), carried, ("198.18.0.1", "198.18.0.2"))


def test_a_path_that_one_host_cannot_open_has_the_reason():
    connecting = Connecting({DATA}, {"left": "did not answer"})
    hosts = tuple(Pinging(each, BOTH) for each in (LEFT, RIGHT))
    (path,) = find_paths(hosts, (LEFT, RIGHT), connecting)
    assert path.refused == {"left": "did not answer"}
    assert path.receiver_of("left").address == "198.18.0.0"


def test_ports_of_a_bridge_are_not_tried_as_cables():
    """The interfaces of a host's containers have such addresses as well, and may be many."""
    port = stack.InterfaceStack((stack.Layer("veth1", master="docker0", master_kind="bridge"),))
    in_vrf = stack.InterfaceStack((stack.Layer("eth1", master="red", master_kind="vrf"),))
    ssh_alone = [(SSH, 0.4, False)]
    both = [(CABLE, 0.05, False), (SSH, 0.4, False)]
    for layers, expected in ((port, ssh_alone), (in_vrf, both)):
        left, right = cabled()
        ssh_card, cable = left.interfaces
        left = host("left", ssh_card, replace(cable, stack=layers), ssh=SSH[0])
        answers = OVER_CABLE | {("eth1", "fe80::2"): "0.05", ("eth1", "fe80::2%eth1"): "0.05"}
        assert found(left, right, answers) == expected


def test_link_local_addresses_are_not_tried_where_a_data_path_is_found():
    data = card("eth2", "198.18.0.1/31"), card("eth4", "198.18.0.0/31")
    left, right = (
        host(each.name, *each.interfaces, more, ssh=each.ssh_address)
        for each, more in zip(cabled(), data, strict=True)
    )
    assert found(left, right, BOTH | OVER_CABLE) == [(DATA, 0.05, False), (SSH, 0.4, False)]


def test_data_addresses_may_be_link_local_with_the_interface_of_their_host():
    for data in (CABLE, ("fe80::1%eth1", "fe80::2%enp3s0")):
        assert found(*cabled(), OVER_CABLE, data=data) == [(CABLE, 0.05, False)]
    with refused(NetlabError, "E-SURVEY-002", match="it has eth0 192.0.2.10, eth1 fe80::1"):
        found(*cabled(), OVER_CABLE, data=("fe80::1%eth7", "fe80::2"))
