"""Memory copies as a ceiling: each of two hosts measures itself once a campaign."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
import yaml
from synthetic import FOREIGN

from netlab.experiment.path import FILE, Copies, contradiction
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


SLOW = CopyingHost(stdout='{"event": "copyrate", "hot_Bps": 9000000000, "cold_Bps": 5000000000}')


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
    "keys", [{"send": "zerocopy", "receive": "discard"}, {"send": "zerocopy", "direction": "<->"}]
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
        study(**buses), "rack", 1500, group=study().groups[0], facts={"left": left, "right": right}
    )
    assert setting.bus_MBps == pytest.approx(MBps)
    assert (setting.bus_shared, setting.bus_source) == (shared, text)


@pytest.mark.parametrize("facts", [{}, {"bus_speed": "Unknown", "bus_width": 8}])
def test_a_path_with_an_unknown_bus_has_none(facts):
    setting = setting_of(
        study(), "rack", 1500, group=study().groups[0], facts={"left": GEN3_X8, "right": facts}
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
    found = contradiction(study(**({"left": bus} if bus else {})), "left", facts)
    assert (found is None) == (not said)
    assert all(words in found for words in said)
