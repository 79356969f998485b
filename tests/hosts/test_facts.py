"""Facts are read from what the script prints, and are None where a host does not tell."""

import os
import subprocess

import pytest

from netlab.hosts.host_facts import SCRIPT, facts_argv, parsed_facts

PRINTED = """\
hostname node1
kernel 6.1.0
machine x86_64
cpus 255
cpu_model Some CPU @ 2.00GHz
interface_exists 1
mtu_B 9000
link_speed_Mbps -1
nic_driver ixgbe
bus_width 8
bus_max_width 255
bus_speed 5.0 GT/s PCIe
nic_driver ixgbe
nic_driver_version 5.1.0-k
nic_firmware\x20
"""


def test_values_have_their_types_and_a_fact_that_the_kernel_lacks_is_none():
    facts = parsed_facts(PRINTED)
    known = {"hostname": "node1", "cpus": 255, "cpu_model": "Some CPU @ 2.00GHz", "mtu_B": 9000}
    known |= {"bus_width": 8, "bus_speed": "5.0 GT/s PCIe", "interface_exists": None}
    lacking = ("link_speed_Mbps", "bus_max_width", "nic_firmware", "governor")
    assert known.items() <= facts.items()
    assert {facts[name] for name in lacking} == {None}
    assert parsed_facts(PRINTED, "eth0")["interface_exists"] is True


def test_empty_output_has_no_facts():
    facts = parsed_facts("", "eth0")
    assert facts.pop("interface") == "eth0"
    assert facts.pop("interface_exists") is False
    assert set(facts.values()) == {None}


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        # the speed that veth makes up is not taken
        ("nic_driver veth\nlink_speed_Mbps 10000\n", "link_speed_Mbps", None),
        ("nic_driver ixgbe\nlink_speed_Mbps 10000\n", "link_speed_Mbps", 10000),
        # a machine without nodes
        ("numa_node 1\n", "numa_node", 1),
        ("numa_node -1\n", "numa_node", None),
    ],
)
def test_a_number_that_says_nothing_is_missing(text, name, value):
    assert parsed_facts(text)[name] == value


def printed(root) -> str:
    """Output of the script for a tree of files like sysfs."""
    command = (*facts_argv(), str(root))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_frequency_and_throttling_are_supported_where_sysfs_has_them(tmp_path):
    def found() -> tuple[str, str]:
        facts = parsed_facts(printed(tmp_path))
        return facts["cpu_frequency"], facts["thermal_throttling"]

    assert found() == ("unsupported: no cpufreq", "unsupported: no count of throttling")
    for name in ("cpufreq/scaling_cur_freq", "thermal_throttle/core_throttle_count"):
        file = tmp_path / "cpu0" / name
        file.parent.mkdir(parents=True)
        file.write_text("0\n")
    assert found() == ("read in each run",) * 2


BUSYBOX = 'od() { busybox od "$@"; }; awk() { busybox awk "$@"; };'
"""Its od and awk lack some of what others have."""


def facts_of(tmp_path, *arguments: str, tools: str = "") -> dict:
    """Facts of the interface eth9, which is a directory of the test."""
    assert SCRIPT.count("d=/sys/class/net/$i") == 1
    script = SCRIPT.replace("d=/sys/class/net/$i", f"d={tmp_path}/$i")
    argv = ("sh", "-c", f"{tools}{script}", "facts", "eth9", *arguments)
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.stderr == ""
    return parsed_facts(done.stdout, "eth9")


def payload_B(tmp_path, space: bytes, place: str = "device", tools: str = "") -> int | None:
    """Findings of the script in a card's configuration space."""
    card = tmp_path / "eth9"
    (card / "device").mkdir(parents=True)
    (card / place / "config").write_bytes(space)
    return facts_of(tmp_path, tools=tools)["bus_max_payload_B"]


def configuration(capability: int = 0x10, control: int = 0x2850) -> bytes:
    space = bytearray(256)
    space[0x34], space[0x50:0x52] = 0x50, (0x05, 0x60)
    space[0x60:0x62] = (capability, 0)
    space[0x68], space[0x69] = control & 0xFF, control >> 8
    return bytes(space)


@pytest.mark.parametrize(("control", "size_B"), [(0x2810, 128), (0x2850, 512), (0x58B0, 4096)])
@pytest.mark.parametrize("tools", ["", BUSYBOX])
def test_the_payload_size_is_read_from_the_configuration_space(tmp_path, control, size_B, tools):
    assert payload_B(tmp_path, configuration(control=control), tools=tools) == size_B


def test_a_virtio_card_has_that_of_its_parent(tmp_path):
    assert payload_B(tmp_path, configuration(), "device/..") == 512


