"""Hosts of a fleet, and pairs of them; a mistake is named with its line."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from fleet.own_inventory import OWN
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import BadInput
from netlab.fleet.inventory import FleetHost, Inventory, load_inventory, pairs_of, ring, rounds_of

SSH = """\
Host web1
    HostName 192.0.2.1
    Port 2222
    IdentityFile /keys/a
Host web2
    HostName 192.0.2.2
Host *
    User ops
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "hosts.yml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_host_has_what_its_file_gives(written):
    login = {"address": "192.0.2.1", "user": "ops", "port": 2222, "identity_file": "/keys/a"}
    chosen_by = {"groups": ("eu", "web"), "labels": {"rack": "7"}}
    host = FleetHost(**login, **chosen_by, data_address="198.18.0.1", interface="eth1")
    assert load_inventory(written(OWN)).hosts["web1"] == host


def test_hosts_of_an_ssh_configuration_have_its_addresses_and_no_patterns(written):
    found = load_inventory(written(SSH, "ssh_config")).hosts
    assert list(found) == ["web1", "web2"]
    assert found["web1"].ssh("web1").port == 2222
    assert found["web2"] == FleetHost(address="192.0.2.2", user="ops")


def test_the_users_own_ssh_configuration_is_left_to_ssh(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    path = tmp_path / ".ssh" / "config"
    path.write_text(f"{SSH}Host web2 web3\n  ProxyJump web1\n")
    found = load_inventory(path).hosts
    assert list(found) == ["web1", "web2", "web3"]
    assert found["web3"].ssh("web3").address == "web3"


def test_hosts_are_chosen_by_group_label_and_name(written):
    own = load_inventory(written(OWN))
    assert own.only([]) == own.only(["eu"]) == own.only(["web", "eu"]) == own
    with refused(BadInput, "E-FLEET-004", match="eu, web"):
        own.only(["rack=7"])
    with refused(BadInput, "E-FLEET-004"):
        own.only(["nowhere"])


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("h.yml", "netlab: 1\nhosts: {a: {}, b: {}}\npairs:\n- [a, c]\n", "E-FLEET-001", 4),
        ("h.yml", "netlab: 1\nhosts: {a: {}, b: {}}\npairs:\n- [a, a]\n", "E-FLEET-002", 4),
        ("h.yml", "netlab: 1\nhosts: {a: {}, b: {}}\npairs: [[a, b],\n [b, a]]", "E-FLEET-003", 4),
        ("h.yml", "netlab: 1\nhosts:\n  a: {adress: x}\n  b: {}\n", "E-YAML-020", 3),
        ("h.yml", "netlab: 1\nhosts:\n  a: {}\n  b: {address: -x}\n", "E-YAML-022", 4),
        ("h.yml", "netlab: 1\nhosts:\n  a: {}\n  b: {data_address: x}\n", "E-YAML-022", 4),
        ("h.yml", "netlab: 1\nhosts:\n  a: {}\n  b: {interface: a b}\n", "E-YAML-022", 4),
        ("config", "Host a\nHost b\n ProxyJump a\n", "E-FLEET-018", 2),
        ("config", "Host\x00 'a\n", "E-HOST-041", None),
        ("missing/config", None, "E-HOST-040", None),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, name, text, code, line):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with refused(BadInput, code) as caught:
        load_inventory(path)
    assert caught.value.where == (f"{path}:{line}" if line else str(path))


def test_a_fleet_has_two_hosts_at_least(written):
    with refused(BadInput, "E-YAML-022"):
        load_inventory(written("netlab: 1\nhosts: {a: {}}\n"))
    assert len(Inventory(hosts={"a": FleetHost(), "b": FleetHost()}).hosts) == 2


# Pairs by rule are the pairs that the rule says; in a round a host is busy once.

counts = st.integers(min_value=2, max_value=40)


def names(count: int) -> list[str]:
    return [f"h{number}" for number in range(count)]


def fleet(count: int = 4, pairs: tuple[tuple[str, str], ...] = ()) -> Inventory:
    return Inventory.model_validate({"hosts": {name: {} for name in names(count)}, "pairs": pairs})


def as_sets(pairs) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in pairs}


@given(counts)
def test_all_pairs_are_there_once(count):
    pairs = pairs_of(fleet(count), "all")
    assert len(pairs) == len(as_sets(pairs)) == count * (count - 1) // 2


@given(counts)
def test_a_ring_joins_every_host_to_two_others_and_two_hosts_once(count):
    pairs = ring(names(count))
    assert len(as_sets(pairs)) == len(pairs) == (1 if count == 2 else count)
    degrees = [sum(name in pair for pair in pairs) for name in names(count)]
    assert set(degrees) == {1 if count == 2 else 2}


@given(counts)
def test_a_star_joins_one_host_to_all_others(count):
    pairs = pairs_of(fleet(count), "star=h1")
    assert all(pair[0] == "h1" for pair in pairs)
    assert {pair[1] for pair in pairs} == set(names(count)) - {"h1"}


def test_pairs_are_the_given_ones_or_a_ring_by_default():
    chosen = (("h2", "h0"), ("h1", "h3"))
    assert pairs_of(fleet(4, chosen)) == pairs_of(fleet(4, chosen), "given") == chosen
    assert pairs_of(fleet(4)) == ring(names(4))
    assert pairs_of(fleet(4), "h3:h1,h0:h1") == (("h3", "h1"), ("h0", "h1"))


def busy_once(rounds) -> bool:
    return all(len(pairs) * 2 == len({n for pair in pairs for n in pair}) for pairs in rounds)


@given(counts)
def test_rounds_of_all_pairs_are_a_latin_square(count):
    pairs = pairs_of(fleet(count), "all")
    rounds = rounds_of(pairs)
    assert busy_once(rounds)
    assert len(rounds) == (count - 1 if count % 2 == 0 else count)
    assert {len(one) for one in rounds} == {count // 2}
    assert sorted(pair for one in rounds for pair in one) == sorted(pairs)


@given(st.sets(st.sampled_from(list(combinations(names(12), 2))), min_size=1), st.randoms())
def test_rounds_of_any_pairs_have_each_pair_once_and_a_host_at_most_once(chosen, random):
    pairs = list(chosen)
    random.shuffle(pairs)
    rounds = rounds_of(pairs)
    assert busy_once(rounds)
    assert sorted(pair for one in rounds for pair in one) == sorted(pairs)
    busiest = max(sum(name in pair for pair in pairs) for name in names(12))
    assert len(rounds) < 2 * busiest or len(rounds) == 1


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("given", "E-FLEET-019"),
        ("square", "E-FLEET-020"),
        ("h0:h0", "E-FLEET-021"),
        ("h0:h1,h1:h0", "E-FLEET-021"),
        ("h0:h9", "E-FLEET-022"),
        ("star=", "E-FLEET-022"),
        ("star=h9", "E-FLEET-022"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(rule, code):
    with refused(BadInput, code):
        pairs_of(fleet(), rule)
