"""What lies below an interface, from trees of sysfs and what `ip -d -j link` prints of them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.hosts.host_facts import SCRIPT as FACTS
from netlab.hosts.host_facts import parsed_facts
from netlab.hosts.stack import SCRIPT, InterfaceStack, parsed_layers

HELPERS = """
say() { if [ -n "$2" ]; then printf '%s %s\\n' "$1" "$2"; fi; }
first() { if [ -r "$1" ]; then head -n 1 "$1" 2>/dev/null; fi; }
"""
LACP = {"bonding/mode": "802.3ad 4", "bonding/xmit_hash_policy": "layer3+4 1"}
BACKUP = {"bonding/mode": "active-backup 1", "bonding/active_slave": "eth1"}


@dataclass
class Tree:
    """A directory like /sys/class/net, and an `ip` that prints what the kernel says of each."""

    place: Path
    links: dict[str, dict] = field(default_factory=dict)

    def add(
        self,
        name: str,
        *lower: str,
        kind: str = "",
        mtu: int = 1500,
        speed: int = -1,
        master: str = "",
        slave_kind: str = "",
        data: dict | None = None,
        max_mtu: int = 0,
        operstate: str = "up",
        **files: str,
    ) -> None:
        """An interface; keys of `files` have `__` in place of a slash."""
        here = self.place / name
        here.mkdir()
        values = {"mtu": mtu, "speed": speed, "operstate": operstate}
        for file, value in {
            **values,
            **{k.replace("__", "/"): v for k, v in files.items()},
        }.items():
            (here / file).parent.mkdir(exist_ok=True)
            (here / file).write_text(f"{value}\n")
        for one in lower:
            (here / f"lower_{one}").symlink_to(self.place / one)
        if master:
            (here / "master").symlink_to(self.place / master)
        info = {"info_kind": kind, "info_slave_kind": slave_kind, "info_data": data or {}}
        info = {key: value for key, value in info.items() if value}
        self.links[name] = {"ifname": name, "mtu": mtu, "max_mtu": max_mtu}
        self.links[name] |= {"linkinfo": info} if info else {}

    def read(self, name: str, *, json_of_ip: bool = True) -> InterfaceStack:
        ip = self.place.parent / "bin" / "ip"
        ip.parent.mkdir(exist_ok=True)
        cases = "".join(
            f"{link}) echo {json.dumps(json.dumps([{}, words]))} ;;\n"
            for link, words in self.links.items()
        ).replace("$", "\\$")
        ip.write_text(
            f"#!/bin/sh\ncase $6 in\n{cases}esac\n" if json_of_ip else "#!/bin/sh\nexit 1\n"
        )
        ip.chmod(0o755)
        script = f"PATH={ip.parent}:$PATH\n{HELPERS}{SCRIPT}\nlayers {self.place} {name}"
        done = subprocess.run(("sh", "-c", script), capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return parsed_layers(line.removeprefix("layer ") for line in done.stdout.splitlines())


@pytest.fixture
def tree(tmp_path) -> Tree:
    place = tmp_path / "net"
    place.mkdir()
    return Tree(place)


def bonded(tree: Tree, **bonding: str) -> None:
    """Two cards of 10 Gb/s in a bond, whose speed sysfs gives as the sum."""
    for number in range(2):
        card = {"master": "bond0", "slave_kind": "bond", "speed": 10_000}
        tree.add(f"eth{number}", **card)
    files = {name.replace("/", "__"): value for name, value in bonding.items()}
    tree.add("bond0", "eth0", "eth1", kind="bond", speed=20_000, **files)


def test_a_card_that_stands_alone_has_nothing_to_say(tree):
    tree.add("eth0", speed=25_000)
    stack = tree.read("eth0")
    assert stack.rows() == [] and stack.text() == stack.settings_text() == ""
    assert stack.speed_Mbps == 25_000 and stack.mtu_refusal(9000) == ""


@pytest.mark.parametrize("json_of_ip", [True, False])
def test_a_vlan_has_the_speed_the_settings_and_the_mtu_of_its_parent(tree, json_of_ip):
    """Without JSON of ip, as of busybox, the kind is that of sysfs."""
    tree.add("eth0", speed=10_000)
    vlan = {"kind": "vlan", "data": {"protocol": "802.1Q", "id": 5}, "max_mtu": 65_535}
    tree.add("eth0.5", "eth0", speed=10_000, uevent="INTERFACE=eth0.5\nDEVTYPE=vlan", **vlan)
    stack = tree.read("eth0.5", json_of_ip=json_of_ip)
    assert stack.text() == f"eth0.5 is a VLAN{' 5' if json_of_ip else ''} on eth0"
    assert stack.settings_text().endswith("and speed are of eth0, not of eth0.5")
    assert stack.speed_Mbps == 10_000 and stack.mtu_bound() == (1500, "eth0")
    assert stack.mtu_refusal(1500) == ""
    refusal = stack.mtu_refusal(9000)
    assert "whose MTU is at most that of eth0, 1500 B" in refusal
    assert "`ip link set dev eth0 mtu 9000` first; `mtus_B: [1500]` fits it" in refusal


@pytest.mark.parametrize(
    ("bonding", "streams", "one"),
    [
        (LACP, 1, True),
        (LACP, 4, False),
        (LACP | {"bonding/xmit_hash_policy": "layer2+3 2"}, 4, True),
        (BACKUP, 4, True),
        ({"bonding/mode": "balance-rr 0"}, 1, False),
    ],
)
def test_a_stream_takes_one_slave_of_a_bond_by_its_mode_and_hash_policy(
    tree, bonding, streams, one
):
    bonded(tree, **bonding)
    stack = tree.read("bond0")
    assert stack.takes_one_slave(streams) == one
    assert stack.speed_Mbps == 10_000  # not the sum
    assert stack.cards == ("eth0", "eth1")
    assert stack.text().startswith("bond0 is a bond of eth0 and eth1 (")


def test_a_vlan_on_a_bond_is_read_to_its_cards(tree):
    bonded(tree, **LACP)
    tree.add("bond0.7", "bond0", kind="vlan", data={"id": 7}, speed=20_000)
    stack = tree.read("bond0.7")
    assert stack.text() == (
        "bond0.7 is a VLAN 7 on bond0; bond0 is a bond of eth0 and eth1 "
        "(802.3ad, hash policy layer3+4)"
    )
    assert stack.speed_Mbps == 10_000 and stack.cards == ("eth0", "eth1")
    assert "a stream takes one slave of bond0 (10000 Mb/s), not the sum" in stack.slave_text()


def test_the_slowest_slave_that_is_up_counts_and_of_a_backup_the_active_one(tree):
    tree.add("eth0", speed=1000, master="bond0", slave_kind="bond")
    tree.add("eth1", speed=10_000, master="bond0", slave_kind="bond")
    tree.add("eth2", speed=100, master="bond0", slave_kind="bond", operstate="down")
    files = {name.replace("/", "__"): value for name, value in BACKUP.items()}
    tree.add("bond0", "eth0", "eth1", "eth2", kind="bond", **files)
    tree.add("bond1", "eth0", "eth1", "eth2", kind="bond", bonding__mode="802.3ad 4")
    assert tree.read("bond0").speed_Mbps == 10_000
    assert tree.read("bond1").speed_Mbps == 1000


def test_a_team_is_a_bond_too(tree):
    for number in range(2):
        tree.add(f"eth{number}", speed=25_000, master="team0", slave_kind="team")
    tree.add("team0", "eth0", "eth1", kind="team", speed=-1)
    stack = tree.read("team0")
    assert stack.speed_Mbps == 25_000 and stack.takes_one_slave(1) and not stack.takes_one_slave(4)
    assert stack.text() == "team0 is a team of eth0 and eth1"


@pytest.mark.parametrize("json_of_ip", [True, False])
def test_a_vrf_is_above_the_interface(tree, json_of_ip):
    tree.add("red", kind="vrf", data={"table": 10})
    tree.add("eth0", speed=10_000, master="red", slave_kind="vrf")
    stack = tree.read("eth0", json_of_ip=json_of_ip)
    assert (stack.vrf, stack.text()) == ("red", "eth0 is in the VRF red")
    assert stack.speed_Mbps == 10_000 and stack.settings_text() == ""
    assert InterfaceStack.of(stack.rows()) == stack


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("macvlan", {"mode": "bridge"}, "x0 is a macvlan (mode bridge) on eth0"),
        ("ipvlan", {"mode": "l2"}, "x0 is an ipvlan (mode l2) on eth0"),
    ],
)
def test_a_macvlan_and_an_ipvlan_are_bounded_by_their_parent(tree, kind, data, words):
    tree.add("eth0", speed=10_000)
    tree.add("x0", "eth0", kind=kind, data=data, speed=10_000)
    stack = tree.read("x0")
    assert stack.text() == words
    assert stack.speed_Mbps == 10_000 and "at most that of eth0" in stack.mtu_refusal(9000)


@pytest.mark.parametrize(
    ("kind", "data", "lower", "words"),
    [
        ("vxlan", {"id": 42}, ("eth0",), "x0 is a tunnel (VXLAN 42) on eth0"),
        ("wireguard", {}, (), "x0 is a tunnel (WireGuard)"),
        ("gre", {}, (), "x0 is a tunnel (GRE)"),
        ("openvswitch", {}, (), "x0 is a port of Open vSwitch"),
    ],
)
def test_a_tunnel_or_a_port_of_a_switch_has_no_speed_and_no_ring_of_its_own(
    tree, kind, data, lower, words
):
    tree.add("eth0", speed=10_000)
    tree.add("x0", *lower, kind=kind, data=data, max_mtu=1450)
    stack = tree.read("x0")
    assert stack.text() == words and stack.speed_Mbps is None
    assert ("of eth0, not of x0" if lower else "the kernel does not name") in stack.settings_text()
    assert stack.mtu_refusal(9000) == "x0 takes an MTU of 1450 B at most, not 9000 B"


def test_a_bridge_has_the_speed_of_its_one_card(tree):
    tree.add("eth0", speed=10_000, master="br0", slave_kind="bridge")
    tree.add("veth0", kind="veth", speed=10_000, master="br0", slave_kind="bridge")
    tree.add("br0", "eth0", "veth0", kind="bridge")
    assert tree.read("br0").speed_Mbps == 10_000
    assert tree.read("br0").text().startswith("br0 is a bridge of eth0 and veth0")


def test_a_circle_of_links_ends(tree):
    tree.add("a", kind="bond")
    tree.add("b", "a", kind="vlan")
    (tree.place / "a" / "lower_b").symlink_to(tree.place / "b")
    assert {layer.name for layer in tree.read("b").layers} == {"a", "b"}
    assert tree.read("b").speed_Mbps is None


@given(st.lists(st.text(max_size=60), max_size=20))
def test_no_line_stops_it(lines):
    stack = parsed_layers(lines)
    assert InterfaceStack.of(stack.rows()) == (stack if stack.rows() else InterfaceStack(()))
    assert isinstance(stack.text() + stack.settings_text() + stack.slave_text(), str)
    assert isinstance(parsed_facts("\n".join(f"layer {line}" for line in lines)), dict)


@pytest.mark.parametrize("link", ["[", "[[]]", "[1]", '[{"linkinfo": 1}]', "[{}, {}]", "null"])
def test_no_json_of_an_ip_stops_it(link):
    (layer,) = parsed_layers([f"eth0 link {link}"]).layers
    assert layer.kind == ""


def test_facts_read_it():
    assert SCRIPT in FACTS
