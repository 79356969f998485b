"""Hosts of a fleet, and pairs of them; a mistake is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from fleet.own_inventory import OWN
from refusals import refused

from netlab.errors import BadInput
from netlab.fleet.inventory import FleetHost, Inventory, load_inventory

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
        ("config", "Host\x00 'a\n", "E-FLEET-070", None),
        ("missing/config", None, "E-FLEET-069", None),
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
