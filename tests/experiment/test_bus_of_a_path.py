"""The bus of a path is the study's, else the one that the hosts report."""

from __future__ import annotations

import pytest
import yaml
from synthetic import FOREIGN

from netlab.experiment.path_bus import contradiction
from netlab.experiment.trial import setting_of
from netlab.files.recorded_facts import end_facts
from netlab.study import Study, load

GEN3_X8 = {"bus_speed": "8.0 GT/s PCIe", "bus_width": 8}
GEN3_X4 = {"bus_speed": "8.0 GT/s PCIe", "bus_width": 4}
X8_MBps, X4_MBps = 8000 * 8 / 8 * 128 / 130, 8000 * 4 / 8 * 128 / 130


PCI_X = {"bus_slot_speed": "133 MHz PCI-X", "bus_pci_x_bits": 64}
STATED = {"bandwidth_MBps": 1064.0, "label": "PCI-X", "shared": True}


def study(**buses: dict) -> Study:
    """Two SSH hosts, with a bus where one is given."""
    content = yaml.safe_load(FOREIGN)
    for host, bus in buses.items():
        content["hosts"][host]["bus"] = bus
    return load(content)


def payload(size_B: int) -> dict:
    return GEN3_X8 | {"bus_max_payload_B": size_B}


@pytest.mark.parametrize(
    ("buses", "left", "right", "MBps", "shared", "text"),
    [
        ({}, GEN3_X8, GEN3_X4, X4_MBps, False, "PCIe 3.0 x4, as the host reports"),
        ({"left": STATED}, GEN3_X8, GEN3_X8, 1064.0, True, "PCI-X, as the study states"),
        (
            *({}, payload(128), payload(512), X8_MBps * 128 / 148, False),
            "PCIe 3.0 x8 (128b/130b) in packets of 128 B, as the host reports",
        ),
        (
            *({}, payload(8192), payload(512), X8_MBps * 512 / 532, False),
            "PCIe 3.0 x8 (128b/130b) in packets of 512 B, as the host reports",
        ),
        (
            *({}, PCI_X | {"bus_devices": 2}, GEN3_X8, 1064.0, True),
            "PCI-X 1.0 64 bit at 133 MHz, shared by 2 devices, as the host reports",
        ),
        (
            *({}, PCI_X | {"bus_devices": 1}, GEN3_X8, 1064.0, True),
            "PCI-X 1.0 64 bit at 133 MHz, as the host reports",
        ),
    ],
)
def test_the_slower_bus_of_a_path_counts_as_stated_or_else_as_reported(
    buses, left, right, MBps, shared, text
):
    setting = setting_of(
        study(**buses),
        "rack",
        1500,
        group=study().groups[0],
        facts={"left": end_facts(left), "right": end_facts(right)},
    )
    assert setting.bus_MBps == pytest.approx(MBps)
    assert (setting.bus_shared, setting.bus_source) == (shared, text)


@pytest.mark.parametrize("facts", [{}, {"bus_speed": "Unknown", "bus_width": 8}])
def test_a_path_with_an_unknown_bus_has_none(facts):
    setting = setting_of(
        study(),
        "rack",
        1500,
        group=study().groups[0],
        facts={"left": end_facts(GEN3_X8), "right": end_facts(facts)},
    )
    assert setting.bus_MBps is None


def stating(MBps: float, label: str = "PCIe 3.0 x8") -> dict:
    return {"bandwidth_MBps": round(MBps), "label": label}


@pytest.mark.parametrize(
    ("bus", "facts", "said"),
    [
        (stating(1064, "PCI-X"), GEN3_X8, ("PCIe 3.0 x8", "hosts.left.bus")),
        (STATED, PCI_X, ()),
        (
            *(STATED, PCI_X | {"bus_slot_speed": "66 MHz PCI-X"}),
            ("the host reports PCI-X 1.0 64 bit at 66 MHz, 532 MB/s",),
        ),
        (stating(X8_MBps), GEN3_X8, ()),
        (stating(X8_MBps), {}, ()),
        (None, GEN3_X8, ()),
        # that of the line code, or of the payload
        (stating(X8_MBps), payload(256), ()),
        (stating(X8_MBps * 256 / 276), payload(256), ()),
        (stating(6000), payload(256), ("study states 6000 MB/s",)),
    ],
)
def test_a_stated_bus_that_the_host_contradicts_is_described(bus, facts, said):
    found = contradiction(study(**({"left": bus} if bus else {})), "left", end_facts(facts))
    assert (found is None) == (not said)
    assert all(words in found for words in said)
