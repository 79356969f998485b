"""Two interfaces are a path if each reaches the other's address and a ping comes back."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from refusals import refused

from netlab.errors import NetlabError
from netlab.hosts.host import Completed
from netlab.survey.pairing import find_paths, joined
from netlab.survey.surveyed import Address, HostSurvey, Interface


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


def found(left, right, answers, *, data=None, routes=({}, {})):
    hosts = tuple(
        Pinging(survey, answers, way) for survey, way in zip((left, right), routes, strict=True)
    )
    return [
        ((path.ends[0].address, path.ends[1].address), path.rtt_ms, path.routed)
        for path in find_paths(hosts, (left, right), data)
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
BOTH = {("192.0.2.10", "192.0.2.11"): "0.4", ("198.18.0.1", "198.18.0.0"): "0.05"}


def test_the_data_path_is_first_and_the_one_of_ssh_last():
    assert found(LEFT, RIGHT, BOTH) == [
        (("198.18.0.1", "198.18.0.0"), 0.05, False),
        (("192.0.2.10", "192.0.2.11"), 0.4, False),
    ]


def test_a_link_without_an_answer_is_none():
    answers = {("192.0.2.10", "192.0.2.11"): "0.4"}
    assert [ends for ends, _, _ in found(LEFT, RIGHT, answers)] == [("192.0.2.10", "192.0.2.11")]


def test_an_interface_is_in_one_path_only():
    left = host("left", card("a", "192.0.2.1/24"), card("b", "192.0.2.2/24"))
    right = host("right", card("c", "192.0.2.3/24"), card("d", "192.0.2.4/24"))
    answers = {
        (f"192.0.2.{ours}", f"192.0.2.{theirs}"): "1" for ours in (1, 2) for theirs in (3, 4)
    }
    assert [ends for ends, _, _ in found(left, right, answers)] == [
        ("192.0.2.1", "192.0.2.3"),
        ("192.0.2.2", "192.0.2.4"),
    ]


def test_ipv6_is_taken_where_there_is_no_ipv4():
    left = host("left", card("a", "2001:db8::1/64"))
    right = host("right", card("c", "2001:db8::2/64"))
    answers = {("2001:db8::1", "2001:db8::2"): "1"}
    assert found(left, right, answers) == [(("2001:db8::1", "2001:db8::2"), 1.0, False)]


def test_a_point_to_point_address_reaches_its_peer_only():
    peer = Interface("a", tuple(filter(None, [Address.of("192.0.2.1", "192.0.2.9/32")])))
    back = Interface("c", tuple(filter(None, [Address.of("192.0.2.9", "192.0.2.1/32")])))
    other = card("d", "192.0.2.7/24")
    (pair,) = joined(host("left", peer), host("right", back, other))
    assert [end.interface.name for end in pair] == ["a", "c"]


def test_hosts_of_different_networks_are_joined_by_the_route_between_them():
    left = host("left", card("eth0", "192.0.2.10/24"), ssh="192.0.2.10")
    right = host("right", card("eth1", "198.51.100.7/24"), ssh="198.51.100.7")
    routes = ({"198.51.100.7": "192.0.2.10"}, {"192.0.2.10": "198.51.100.7"})
    answers = {("192.0.2.10", "198.51.100.7"): "18.5"}
    assert found(left, right, answers, routes=routes) == [
        (("192.0.2.10", "198.51.100.7"), 18.5, True)
    ]


def test_no_answer_at_all_lists_the_addresses():
    with refused(NetlabError, "E-SURVEY-001", match=r"eth3 203\.0\.113\.1 \(down\)"):
        found(LEFT, RIGHT, {})


def test_given_addresses_are_taken_also_through_a_router():
    ends = ("192.0.2.10", "198.18.0.0")
    assert found(LEFT, RIGHT, {ends: "3"}, data=ends) == [(ends, 3.0, True)]
    with refused(
        NetlabError, "E-SURVEY-002", match="left: no interface has the address 192.0.2.99"
    ):
        found(LEFT, RIGHT, {}, data=("192.0.2.99", "198.18.0.0"))


@pytest.mark.parametrize("given", [("198.18.0.1", "198.18.0.0"), ("203.0.113.1", "203.0.113.2")])
def test_given_addresses_without_an_answer_are_no_path(given):
    with refused(NetlabError, "E-SURVEY-001"):
        found(LEFT, RIGHT, {}, data=given)
