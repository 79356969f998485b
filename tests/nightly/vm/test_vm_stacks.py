"""VLAN, bond and VRF of two machines, made by the kernel's own modules: found, checked, measured.

Interpreted processors: 10 Mb/s of a slave are far below what they carry.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import pandas as pd
import pytest
import yaml
from nightly.vm.image import DEBIAN
from nightly.vm.vm_site import Machines, study_of

from netlab import core
from netlab.hosts.host_facts import facts_argv, parsed_facts
from netlab.hosts.stack import InterfaceStack
from netlab.measure.bottleneck import SLAVE
from netlab.results.store import Store

pytestmark = pytest.mark.timeout(1800)
SLOW_S = 600.0
"""Timeout of a command of netlab beside other programs, which takes a minute without them."""
ENDS = {"vlan": ("5", "e1000e.5"), "bond": ("6", "bond0"), "vrf": ("2", "e1000")}
"""Third number of the addresses of a path, and the interface of either end."""

SET_UP = f"""
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
ip addr add 198.18.5.NUMBER/24 dev e1000e.5
ip addr add 198.18.6.NUMBER/24 dev bond0
for i in 1:e1000e 3:vmxnet3 4:virtio; do
    ip addr del 198.18.${{i%:*}}.NUMBER/24 dev ${{i#*:}}
done
ethtool -s virtio speed 10 duplex full
for i in vmxnet3 virtio; do
    {DEBIAN}/tc qdisc replace dev $i root tbf rate 10mbit burst 50000 latency 400ms overhead 24
done
echo 00112233445566778899aabbccddeeff >/tmp/token
"""
TAKE_DOWN = f"""
for i in vmxnet3 virtio; do {DEBIAN}/tc qdisc del dev $i root; done
ethtool -s virtio speed $((0xffffffff))  # unknown
rm -f /usr/sbin/ip /tmp/token /tmp/gensink
ip link del e1000e.5
ip link del bond0
ip link del red
for i in 1:e1000e 3:vmxnet3 4:virtio; do
    ip link set ${{i#*:}} up
    ip addr add 198.18.${{i%:*}}.NUMBER/24 dev ${{i#*:}}
done
"""
RUN = "--json --token=/tmp/token --port=5000 --interface=e1000 --window-ms=1000"


@pytest.fixture(scope="module")
def stacked(two_machines: Machines) -> Iterator[Machines]:
    for guest in two_machines.guests.values():
        guest.sh(SET_UP.replace("NUMBER", str(guest.number)))
        guest.put(core.gensink_path(), "/tmp/gensink")
    yield two_machines
    for guest in two_machines.guests.values():
        guest.sh(TAKE_DOWN.replace("NUMBER", str(guest.number)))
    two_machines.clean()


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
    assert sorted(bond.cards) == ["virtio", "vmxnet3"] and bond.speed_Mbps == 10
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


def command(site: Machines, *words: str) -> tuple[int, str]:
    """Exit code and output of netlab."""
    process = site.start(*words)
    printed, complaint = process.communicate(timeout=SLOW_S)
    return process.returncode, printed + complaint


def write_study(site: Machines, groups: list[dict]) -> None:
    guests = site.guests
    ends = {
        path: {n: (f"198.18.{net}.{guest.number}", card) for n, guest in guests.items()}
        for path, (net, card) in ENDS.items()
    }
    addresses = {name: guest.address for name, guest in guests.items()}
    tunings = [{"name": "as-found"}]
    study = study_of(addresses, site.state / "key", ends, tunings, groups=groups)
    site.study.write_text(yaml.safe_dump(study, sort_keys=False))


def test_init_finds_each_and_names_what_lies_below(stacked):
    names = (f"root@{guest.address}" for guest in stacked.guests.values())
    login = ("--identity-file", str(stacked.state / "key"))
    code, printed = command(stacked, "init", *names, *login, "-o", "stacked.yml", "--force")
    assert code == 0, printed
    text = " ".join((stacked.state / "stacked.yml").read_text().replace("#", "").split())
    for words in (
        "e1000e.5 is a VLAN on e1000e",
        "bond0 is a bond of virtio and vmxnet3 (balance-xor, hash policy layer2)",
        "e1000 is in the VRF red",
        "all streams between two addresses take one slave of bond0 (10 Mb/s), not the sum",
        "198.18.2.1, interface: e1000}",
    ):
        assert words in text, text


@pytest.fixture(scope="module")
def measured(stacked) -> tuple[tuple[int, str], pd.DataFrame]:
    """What `check` says where no iproute2 is, and a run of each path where it is."""
    own = [{"name": path, "path": path, "sender": "a"} for path in ENDS]
    write_study(stacked, [*own, {**own[-1], "name": "vrf by iperf3", "generator": "iperf3"}])
    checked = command(stacked, "check", str(stacked.study))
    for guest in stacked.guests.values():
        guest.sh(f"ln -s {DEBIAN}/ip /usr/sbin/ip")
    where = ("--results", str(stacked.state / "stacked"), "--rounds", "1", "--seconds", "4")
    code, printed = command(stacked, "run", str(stacked.study), *where)
    rows = Store(stacked.state / "stacked").runs()
    # 4: what else runs on this machine may flag a run
    assert code in (0, 4) and len(rows) == 4, (printed, rows[["group", "message"]].to_dict())
    stacked.ended()
    return checked, rows.set_index("group")


def test_check_names_each_and_refuses_another_program_that_it_cannot_bind(measured):
    (code, printed), _ = measured
    for host in ("a", "b"):
        assert f"{host}: e1000e.5 is a VLAN on e1000e; ring, queues" in printed
        assert "and speed are of e1000e, not of e1000e.5" in printed
        assert f"warn  {host}: all streams between two addresses take one slave of bond0" in printed
    assert code == 1 and "1 of" in printed, printed
    refusal = "iperf3 is started by `ip vrf exec red iperf3`, as red is a VRF: no `ip` of this host"
    assert f"fail  path vrf: a: {refusal} has that command; install iproute2" in printed, printed


def test_each_is_measured_and_its_record_names_what_lies_below(measured):
    rows = measured[1]
    assert not rows["flags"].str.contains("failed|ledger").any(), rows[["flags", "message"]]
    assert (rows.loc[[*ENDS], "ledger_error_B"] == 0).all()
    assert (rows["received_B"] > 0).all()
    pinged = json.loads(rows.loc["vrf", "provenance"])["path_check"]["ping"]
    assert "bytes from 198.18.2.2" in pinged, pinged
    expected = {
        "vlan": [("e1000e.5", "vlan", ["e1000e"], ""), ("e1000e", "", [], "")],
        "bond": [
            ("bond0", "bond", ["virtio", "vmxnet3"], ""),
            ("virtio", "", [], "bond0"),
            ("vmxnet3", "", [], "bond0"),
        ],
        "vrf": [("e1000", "", [], "red")],
    }
    for group, row in rows.iterrows():
        for facts in json.loads(row["provenance"])["hosts"].values():
            layers = [(of["name"], of["kind"], of["lower"], of["master"]) for of in facts["layers"]]
            assert layers == expected[row["path"]], group


def test_the_slave_that_carried_is_named_and_is_the_limit(measured):
    row = measured[1].loc["bond"]
    for host in ("a", "b"):
        shares = re.search(
            rf"{host}: of bond0 carried virtio (\d+) %, vmxnet3 (\d+) %", row["message"]
        )
        assert shares and max(map(int, shares.groups())) > 90, row["message"]
    assert row["link_MBps"] == 10 / 8
    assert row["bottleneck"] == SLAVE, (row["percent_of_ceiling"], row["bottleneck"])


def test_another_program_is_measured_in_the_vrf(measured):
    called = json.loads(measured[1].loc["vrf by iperf3", "provenance"])["generator"]
    for end in ("client", "server"):
        assert called[end][:5] == ["ip", "vrf", "exec", "red", "iperf3"]
