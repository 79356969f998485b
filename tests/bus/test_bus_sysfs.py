"""Reading the bus of an interface from a sysfs tree."""

import pytest

from netlab import bus
from netlab.bus import parallel_of
from netlab.errors import BadInput


def _interface(root, name, subsystem=None, **files):
    """Make a sysfs tree with one interface, laid out as the kernel does."""
    entry = root / "class" / "net" / name
    entry.mkdir(parents=True)
    if subsystem is None:
        return None
    kind = root / "bus" / subsystem
    kind.mkdir(parents=True, exist_ok=True)
    device = root / "devices" / f"0000:{len(name):02x}:00.0"
    device.mkdir(parents=True)
    (device / "subsystem").symlink_to(kind)
    (entry / "device").symlink_to(device)
    for file, text in files.items():
        (device / file).write_text(f"{text}\n")
    return device


def test_a_card_s_link_is_read_and_what_it_supports(tmp_path):
    files = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "8"}
    more = {"max_link_speed": "16.0 GT/s PCIe", "max_link_width": "8"}
    _interface(tmp_path, "eth0", "pci", **files, **more)
    assert bus.of_interface("eth0", sysfs=tmp_path) == (
        "PCIe 3.0 x8 (128b/130b), 7877 MB/s each way; "
        "the device supports PCIe 4.0 x8 (128b/130b), 15754 MB/s each way"
    )


def test_the_text_of_older_kernels_is_read(tmp_path):
    _interface(tmp_path, "eth0", "pci", current_link_speed="2.5 GT/s", current_link_width="4")
    assert bus.of_interface("eth0", sysfs=tmp_path) == str(bus.SerialBus(1, 4))


@pytest.mark.parametrize("subsystem", [None, "virtio", "usb", "xen", "vmbus"])
def test_a_virtual_device_has_no_bus(tmp_path, subsystem):
    _interface(tmp_path, "veth1", subsystem)
    assert bus.of_interface("veth1", sysfs=tmp_path) == bus.of_interface("lo") == "no bus"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"current_link_speed": "Unknown", "current_link_width": "0"},
        {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "0"},
        {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "255"},
        {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "eight"},
        {"current_link_speed": "256.0 GT/s PCIe", "current_link_width": "8"},
    ],
)
def test_a_card_that_reports_no_link_says_so(tmp_path, files):
    _interface(tmp_path, "eth0", "pci", **files)
    assert bus.of_interface("eth0", sysfs=tmp_path) == "PCI, link speed not reported"


def test_a_virtual_function_has_the_link_of_its_physical_function(tmp_path):
    unknown = {"current_link_speed": "Unknown", "current_link_width": "0"}
    known = {"current_link_speed": "16.0 GT/s PCIe", "current_link_width": "16"}
    function = _interface(tmp_path, "eth0", "pci", **unknown)
    card = _interface(tmp_path, "ens1f0", "pci", **known)
    (function / "physfn").symlink_to(card)
    assert bus.of_interface("eth0", sysfs=tmp_path) == str(bus.SerialBus(4, 16))


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../eth0", "eth 0", "eth:1", "x" * 16, "eth0\n", None, 3]
)
def test_a_name_no_kernel_would_take_is_refused(tmp_path, name):
    with pytest.raises(BadInput, match="interface"):
        bus.of_interface(name, sysfs=tmp_path)
    with pytest.raises(BadInput, match="no such interface"):
        bus.of_interface("eth9", sysfs=tmp_path)


@pytest.mark.parametrize(
    ("speed", "bits", "MBps"),
    [
        ("33 MHz PCI", 32, 133),
        ("66 MHz PCI", 64, 532),
        ("100 MHz PCI-X\n", 64, 800),
        ("133 MHz PCI-X", 64, 1064),
        ("133 MHz PCI-X 266", 64, 2128),
        ("133 MHz PCI-X 533", 64, 4256),
        *[(None, 64, None), ("133 MHz PCI-X", None, None), ("Unknown", 64, None)],
        *[("AGP 8x", 32, None), ("8.0 GT/s PCIe", 64, None), ("66 MHz PCI-X 266", 64, None)],
        ("133 MHz PCI", 64, None),
    ],
)
def test_a_slot_reports_the_clock_of_a_parallel_bus_or_something_else(speed, bits, MBps):
    found = parallel_of(speed, bits)
    assert (found and found.bandwidth_MBps) == MBps
