"""A campaign goes on, begins anew or adopts; no record of an earlier one is changed."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
import synthetic
from refusals import refused

from netlab.analysis.cells import Cells
from netlab.analysis.measured import load_measured
from netlab.errors import BadInput, PathLost
from netlab.experiment.campaign import NotebookRounds, Rounds, run_study
from netlab.experiment.campaign_record import open_record, open_visit
from netlab.experiment.conditions import context_of
from netlab.experiment.watcher import Watcher
from netlab.files.recorded_facts import end_facts
from netlab.files.yaml_file import read_yaml, validated
from netlab.notebooks.progress import NOTE
from netlab.report.gate import box
from netlab.results import campaign_files
from netlab.results.store import Store
from netlab.study import Study, load
from netlab.study.keys import provenance_key
from netlab.study.schedule import visits

FOUND = end_facts(
    {"kernel": "6.1", "cpu_model": "Some CPU", "mtu_B": 1500, "generators": {"netlab": "1"}}
)
FACTS = {"rack": {"left": FOUND, "right": FOUND}}
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def file(tmp_path):
    return synthetic.foreign_file(tmp_path)


def open_at(directory, study, minutes=0, facts=FACTS):
    return open_record(study, directory, facts, None, now=NOW + timedelta(minutes=minutes))


def measure(record, *, flags="", facts=FACTS, only=None, **changed):
    """Write a synthetic record of every run that has no valid one."""
    study = record.study
    runs = synthetic.runs_of(study)
    for visit in visits(study):
        context = context_of(study, visit, facts[visit.path], None)
        keys = {
            run.run_id: provenance_key(study, visit, run, context)
            for run in visit.runs
            if run.run_id not in record.kept and (only is None or run.run_id in only)
        }
        part = runs[runs["run_id"].isin(keys)]
        if part.empty:
            continue
        part = part.assign(
            provenance_key=part["run_id"].map(keys).astype("string"),
            campaign=record.log.campaign,
            flags=flags,
            **changed,
        )
        intervals = synthetic.intervals_of(part, study)
        record.store.write(record.new_part(visit), part.reset_index(drop=True), intervals)


def test_a_campaign_goes_on_under_the_same_conditions(tmp_path, file):
    study = load(file, rounds=2)
    first = open_at(tmp_path / "r", study)
    assert first.kept == frozenset()
    some = {run.run_id for run in visits(study)[0].runs[:1]}
    measure(first, only=some)
    again = open_at(tmp_path / "r", study, 10)
    assert again.log.campaign == first.log.campaign and again.kept == some
    measure(again)
    assert len(again.store.runs()) == 4 and not again.store.records()["superseded"].any()
    assert len(again.store.parts()) == 3


def test_results_of_another_study_are_refused_before_a_host_is_reached(tmp_path, file):
    short = load(file, quick=True)
    measure(open_at(tmp_path / "r", short))
    files = sorted(path for path in (tmp_path / "r").rglob("*") if path.name != ".lock")
    study = load(file)
    for begin in (
        lambda: run_study(study, directory=tmp_path / "r"),
        lambda: open_visit(study, visits(study)[0], tmp_path / "r"),
    ):
        with refused(BadInput, "E-RUN-016", match="holds results of 'two-racks-quick'"):
            begin()
    assert files == sorted(path for path in (tmp_path / "r").rglob("*") if path.name != ".lock")


def test_a_flagged_run_is_measured_again_and_stays_on_record(tmp_path, file):
    study = load(file, rounds=1)
    first = open_at(tmp_path / "r", study)
    measure(first, flags="stalled")
    again = open_at(tmp_path / "r", study, 1)
    assert again.kept == frozenset()
    measure(again)
    records = again.store.records()
    assert len(records) == 4 and records["superseded"].sum() == 2


@pytest.mark.parametrize(("flags", "goodput"), [("failed", None), ("failed", 0.1), ("", 90.0)])
def test_a_run_with_a_value_stands_if_it_fails_when_measured_again(tmp_path, file, flags, goodput):
    study = load(file, rounds=1)
    measure(open_at(tmp_path / "r", study), flags="interference")
    again = open_at(tmp_path / "r", study, 1)
    measure(again, flags=flags, goodput_MBps=goodput)
    runs = again.store.runs()
    stands = "interference" if flags else ""
    assert set(runs["flags"]) == {stands} and runs["goodput_MBps"].gt(1).all()
    assert set(Cells()(runs, again.store.intervals())["disturbed"]) == {stands}


class WrittenRounds(Rounds):
    """Rounds that write records: cells of 64 streams differ by round, the others do not."""

    flags: tuple[str, ...] = ()

    def make_visit(self, request):
        visit = request.visit(self.study)
        flags, *self.flags = self.flags or ("",)
        self.runs = {*getattr(self, "runs", ()), *(run.run_id for run in visit.runs)}
        measure(
            self.record,
            only={run.run_id for run in visit.runs},
            flags=flags,
            goodput_MBps=lambda runs: 100.0 * runs["round"].where(runs["streams"] == 64, 1),
        )


def test_a_visit_made_alone_has_the_cells_that_go_on_as_in_its_campaign(tmp_path, file):
    study = load(file, precision=5.0, max_rounds=7)
    record = open_at(tmp_path / "r", study)
    by_round = {visit.round: visit for visit in visits(study)}
    for number in range(1, 6):
        WrittenRounds(record, Watcher()).measure_one(by_round[number])
    alone = WrittenRounds(record, Watcher())
    alone.measure_one(by_round[6])
    assert {run.split("@")[-2] for run in alone.runs} == {"64"}
    first, look = campaign_files.read_log(record.directory, record.log.campaign).looks
    assert (first["round"], first["reached"], first["going"]) == (3, 0, 2)
    assert (look["round"], look["reached"], look["going"]) == (5, 1, 1)
    again = WrittenRounds(record, Watcher())
    again.flags = ("interference", "")
    again.measure_one(by_round[7])  # of a cell with enough valid runs, so not once more
    assert again.visits == 1 and again.record.store.records()["superseded"].sum() == 0


def test_disturbed_runs_of_a_visit_made_alone_are_measured_again(tmp_path, file):
    record = open_at(tmp_path / "r", load(file, rounds=1))
    alone = WrittenRounds(record, Watcher())
    alone.flags = ("interference", "")
    alone.measure_one(visits(record.study)[0])
    assert alone.visits == 2 and set(record.store.runs()["flags"]) == {""}


class LosingRounds(Rounds):
    """Rounds in which the hosts of some links fail."""

    def __init__(self, record, fails):
        super().__init__(record, Watcher())
        self.fails, self.made = fails, []

    def make_visit(self, request):
        visit = request.visit(self.study)
        self.made.append(visit.link)
        if visit.link in self.fails:
            raise PathLost(f"HostError: {visit.link}: sent an answer that breaks its protocol")
        measure(self.record, only={run.run_id for run in visit.runs}, facts=self.record_facts)


def test_a_host_that_fails_ends_the_visits_of_its_path_and_no_others(tmp_path):
    study = synthetic.openlab()
    names = [*study.links]
    facts = {link: {end.host: FOUND for end in study.path(link).ends} for link in study.links}
    made = LosingRounds(open_at(tmp_path / "r", study, facts=facts), names[:1])
    made.record_facts = facts
    with pytest.raises(PathLost, match=f"^HostError: {names[0]}: "):
        made.measure()
    count = Counter(made.made)
    assert len(names) > 1 and count[names[0]] == 1
    planned = Counter(visit.link for visit in visits(study))
    assert all(count[name] == planned[name] > 1 for name in names[1:])
    ended = LosingRounds(open_at(tmp_path / "s", study, facts=facts), names)
    with pytest.raises(PathLost):
        ended.measure()
    assert sorted(ended.made) == sorted(names)


def test_a_trial_of_another_length_supersedes_without_deleting(tmp_path, file):
    whole, short = load(file, rounds=2), load(file, rounds=2, seconds=0.2)
    measure(open_at(tmp_path / "r", whole))
    files = {path: path.read_bytes() for path in (tmp_path / "r").rglob("*.parquet")}
    trial = open_at(tmp_path / "r", short, 1)
    assert trial.kept == frozenset() and trial.store.runs().empty
    measure(trial)
    assert load(campaign_files.study_file(tmp_path / "r")).timing.seconds == 0.2
    assert all(path.read_bytes() == content for path, content in files.items())
    assert len(Store(tmp_path / "r").runs(superseded=True)) == 8
    back = open_at(tmp_path / "r", whole, 2)
    assert len(back.kept) == 4 and len(back.store.runs()) == 4
    assert load(campaign_files.study_file(tmp_path / "r")).timing.seconds == 1.0
    assert len(campaign_files.ids(tmp_path / "r")) == 3


def on_all(**change):
    """The facts of both hosts with a change."""
    return {"rack": {host: found | change for host, found in FACTS["rack"].items()}}


@pytest.mark.parametrize(
    "change", [{"kernel": "6.2"}, {"cpu_model": "Another"}, {"nic_driver": "e1000e"}]
)
def test_a_changed_host_begins_a_campaign_without_adopted_records(tmp_path, file, change):
    study = load(file, rounds=1)
    first = open_at(tmp_path / "r", study)
    measure(first)
    facts = on_all(**change)
    other = open_at(tmp_path / "r", study, 1, facts)
    assert other.log.campaign != first.log.campaign and other.kept == frozenset()
    measure(other, facts=facts)
    assert open_at(tmp_path / "r", study, 2).kept == {run.run_id for run in visits(study)[0].runs}


def test_more_rounds_adopt_those_that_were_made(tmp_path, file):
    measure(open_at(tmp_path / "r", load(file, rounds=2)))
    more = open_at(tmp_path / "r", load(file, rounds=3), 1)
    assert len(more.kept) == 4 and len(more.store.runs()) == 4
    measure(more)
    assert sorted(more.store.runs()["round"]) == [1, 1, 2, 2, 3, 3]


def test_another_version_of_netlab_begins_a_campaign(tmp_path, file, monkeypatch):
    study = load(file, rounds=1)
    first = open_at(tmp_path / "r", study)
    measure(first)
    monkeypatch.setattr("netlab.version.RELEASE", "99.0")
    other = open_at(tmp_path / "r", study, 1)
    assert other.log.campaign != first.log.campaign and other.kept == frozenset()


def test_the_looks_are_on_record_once_a_round(tmp_path, file):
    study = load(file, precision=5)
    record = open_at(tmp_path / "r", study)
    record.note_look({"round": 3, "going": 2})
    record.note_look({"round": 3, "going": 1})
    record.note_look({"round": 5, "going": 0})
    read = campaign_files.read_log(tmp_path / "r", record.log.campaign)
    assert read.looks == ({"round": 3, "going": 1}, {"round": 5, "going": 0})


def test_levels_that_a_person_sets_share_a_campaign_though_the_kernel_differs(tmp_path):
    content = {**read_yaml(synthetic.foreign_file(tmp_path)), "outer": {"kernel": ["smp", "up"]}}
    study = validated(Study, content, "two-racks.yml")
    smp, up = (("kernel", "smp"),), (("kernel", "up"),)
    of_up, ids = on_all(kernel="6.1-up"), {}
    for outer in (smp, up):
        ids[outer] = {r.run_id for v in visits(study) if v.outer == outer for r in v.runs}
    first = open_record(study, tmp_path / "r", FACTS, None, outer=smp, now=NOW)
    measure(first, only=ids[smp])
    second = open_record(study, tmp_path / "r", of_up, None, outer=up, now=NOW)
    assert second.log.campaign == first.log.campaign and second.kept == frozenset()
    measure(second, facts=of_up, only=ids[up])
    assert set(second.store.runs()["run_id"]) == ids[smp] | ids[up]
    again = open_record(study, tmp_path / "r", FACTS, None, outer=smp, now=NOW)
    assert again.log.campaign == first.log.campaign and again.kept == ids[smp]
    another = on_all(kernel="7.0")
    later = open_record(study, tmp_path / "r", another, None, outer=smp, now=NOW)
    assert later.log.campaign != first.log.campaign and later.kept == frozenset()


class Notes(Watcher):
    def __init__(self):
        self.said = []

    def note(self, text):
        self.said.append(text)


def test_a_stated_bus_that_a_host_contradicts_is_noted_by_the_campaign_and_in_the_box_of_trust(
    tmp_path, file
):
    stated = "left.example, bus: {bandwidth_MBps: 1064.0, label: PCI-X}}"
    file.write_text(file.read_text().replace("left.example}", stated))
    study = load(file, rounds=1)
    facts = on_all(bus_speed="8.0 GT/s PCIe", bus_width=8)
    measure(open_at(tmp_path / "r", study, facts=facts), facts=facts)
    record, watcher = open_at(tmp_path / "r", study, 1, facts=facts), Notes()
    NotebookRounds(record, None, None, watcher, lambda: 0.0).measure()
    (note,) = watcher.said
    assert note.startswith("left: bus: the study states 1064 MB/s (PCI-X), and the host reports")
    (shown,) = [text for item, text in box(load_measured(tmp_path / "r")) if item == "Bus"]
    assert "1064 MB/s (PCI-X)" in shown and "PCIe 3.0 x8" in shown
    other = open_at(tmp_path / "r", study, 2)  # with hosts that report no bus
    assert not other.log.contradictions


def test_what_a_visit_waits_for_is_said_once_whatever_its_share(tmp_path, file, monkeypatch):
    study, watcher = load(file, rounds=1), Notes()
    busy = "a: other programs use {} % of the CPUs, most of it {}; waiting for quiet, {} s at most"
    notes = [("81.7", "make (process 8)", 20), ("9.0", "make (process 8)", 3), ("50.1", "cc", 2)]

    def execute(*_paths, on_progress, **_settings):
        on_progress(NOTE + busy.format(*notes.pop(0)))

    monkeypatch.setattr("netlab.notebooks.execution.execute", execute)
    campaign = NotebookRounds(open_at(tmp_path / "r", study), None, None, watcher, lambda: 0.0)
    for _ in range(3):
        campaign._visit(visits(study)[0])
    assert watcher.said == [busy.format("81.7", "make (process 8)", 20), busy.format(50.1, "cc", 2)]
