"""VLAN, bond and VRF of two machines, made by the kernel's own modules."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest

from netlab import core
from netlab.hosts.host import facts_argv, parsed_facts
from netlab.hosts.stack import InterfaceStack

from .site import Machines

pytestmark = pytest.mark.timeout(900)

SET_UP = """
ip link add link e1000e name e1000e.5 type vlan id 5
ip link set e1000e.5 up
ip link add bond0 type bond
ip link set vmxnet3 down
ip link set virtio down
echo balance-xor >/sys/class/net/bond0/bonding/mode
echo +vmxnet3 >/sys/class/net/bond0/bonding/slaves
echo +virtio >/sys/class/net/bond0/bonding/slaves
ip link set bond0 up
ip link add red type vrf table 10
ip link set red up
ip link set e1000 master red
echo 00112233445566778899aabbccddeeff >/tmp/token
"""
TAKE_DOWN = """
ip link del e1000e.5
ip link del bond0
ip link del red
for i in 3:vmxnet3 4:virtio; do
    ip link set ${i#*:} up
    ip addr show dev ${i#*:} | grep -q 198.18 || ip addr add 198.18.${i%:*}.NUMBER/24 dev ${i#*:}
done
"""
RUN = "--json --token=/tmp/token --port=5000 --interface=e1000 --window-ms=1000"


@pytest.fixture(scope="module")
def stacked(two_machines: Machines) -> Iterator[Machines]:
    for guest in two_machines.guests.values():
        guest.sh(SET_UP)
        guest.put(core.gensink_path(), "/tmp/gensink")
    yield two_machines
    for guest in two_machines.guests.values():
        guest.sh(TAKE_DOWN.replace("NUMBER", str(guest.number)))


def test_each_is_read_down_to_its_cards(stacked):
    """busybox's ip prints no JSON: sysfs alone is read."""
    guest = stacked.guests["a"]

    def stack(name: str) -> InterfaceStack:
        facts = parsed_facts(guest.sh(shlex.join(facts_argv(name))), name)
        return InterfaceStack.of(facts["layers"])

    vlan, bond, vrf = stack("e1000e.5"), stack("bond0"), stack("e1000")
    assert vlan.text() == "e1000e.5 is a VLAN on e1000e"
    assert vlan.speed_Mbps == 1000 and vlan.mtu_bound() == (1500, "e1000e")
    assert "whose MTU is at most that of e1000e" in vlan.mtu_refusal(9000)
    refused = guest.ssh("ip link set dev e1000e.5 mtu 9000")
    assert refused.returncode != 0  # by the kernel, too
    assert sorted(bond.cards) == ["virtio", "vmxnet3"]
    assert bond.layers[0].mode == "balance-xor" and bond.takes_one_slave(4)
    assert vrf.vrf == "red" and vrf.text() == "e1000 is in the VRF red"


def test_a_run_has_the_addresses_of_a_vrf(stacked):
    a, b = stacked.guests.values()
    sink = f"/tmp/gensink sink --bind 198.18.2.2 {RUN}"
    b.sh(f"({sink} >/tmp/out 2>&1 </dev/null &); sleep 2")
    gen = "timeout 60 /tmp/gensink gen --to 198.18.2.2 --from 198.18.2.1"
    sent = json.loads(a.sh(f"{gen} {RUN}").splitlines()[-1])
    assert sent["total_bytes"] > 0
    outside = a.ssh(f"{gen} {RUN.replace('--interface=e1000', '')} 2>&1")
    assert "Cannot assign requested address" in outside.stdout