@pytest.mark.parametrize(
    "space", [configuration(capability=0x07), configuration()[:64], b"", bytes([255]) * 256]
)
def test_a_payload_size_that_is_not_there_or_not_readable_is_none(tmp_path, space):
    assert payload_B(tmp_path, space) is None


def pci_facts(tmp_path, space: bytes, slots: dict[str, tuple[str, str]]) -> dict:
    """Facts of the card 0000:04:01.0 beside another one, and of slots by address and speed."""
    bus = tmp_path / "pci"
    for address in ("0000:04:01.0", "0000:04:01.1", "0000:04:02.0", "0000:05:00.0"):
        (bus / "devices" / address).mkdir(parents=True)
    (bus / "devices" / "0000:04:01.0" / "config").write_bytes(space)
    for name, (address, speed) in slots.items():
        (bus / "slots" / name).mkdir(parents=True)
        (bus / "slots" / name / "address").write_text(f"{address}\n")
        (bus / "slots" / name / "cur_bus_speed").write_text(f"{speed}\n")
    (tmp_path / "eth9").mkdir()
    (tmp_path / "eth9" / "device").symlink_to(bus / "devices" / "0000:04:01.0")
    return facts_of(tmp_path, "", str(bus))


@pytest.mark.parametrize(("status", "bits"), [(0x03, 64), (0x02, 32)])
def test_a_pci_x_card_has_the_clock_of_its_slot_and_a_width_of_its_own(tmp_path, status, bits):
    slots = {"3": ("0000:05:00", "33 MHz PCI"), "4": ("0000:04:01", "133 MHz PCI-X")}
    space = bytearray(configuration(capability=0x07))
    space[0x66] = status
    facts = pci_facts(tmp_path, bytes(space), slots)
    assert facts["bus_slot_speed"] == "133 MHz PCI-X"
    assert (facts["bus_pci_x_bits"], facts["bus_devices"]) == (bits, 2)
    assert facts["bus_max_payload_B"] is None


def test_a_card_without_a_slot_or_a_readable_configuration_has_neither(tmp_path):
    facts = pci_facts(tmp_path, b"", {})
    assert facts["bus_slot_speed"] is None and facts["bus_pci_x_bits"] is None


def below(tmp_path, upper: str, *lower: str) -> None:
    """Interfaces below another, as links of sysfs."""
    (tmp_path / upper).mkdir(exist_ok=True)
    for name in lower:
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / upper / f"lower_{name}").symlink_to(tmp_path / name)


def test_a_vlan_over_a_bond_of_one_slave_has_the_bus_of_its_card(tmp_path):
    pci = tmp_path / "pci" / "devices" / "0000:04:01.0"
    pci.mkdir(parents=True)
    (pci / "current_link_width").write_text("8\n")
    (pci / "config").write_bytes(configuration())
    below(tmp_path, "eth9", "bond0")
    below(tmp_path, "bond0", "eth0")
    (tmp_path / "eth0" / "device").symlink_to(pci)
    facts = facts_of(tmp_path, "", str(tmp_path / "pci"))
    assert facts["bus_address"] == "0000:04:01.0"
    assert (facts["bus_width"], facts["bus_max_payload_B"], facts["bus_devices"]) == (8, 512, 1)
    below(tmp_path, "bond0", "eth1")
    facts = facts_of(tmp_path, "", str(tmp_path / "pci"))
    assert facts["bus_address"] is None, "two cards have no bus in common"


def test_an_interface_with_a_card_of_its_own_has_the_bus_of_that(tmp_path):
    """A card whose representor is below it, or macsec in hardware."""
    for name in ("0000:04:01.0", "0000:05:00.0"):
        (tmp_path / "pci" / "devices" / name).mkdir(parents=True)
    below(tmp_path, "eth9", "eth0")
    for name, address in (("eth9", "0000:04:01.0"), ("eth0", "0000:05:00.0")):
        (tmp_path / name / "device").symlink_to(tmp_path / "pci" / "devices" / address)
    assert facts_of(tmp_path)["bus_address"] == "0000:04:01.0"


@pytest.mark.parametrize(("active", "fact"), [("1", "on"), ("0", "off"), (None, None)])
def test_smt_is_on_or_off_or_unknown(tmp_path, active, fact):
    if active is not None:
        (tmp_path / "smt").mkdir()
        (tmp_path / "smt" / "active").write_text(f"{active}\n")
    assert parsed_facts(printed(tmp_path))["smt"] == fact


def test_the_iommu_is_on_where_the_kernel_lists_a_unit():
    there = os.path.isdir("/sys/class/iommu")
    units = os.listdir("/sys/class/iommu") if there else []
    expected = None if not there else "on" if units else "off"
    assert parsed_facts(printed("/nowhere"))["iommu"] == expected
