"""Facts are read from what the script prints, and are None where a host does not tell."""

import subprocess

from netlab.hosts.facts import argv, parse

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


def test_values_have_their_types():
    facts = parse(PRINTED)
    assert facts["hostname"] == "node1"
    assert facts["cpus"] == 255
    assert facts["cpu_model"] == "Some CPU @ 2.00GHz"
    assert facts["mtu_B"] == 9000
    assert facts["bus_width"] == 8
    assert facts["bus_speed"] == "5.0 GT/s PCIe"


def test_a_fact_that_the_kernel_lacks_is_none():
    facts = parse(PRINTED)
    assert facts["link_speed_Mbps"] is None
    assert facts["bus_max_width"] is None
    assert facts["nic_firmware"] is None
    assert facts["governor"] is None


def test_empty_output_has_no_facts():
    facts = parse("", "eth0")
    assert facts.pop("interface") == "eth0"
    assert facts.pop("interface_exists") is False
    assert set(facts.values()) == {None}


def test_without_an_interface_none_exists_or_is_missing():
    assert parse(PRINTED)["interface_exists"] is None
    assert parse(PRINTED, "eth0")["interface_exists"] is True


def test_the_speed_that_veth_makes_up_is_not_taken():
    assert parse("nic_driver veth\nlink_speed_Mbps 10000\n")["link_speed_Mbps"] is None
    assert parse("nic_driver ixgbe\nlink_speed_Mbps 10000\n")["link_speed_Mbps"] == 10000


def printed(root) -> str:
    """Output of the script for a tree of files like sysfs."""
    command = (*argv(), str(root))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_frequency_and_throttling_are_supported_where_sysfs_has_them(tmp_path):
    assert parse(printed(tmp_path))["cpu_frequency"] == "unsupported: no cpufreq"
    assert parse(printed(tmp_path))["thermal_throttling"] == "unsupported: no count of throttling"
    for name in ("cpufreq/scaling_cur_freq", "thermal_throttle/core_throttle_count"):
        file = tmp_path / "cpu0" / name
        file.parent.mkdir(parents=True)
        file.write_text("0\n")
    assert parse(printed(tmp_path))["cpu_frequency"] == "read in each run"
    assert parse(printed(tmp_path))["thermal_throttling"] == "read in each run"
