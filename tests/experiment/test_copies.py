"""Memory copies as a ceiling: each of two hosts measures itself once a campaign."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
import yaml
from synthetic import FOREIGN

from netlab.experiment.path import FILE, Copies, contradiction, host_bus, path_bus
from netlab.experiment.trial import setting_of
from netlab.hosts.host import Completed
from netlab.results.store import folder
from netlab.study import Study, load, schedule

GiB_kB = 1 << 20


@dataclass
class CopyingHost:
    """A host that copies 8 GB/s, or says what it is told to say."""

    stdout: str = '{"event":"copyrate","hot_Bps":30000000000,"cold_Bps":8000000000}\n'
    stderr: str = ""
    asked: list[tuple] = field(default_factory=list)

    def run(self, argv, **_options) -> Completed:
        self.asked.append(tuple(argv))
        return Completed(tuple(argv), self.stdout, self.stderr, 0 if self.stdout else 1)


@dataclass
class CopyingEnd:
    """An open end of a path."""

    host: CopyingHost = field(default_factory=CopyingHost)
    facts: dict = field(default_factory=lambda: {"cpus": 8, "memory_kB": 4 * GiB_kB})
    binary: str = "/cache/gensink"


def study_of(**keys):
    content = yaml.safe_load(FOREIGN)
    direction = keys.pop("direction", "->")
    content["groups"][0]["direction"] = direction
    return load({**content, **keys})


def ends(**of_right) -> dict[str, CopyingEnd]:
    return {"left": CopyingEnd(), "right": CopyingEnd(**of_right)}


def runs_of(study):
    """Streams -> run of the first round."""
    return {run.streams: run for visit in schedule.visits(study) for run in visit.runs}


def ceiling(study, streams, **of_right):
    both = ends(**of_right)
    copies = Copies.of(study, "rack", both, directory=None)
    facts = {name: end.facts for name, end in both.items()}
    return copies.ceiling(study, runs_of(study)[streams], facts)


SLOW = CopyingHost(stdout='{"cold_Bps": 5000000000}')


def test_each_host_is_measured_once_a_campaign(tmp_path):
    study, first, again = study_of(), ends(), ends()
    for both in (first, again):
        Copies.of(study, "rack", both, tmp_path, "20260101T000000Z")
        assert [end.facts["copy_MBps"] for end in both.values()] == [8000.0, 8000.0]
    command = ("/cache/gensink", "copyrate", "--budget-ms", "100")
    assert [end.host.asked for end in first.values()] == [[command], [command]]
    assert [end.host.asked for end in again.values()] == [[], []]
    stored = json.loads((folder(tmp_path, "20260101T000000Z") / FILE).read_text())
    assert stored == {"left": 8000.0, "right": 8000.0}
    other = ends()
    Copies.of(study, "rack", other, tmp_path, "20260102T000000Z")
    assert len(other["left"].host.asked) == 1


def test_a_damaged_file_is_measured_anew(tmp_path):
    file = folder(tmp_path, "20260101T000000Z") / FILE
    file.parent.mkdir(parents=True)
    file.write_text('{"left": 1')
    Copies.of(study_of(), "rack", both := ends(), tmp_path, "20260101T000000Z")
    assert len(both["left"].host.asked) == 1 and json.loads(file.read_text())["left"] == 8000.0


def test_the_slower_host_is_the_ceiling_and_is_named():
    assert ceiling(study_of(), 1, host=SLOW) == (
        5000.0,
        "copies of cold memory by one core of right, measured there",
    )


@pytest.mark.parametrize(
    ("keys", "streams", "MBps", "words"),
    [
        ({}, 1, 8000.0, "one core of left"),
        ({}, 64, 64000.0, "8 cores of left"),
        ({"threads": 2, "engine": "epoll"}, 64, 16000.0, "2 cores of left"),
        ({"direction": "<->"}, 1, 16000.0, "2 cores of left"),
        ({"send": "zerocopy"}, 1, 8000.0, "one core of right"),
        ({"receive": "discard"}, 1, 8000.0, "one core of left"),
    ],
)
def test_a_stream_is_served_by_one_core_of_each_end_that_copies(keys, streams, MBps, words):
    most, source = ceiling(study_of(**keys), streams)
    assert most == MBps and f"by {words}, measured there" in source


@pytest.mark.parametrize(
    "keys",
    [{"send": "zerocopy", "receive": "discard"}, {"send": "zerocopy", "direction": "<->"}],
)
def test_without_copies_there_is_no_such_ceiling(keys):
    assert ceiling(study_of(**keys), 1) == (None, "")


@pytest.mark.parametrize(
    ("right", "reason"),
    [
        ({"facts": {"cpus": 1, "memory_kB": GiB_kB // 2}}, "less than 1 GiB of memory"),
        ({"facts": {"cpus": 1, "memory_kB": None}}, "less than 1 GiB of memory"),
        ({"host": CopyingHost("", "x\ngensink: memory to copy: no")}, "memory to copy: no"),
        ({"host": CopyingHost("", "")}, "exit code 1"),
        ({"host": CopyingHost("[]")}, "exit code 0"),
    ],
)
def test_a_host_without_a_figure_says_why_and_leaves_that_of_the_other(right, reason):
    both = ends(**right)
    copies = Copies.of(study_of(), "rack", both, directory=None)
    assert both["right"].facts["copy_MBps"].startswith("unsupported: ")
    assert reason in both["right"].facts["copy_MBps"]
    assert copies.each_MBps == {"left": 8000.0}


# The bus of a path is the study's, else the one that the hosts report.

GEN3_X8 = {"bus_speed": "8.0 GT/s PCIe", "bus_width": 8}
GEN3_X4 = {"bus_speed": "8.0 GT/s PCIe", "bus_width": 4}
X8_MBps, X4_MBps = 8000 * 8 / 8 * 128 / 130, 8000 * 4 / 8 * 128 / 130


def study(**buses: dict) -> Study:
    """Two SSH hosts, with a bus where one is given."""
    hosts = {
        name: {"kind": "ssh", "address": name, **({"bus": buses[name]} if name in buses else {})}
        for name in ("a", "b")
    }
    ends = [
        {"host": name, "address": f"192.0.2.{n}", "interface": "eth0"}
        for n, name in enumerate(("a", "b"), 1)
    ]
    return Study.model_validate(
        {
            "netlab": 1,
            "name": "buses",
            "title": "Buses",
            "hosts": hosts,
            "paths": {"p": {"ends": ends}},
            "groups": [{"name": "g", "path": "p", "sender": "a"}],
            "streams": [1],
        }
    )


def test_the_slower_of_two_reported_buses_counts_and_directions_do_not_share_it():
    found = path_bus(study(), "p", {"a": GEN3_X8, "b": GEN3_X4})
    assert found.bandwidth_MBps == pytest.approx(X4_MBps)
    assert not found.shared


def test_a_path_with_an_unknown_bus_has_none():
    assert path_bus(study(), "p", {"a": GEN3_X8}) is None
    strange = {"bus_speed": "Unknown", "bus_width": 8}
    assert path_bus(study(), "p", {"a": GEN3_X8, "b": strange}) is None


def test_a_stated_bus_replaces_the_reported_one():
    pci_x = {"bandwidth_MBps": 1064.0, "label": "PCI-X", "shared": True}
    stated = study(a=pci_x)
    found = path_bus(stated, "p", {"a": GEN3_X8, "b": GEN3_X8})
    assert (found.bandwidth_MBps, found.shared) == (1064.0, True)
    bus = host_bus(stated, "a", GEN3_X8)
    assert bus is not None
    assert (bus.source, bus.label) == ("study", "PCI-X")


def test_a_stated_bus_that_the_host_contradicts_is_described():
    stated = study(a={"bandwidth_MBps": 1064.0, "label": "PCI-X"})
    said = contradiction(stated, "a", GEN3_X8)
    assert said is not None
    assert "PCIe 3.0 x8" in said
    assert "hosts.a.bus" in said


def test_a_stated_bus_of_the_reported_bandwidth_is_fine():
    stated = study(a={"bandwidth_MBps": round(X8_MBps), "label": "PCIe 3.0 x8"})
    assert contradiction(stated, "a", GEN3_X8) is None
    assert contradiction(stated, "a", {}) is None
    assert contradiction(stated, "b", GEN3_X8) is None


def test_the_payload_size_of_the_card_lowers_what_its_bus_carries():
    small, large = ({**GEN3_X8, "bus_max_payload_B": size_B} for size_B in (128, 512))
    found = path_bus(study(), "p", {"a": small, "b": large})
    assert found.bandwidth_MBps == pytest.approx(X8_MBps * 128 / 148)
    label = "PCIe 3.0 x8 (128b/130b) in packets of 128 B"
    assert found.text() == f"{label}, as the host reports"
    odd = path_bus(study(), "p", {"a": {**GEN3_X8, "bus_max_payload_B": 8192}, "b": large})
    assert odd.bandwidth_MBps == pytest.approx(X8_MBps * 512 / 532)


@pytest.mark.parametrize("share", [1.0, 256 / 276])
def test_a_stated_bus_may_be_that_of_the_line_code_or_of_the_payload(share):
    facts = {**GEN3_X8, "bus_max_payload_B": 256}
    stated = study(a={"bandwidth_MBps": round(X8_MBps * share), "label": "PCIe 3.0 x8"})
    assert contradiction(stated, "a", facts) is None
    assert contradiction(study(a={"bandwidth_MBps": 6000, "label": "PCIe"}), "a", facts)


def test_a_run_has_the_bus_that_its_hosts_report():
    setting = setting_of(study(), "p", 1500, facts={"a": GEN3_X8, "b": GEN3_X8})
    assert setting.bus_MBps == pytest.approx(X8_MBps)
    assert setting.bus_source == "PCIe 3.0 x8, as the host reports"
    assert setting_of(study(), "p", 1500, facts={}).bus_MBps is None


PCI_X = {"bus_slot_speed": "133 MHz PCI-X", "bus_pci_x_bits": 64}


def test_a_reported_pci_x_bus_is_shared_by_both_directions_and_says_by_how_many_devices():
    found = path_bus(study(), "p", {"a": PCI_X | {"bus_devices": 2}, "b": GEN3_X8})
    assert (found.bandwidth_MBps, found.shared) == (1064.0, True)
    assert found.text() == "PCI-X 1.0 64 bit at 133 MHz, shared by 2 devices, as the host reports"
    alone = path_bus(study(), "p", {"a": PCI_X | {"bus_devices": 1}, "b": GEN3_X8})
    assert alone.shared and "devices" not in alone.text()


def test_a_stated_bus_that_a_pci_x_slot_contradicts_is_described():
    stated = study(a={"bandwidth_MBps": 1064.0, "label": "PCI-X", "shared": True})
    assert contradiction(stated, "a", PCI_X) is None
    slow = PCI_X | {"bus_slot_speed": "66 MHz PCI-X"}
    assert "the host reports PCI-X 1.0 64 bit at 66 MHz, 532 MB/s" in contradiction(
        stated, "a", slow
    )
