"""Memory copies as a ceiling: each of two hosts measures itself once a campaign."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
import yaml
from synthetic import FOREIGN

from netlab.experiment.memory_copy import FILE, Copies
from netlab.files.recorded_facts import EndFacts, end_facts
from netlab.hosts.host import Completed
from netlab.results.campaign_files import folder
from netlab.study import load, schedule

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


def _facts(cpus: int, memory_kB: int | None) -> EndFacts:
    return end_facts({"cpus": cpus, "memory_kB": memory_kB})


@dataclass
class CopyingEnd:
    """An open end of a path."""

    host: CopyingHost = field(default_factory=CopyingHost)
    facts: EndFacts = field(default_factory=lambda: _facts(8, 4 * GiB_kB))
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
        ({"facts": _facts(1, GiB_kB // 2)}, "less than 1 GiB of memory"),
        ({"facts": _facts(1, None)}, "less than 1 GiB of memory"),
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
