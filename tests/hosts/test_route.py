"""Packets of an address leave by a card, and the address may be of another one."""

import pytest

from netlab.hosts.route import Route


def route(leaves: str, has_address: str) -> Route:
    return Route("198.18.0.1", "198.18.0.2", "eth2", leaves, has_address)


@pytest.mark.parametrize("leaves", ["eth2", "lo", ""])
@pytest.mark.parametrize("has_address", ["eth2", ""])
def test_a_card_that_carries_its_address_has_no_fault(leaves, has_address):
    assert (route(leaves, has_address).fault, route(leaves, has_address).doubt) == ("", "")


def test_an_address_of_the_card_that_leaves_by_another_needs_an_address_or_a_rule():
    """The other card as `interface` would carry what is sent, and not what is received."""
    fault = route("eth3", "eth2").fault
    assert "leave by eth3, not by eth2: take an address of eth3, or route by source" in fault
    assert "ip rule add from 198.18.0.1 table 100" in fault


@pytest.mark.parametrize("has_address", ["", "eth3"])
def test_an_address_of_no_card_or_of_the_other_one_needs_that_one_as_the_interface(has_address):
    assert "leave by eth3, not by eth2: name eth3 in the study" in route("eth3", has_address).fault


def test_a_card_without_the_address_may_not_receive():
    doubt = route("eth2", "eth3").doubt
    assert doubt.startswith(
        "198.18.0.1 is an address of eth3, not of eth2: packets to it may arrive"
    )
