"""A record counts exactly under the conditions it was made in: settings, cards, tools, versions."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import campaigns
import pandas as pd
import pyarrow
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from pyarrow import parquet

import netlab.version
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.measured import load_measured
from netlab.errors import NetlabError
from netlab.experiment.campaign import NotebookRounds, Rounds, Stopped, _stopped
from netlab.experiment.campaign_record import open_record
from netlab.experiment.rebuilt import rebuild
from netlab.experiment.watcher import Watcher
from netlab.notebooks.silence import SilentNotebook
from netlab.report.gate import box
from netlab.report.how_to_read import recorded_by
from netlab.report.how_to_read import settings as method_settings
from netlab.results import campaign_files, campaign_list
from netlab.results.columns import SCHEMA_VERSION
from netlab.results.conditions import left_out
from netlab.results.store import Store
from netlab.study.groups import GroupTiming
from netlab.study.schedule import visits

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def opened(directory, facts, *, minutes=0, study=None):
    at = NOW + timedelta(minutes=minutes)
    return open_record(study or campaigns.study(), directory, facts, None, now=at)


def pooled(store: Store) -> list[float]:
    return sorted(set(store.runs()["goodput_MBps"]))


def test_rounds_measured_under_another_default_of_the_host_do_not_count(tmp_path):
    """A precision that stopped early left rounds 4 to 12 of the day before in the mean."""
    study = campaigns.study(timing={"rounds": 12, "seconds": 1.0, "warmup_s": 0.2})
    reno, bbr = campaigns.facts("reno"), campaigns.facts("bbr")
    campaigns.write(opened(tmp_path, reno, study=study), reno, goodput_MBps=100.0)
    next_day = opened(tmp_path, bbr, minutes=1440, study=study)
    assert next_day.kept == frozenset() and "congestion control reno, now bbr" in next_day.anew
    three = {run.run_id for visit in visits(study) if visit.round <= 3 for run in visit.runs}
    campaigns.write(next_day, bbr, runs=three, goodput_MBps=50.0)
    assert pooled(next_day.store) == [50.0] and len(next_day.store.runs()) == len(three)
    m = load_measured(tmp_path)
    assert m.runs["goodput_MBps"].eq(50.0).all()
    said = dict(box(m))["Not counted"]
    assert "under other settings: congestion control reno, 48 runs; not counted" in said


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({"mtu_B": 9000}, "MTU in B 1500, now 9000"),
        ({"generators": {"iperf3": "3.16"}}, "iperf3 3.12, now 3.16"),
        ({"kernel": "6.2"}, "kernel 6.1, now 6.2"),
    ],
)
def test_another_mtu_tool_or_kernel_begins_anew(tmp_path, change, anew):
    study = campaigns.study()
    if "generators" in change:
        groups = [{**group, "generator": "iperf3"} for group in campaigns.STUDY["groups"]]
        study = campaigns.study(groups=groups, factors={})
    now = campaigns.facts()
    hosts = [host for ends in now.values() for host in ends.values()]
    for host in hosts:
        host["generators"] = {"iperf3": "3.12"}
    campaigns.write(opened(tmp_path, now, study=study), now)
    for host in hosts:
        host |= change
    later = opened(tmp_path, now, minutes=1, study=study)
    assert later.kept == frozenset() and later.store.runs().empty
    assert later.anew == anew


TUNED = {"name": "mtu-only", "mtus_B": [1500], "knobs": []}
SETS_IT = {
    "name": "bbr",
    "mtus_B": [1500],
    "knobs": [
        {"kind": "sysctl", "name": "net.ipv4.tcp_congestion_control", "value": "bbr", "risk": "r"}
    ],
}


@pytest.mark.parametrize(("tuning", "counts"), [(TUNED, False), (SETS_IT, True)])
def test_a_setting_that_a_tuning_leaves_is_a_condition(tmp_path, tuning, counts):
    study = campaigns.study(tunings=[tuning])
    reno, bbr = campaigns.facts("reno"), campaigns.facts("bbr")
    campaigns.write(opened(tmp_path, reno, study=study), reno)
    next_day = opened(tmp_path, bbr, minutes=1440, study=study)
    assert len(next_day.kept) == (12 if counts else 0)
    assert next_day.anew == ("" if counts else "congestion control reno, now bbr")


def test_a_setting_that_a_tuning_cannot_change_there_is_a_condition(tmp_path):
    """In a container with /proc/sys mounted read-only, the default of the host stays in force."""
    study = campaigns.study(tunings=[SETS_IT])
    reno, bbr = campaigns.facts("reno"), campaigns.facts("bbr")
    for host in (
        host for facts in (reno, bbr) for ends in facts.values() for host in ends.values()
    ):
        host["fixed"] = ["net.ipv4.tcp_congestion_control"]
    campaigns.write(opened(tmp_path, reno, study=study), reno)
    assert opened(tmp_path, bbr, minutes=1, study=study).kept == frozenset()


ONE, TWO = campaigns.STUDY["groups"]
TWICE = [{"name": "as-found"}, {"name": "none", "knobs": []}]


@pytest.mark.parametrize(
    ("before", "now", "cells", "runs"),
    [
        ({"streams": [1, 4]}, {}, "p1@as-found@found@one@4@nodelay=false", 12),
        ({"factors": {"nodelay": [False, True]}}, {"factors": {}}, "@one@1@nodelay=true", 12),
        ({}, {"groups": [{**ONE, "name": "first"}, TWO]}, "p1@as-found@found@one@1", 6),
        ({"tunings": TWICE}, {}, "p1@none@found@one@1", 12),
        ({}, {"groups": [ONE], "paths": {"p1": campaigns.STUDY["paths"]["p1"]}}, "@two@1", 6),
    ],
)
def test_records_of_cells_that_a_study_no_longer_has_are_named(tmp_path, before, now, cells, runs):
    """A level, factor, tuning or path that was removed, a group that was renamed."""
    facts = campaigns.facts()
    campaigns.write(opened(tmp_path, facts, study=campaigns.study(**before)), facts)
    study = campaigns.study(**now)
    facts = {link: ends for link, ends in facts.items() if link in study.paths}
    notes = []

    class Notes(Watcher):
        def note(self, text):
            notes.append(text)

    rounds = WrittenRounds(opened(tmp_path, facts, minutes=1, study=study), Notes())
    rounds.measure()
    (other,) = left_out(rounds.record.store, rounds.record.log.campaign)
    assert cells in str(other) and other.runs == runs and notes == [str(other)]
    said = dict(box(load_measured(tmp_path)))["Not counted"]
    assert said == str(other) and "in cells that the study does not have: " in said


def coalesced(usecs: str, adaptive: str) -> campaigns.Facts:
    """Hosts whose driver reports this interrupt delay, and whether it adapts it."""
    facts = campaigns.facts()
    for host in (host for ends in facts.values() for host in ends.values()):
        host["found"] = {**host["found"], "coalesce rx-usecs": usecs, "adaptive rx": adaptive}
    return facts


ADAPTS = {"kind": "adaptive", "name": "rx", "value": "on"}


@pytest.mark.parametrize(
    ("found", "knobs", "counts"),
    [
        ("on", [], True),
        ("off", [], False),
        ("off", [ADAPTS], True),
        ("on", [{**ADAPTS, "value": "off"}], False),
    ],
)
def test_a_delay_of_interrupts_is_a_condition_unless_its_driver_adapts_it(
    tmp_path, found, knobs, counts
):
    """A driver that adapts the delay reports another one at each visit."""
    study = campaigns.study(tunings=[{"name": "mine", "mtus_B": [1500], "knobs": knobs}])
    campaigns.write(opened(tmp_path, coalesced("8", found), study=study), coalesced("8", found))
    later = opened(tmp_path, coalesced("112", found), minutes=1, study=study)
    assert len(later.kept) == (12 if counts else 0)
    campaigns.write(later, coalesced("64", found))
    assert later.store.runs().empty is not counts


def test_a_newer_rule_of_keys_says_why_it_measures_again(tmp_path):
    facts = campaigns.facts()
    record = opened(tmp_path, facts)
    campaigns.write(record, facts)
    file = campaign_files.conditions_file(tmp_path, record.log.campaign)
    content = json.loads(file.read_text())
    for context in content["contexts"].values():
        del context["rule"]  # as stored before there was a number
    content["keys"] = dict.fromkeys(content["keys"], "a key of the first rule")
    file.write_text(json.dumps(content))
    for part in (tmp_path / "runs").glob("*.parquet"):
        table = parquet.read_table(part)
        at = table.column_names.index("provenance_key")
        old = [["a key of the first rule"] * table.num_rows]
        key = pyarrow.chunked_array(old, table.schema.field(at).type)
        parquet.write_table(table.set_column(at, table.schema.field(at), key), part)
    assert len(record.store.runs()) == 12  # a report of it is as before
    later = opened(tmp_path, facts, minutes=1)
    assert later.kept == frozenset()
    assert later.anew == "netlab's rule of equal conditions 1, now 2"
    (other,) = left_out(later.store, later.log.campaign)
    assert "under other settings: netlab's rule of equal conditions 1, 12 runs" in str(other)


def test_remarks_of_a_tuning_are_not_conditions(tmp_path):
    facts = campaigns.facts()
    plain = {"kind": "sysctl", "name": "net.ipv4.tcp_sack", "value": 1}
    campaigns.write(opened(tmp_path, facts, study=campaigns.study(tunings=[tuned(plain)])), facts)
    same = campaigns.study(tunings=[{**tuned({**plain, "note": "n", "source": "s"}), "label": "l"}])
    assert len(opened(tmp_path, facts, minutes=1, study=same).kept) == 12
    other = campaigns.study(tunings=[tuned({**plain, "value": 0})])
    later = opened(tmp_path, facts, minutes=2, study=other)
    assert later.kept == frozenset() and "tuning of left (changed)" in later.anew


def test_the_reason_for_a_new_campaign_is_one_that_counts(tmp_path):
    facts, found = campaigns.facts(), campaigns.facts("bbr")
    own = campaigns.study(congestion="cubic")
    campaigns.write(opened(tmp_path, facts, study=own), facts)
    same = opened(tmp_path, found, minutes=1, study=own)
    assert len(same.kept) == 12 and same.anew == ""
    titled = campaigns.study(congestion="cubic", title="Another")
    assert opened(tmp_path, facts, minutes=2, study=titled).anew == ""
    quiet = campaigns.study(congestion="cubic", noise={"steal_percent": 50.0})
    later = opened(tmp_path, facts, minutes=3, study=quiet)
    assert later.kept == frozenset() and later.anew == "another study file"


def tuned(knob: dict) -> dict:
    return {"name": "mine", "mtus_B": [1500], "knobs": [knob]}


def test_bbr_reno_and_bbr_again_reports_bbr(tmp_path):
    for at, name in enumerate(("bbr", "reno", "bbr")):
        facts = campaigns.facts(name)
        record = opened(tmp_path, facts, minutes=at)
        again = at == 2
        assert len(record.kept) == (12 if again else 0)
        campaigns.write(record, facts, goodput_MBps=5.0 if name == "bbr" else 3.0)
        assert pooled(record.store) == [5.0 if name == "bbr" else 3.0]
    first, second, _ = campaign_files.ids(tmp_path)
    assert pooled_of(tmp_path, second) == {3.0} and pooled_of(tmp_path, first) == {5.0}
    own = Store(tmp_path).runs(superseded=True, campaign=second)
    assert set(own["campaign"]) == {second} and len(own) == 12


def pooled_of(directory, campaign) -> set[float]:
    return set(Store(directory).runs(campaign=campaign)["goodput_MBps"])


def test_a_block_measured_by_hand_keeps_the_other_card_of_its_host(tmp_path):
    facts = campaigns.facts()
    record = opened(tmp_path, facts)
    campaigns.write(record, facts)
    assert campaigns.measured(tmp_path, record) == {"p1": 6, "p2": 6}
    for link in ("p1", "p2"):
        one = opened(tmp_path, campaigns.only(link, facts), minutes=1)
        assert one.log.campaign == record.log.campaign
        assert campaigns.measured(tmp_path, one) == {"p1": 6, "p2": 6}
    swapped = campaigns.only("p2", campaigns.facts(p2="bnxt_en"))
    later = opened(tmp_path, swapped, minutes=2)
    assert campaigns.measured(tmp_path, later) == {"p1": 6}
    campaigns.write(later, swapped)
    assert campaigns.measured(tmp_path, later) == {"p1": 6, "p2": 6}


def test_an_interrupted_study_counts_what_it_measured_now(tmp_path):
    bbr, reno = campaigns.facts("bbr"), campaigns.facts("reno")
    campaigns.write(opened(tmp_path, bbr), bbr)
    record = opened(tmp_path, reno, minutes=1)
    two = [run.run_id for run in visits(record.study)[0].runs]
    campaigns.write(record, reno, runs=two)
    rounds = WrittenRounds(record, Watcher())
    rounds.lab, rounds.planned = None, 12
    stopped: Stopped = _stopped(rounds, KeyboardInterrupt())
    assert "2 of 12 runs measured" in str(stopped)


class WrittenRounds(Rounds):
    facts: campaigns.Facts = campaigns.facts()

    def make_visit(self, request):
        campaigns.write(self.record, self.facts, runs=request.runs)


def test_a_setting_that_changes_while_a_study_is_measured_is_said(tmp_path):
    notes = []

    class Notes(Watcher):
        def note(self, text):
            notes.append(text)

    rounds = WrittenRounds(opened(tmp_path, campaigns.facts()), Notes())
    rounds.facts = campaigns.facts("bbr")
    rounds.measure()
    assert "12 of its runs do not count" in notes[-1] and rounds.record.store.runs().empty
    (other,) = left_out(rounds.record.store, rounds.record.log.campaign)
    assert "changed while the campaign was measured" in str(other)


def test_a_silent_retry_of_disturbed_runs_is_not_dropped(tmp_path, monkeypatch):
    """The old records of the runs that are measured again are not those of the retry."""
    facts = campaigns.facts()
    record = opened(tmp_path, facts)
    campaigns.write(record, facts)
    asked, silent = [], iter([True, False])

    class Kernel:
        def restart(self):
            return

    def execute(*_paths, **_options):
        asked.append(_paths[2]["runs"])
        if next(silent):
            raise SilentNotebook("no run in 240 s", code="E-RUN-012")

    monkeypatch.setattr("netlab.notebooks.execution.execute", execute)
    visit = visits(record.study)[0]
    NotebookRounds(record, None, Kernel(), Watcher()).make_visit(record.request(visit))
    assert asked == [[run.run_id for run in visit.runs]] * 2


def test_a_path_that_a_study_has_again_counts_what_was_measured_on_it(tmp_path):
    """Records of the latest conditions of a link are not lost with an edit of the study."""
    facts = campaigns.facts()
    campaigns.write(opened(tmp_path, facts), facts)
    without = campaigns.study(groups=campaigns.STUDY["groups"][:1])
    campaigns.write(opened(tmp_path, campaigns.only("p1", facts), minutes=1, study=without), {})
    again = opened(tmp_path, campaigns.only("p1", facts), minutes=2)
    assert campaigns.measured(tmp_path, again) == {"p1": 6, "p2": 6}


def searched(record, facts) -> None:
    """A search plans a trial of the first cell, and measures it."""
    visit = visits(record.study)[0]
    ends = facts[visit.link]
    run = visit.runs[0]
    context = campaigns.context_of(record.study, visit, ends, None)
    cell_key = campaigns.provenance_key(record.study, visit, run, context)
    trial = replace(run, run_id=f"{run.cell_id}@pacing_MBps=5@1", group=longer(run.group))
    key = campaigns.provenance_key(record.study, visit, trial, context)
    record.expect(trial.run_id, key, cell_key=cell_key)
    made = campaigns.synthetic.runs_of(record.study).head(1)
    made = made.assign(
        run_id=trial.run_id,
        block_id=visit.block_id,
        provenance_key=key,
        provenance=campaigns.provenance_of(ends),
        campaign=record.log.campaign,
        flags="",
    )
    part = record.new_part(visit)
    record.store.write(part, made, campaigns.synthetic.intervals_of(made, record.study))


def longer(group):
    return group.model_copy(update={"timing": GroupTiming(seconds=7.0)})


def trials(directory) -> int:
    return int(Store(directory).runs()["run_id"].str.contains("pacing").sum())


def test_trials_of_a_search_count_with_the_conditions_of_their_own_cell(tmp_path):
    """Not with those of the whole study, nor with those of their hosts alone."""
    facts = campaigns.facts()
    record = opened(tmp_path, facts)
    searched(record, facts)
    of = visits(record.study)[0].link
    other = "p2" if of == "p1" else "p1"
    assert trials(tmp_path) == 1
    opened(tmp_path, campaigns.facts(**{other: "bnxt_en"}), minutes=1)
    assert trials(tmp_path) == 1  # another link's card is not theirs
    opened(tmp_path, facts, minutes=2, study=campaigns.study(noise={"steal_percent": 50.0}))
    assert trials(tmp_path) == 0  # what the study asks of a run is
    opened(tmp_path, campaigns.facts("reno"), minutes=3)
    assert trials(tmp_path) == 0
    opened(tmp_path, facts, minutes=4)
    assert trials(tmp_path) == 1


def lose(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_text(file.read_text()[:100])


def empty(file: Path) -> None:
    file.write_text("{}")


@pytest.mark.parametrize(
    ("harm", "code"),
    [(lose, "E-RESULTS-026"), (cut, "E-RESULTS-025"), (empty, "E-RESULTS-025")],
)
def test_lost_conditions_are_named_and_made_again(tmp_path, harm, code):
    """Bbr on all links, then reno on one of them: the records say under which they were made."""
    bbr, reno = campaigns.facts("bbr"), campaigns.facts("reno")
    campaigns.write(opened(tmp_path, bbr), bbr)
    record = opened(tmp_path, campaigns.only("p2", reno), minutes=1)
    campaigns.write(record, campaigns.only("p2", reno))
    searched(opened(tmp_path, campaigns.only("p1", bbr), minutes=2), bbr)
    counted = Store(tmp_path).runs()
    files = [campaign_files.conditions_file(tmp_path, one) for one in campaign_files.ids(tmp_path)]
    before = [file.read_text() for file in files]
    for file in files:
        harm(file)
    for use in (load_measured, lambda place: opened(place, bbr, minutes=3)):
        with pytest.raises(NetlabError, match="results repair") as caught:
            use(tmp_path)
        assert caught.value.code == code
    assert list(rebuild(tmp_path)) == files
    assert [json.loads(file.read_text()) for file in files] == list(map(json.loads, before))
    pd.testing.assert_frame_equal(Store(tmp_path).runs(), counted)
    assert rebuild(tmp_path) == {}


def test_lost_conditions_of_an_earlier_campaign_do_not_stop_a_report(tmp_path):
    bbr, reno = campaigns.facts("bbr"), campaigns.facts("reno")
    first = opened(tmp_path, bbr)
    campaigns.write(first, bbr)
    record = opened(tmp_path, reno, minutes=1)
    campaigns.write(record, reno)
    campaign_files.conditions_file(tmp_path, first.log.campaign).unlink()
    (other,) = left_out(record.store, record.log.campaign)
    assert "under other settings: unknown (its conditions.json is lost), 12 runs" in str(other)


def test_records_without_their_campaigns_are_not_pooled(tmp_path):
    """A directory that is copied while a study is measured lacks what says which records count."""
    bbr, reno = campaigns.facts("bbr"), campaigns.facts("reno")
    record = opened(tmp_path, bbr)
    campaigns.write(record, bbr, goodput_MBps=5.0)
    later = opened(tmp_path, reno, minutes=1)
    campaigns.write(later, reno, runs=[run.run_id for run in visits(later.study)[0].runs])
    shutil.move(tmp_path / "campaigns", tmp_path / "elsewhere")
    file = tmp_path / "elsewhere" / later.log.campaign / "study.yml"
    for read in (lambda: load_measured(tmp_path, file), lambda: Store(tmp_path).runs()):
        with pytest.raises(NetlabError, match="campaigns is missing") as caught:
            read()
        assert caught.value.code == "E-RESULTS-027"
    assert [one.runs for one in campaign_list.summaries(tmp_path)] == [12, 2]
    again = opened(tmp_path, bbr, minutes=2)
    assert len(again.kept) == 12 and pooled(again.store) == [5.0]


LATER = {"jain_index": 9, "silent_streams": 9, "rtt_idle_p50_us": 8, "added_latency_us": 8}
"""Columns of a run and the version of the schema that brought them."""


def as_of_an_older_netlab(store: Store, campaign: str, schema: int) -> None:
    """Make a store what a netlab of that schema wrote, which knew no conditions."""
    log = campaign_files.folder(store.directory, campaign) / "campaign.json"
    content = json.loads(log.read_text())
    del content["rule"]
    log.write_text(json.dumps({**content, "hosts": {}}))
    campaign_files.conditions_file(store.directory, campaign).unlink()
    for file in store.directory.glob("*/*.parquet"):
        table = parquet.read_table(file)
        table = table.drop([c for c in table.column_names if LATER.get(c, 0) > schema])
        version = {b"netlab.schema_version": str(schema).encode()}
        parquet.write_table(table.replace_schema_metadata(version), file)


@pytest.mark.parametrize("schema", [7, 8])
def test_a_store_of_an_older_schema_is_read_and_its_report_names_its_rule(tmp_path, schema):
    facts = campaigns.facts()
    record = opened(tmp_path, facts)
    campaigns.write(record, facts)
    as_of_an_older_netlab(record.store, record.log.campaign, schema)
    m = load_measured(tmp_path)
    assert len(m.runs) == 12 and "count by the rule of its netlab" in recorded_by(m)
    assert "recorded by" in set(method_settings(m).frame["setting"])


def test_a_store_whose_campaigns_are_missing_is_not_pooled(tmp_path):
    facts = campaigns.facts()
    record = opened(tmp_path, facts)
    campaigns.write(record, facts)
    (tmp_path / "study.yml").write_bytes(record.study_file.read_bytes())
    shutil.rmtree(tmp_path / "campaigns")
    with pytest.raises(NetlabError, match="copy the whole directory") as caught:
        load_measured(tmp_path)
    assert caught.value.code == "E-RESULTS-027"


def test_records_of_an_older_netlab_on_a_path_not_asked_are_named(tmp_path):
    """A block measured by hand after an upgrade: the report lost the other path in silence."""
    facts = campaigns.facts()
    first = opened(tmp_path, facts)
    campaigns.write(first, facts)
    as_of_an_older_netlab(first.store, first.log.campaign, 8)
    record = opened(tmp_path, campaigns.only("p1", facts), minutes=1)
    assert record.anew == "an older netlab measured them"
    campaigns.write(record, campaigns.only("p1", facts))
    not_counted = dict(box(load_measured(tmp_path)))["Not counted"]
    assert "under other settings: those of an older netlab, 6 runs; not counted" in not_counted


LINKS = ("p1", "p2", "p3")
SITE, PAIR = "site", "pairs/left+middle"
"""A study of all links with a factor that a person sets, and a pair of a fleet on one of them."""


class Campaigns(RuleBasedStateMachine):
    """Settings, cards, tools and versions change between measurements of all or of one link."""

    def __init__(self):
        super().__init__()
        self.version = netlab.version.RELEASE
        self.minutes = itertools.count()

    @initialize()
    def begin(self):
        self.place = TemporaryDirectory()
        self.root = Path(self.place.name)
        self.congestion, self.drivers, self.tool, self.rounds = "cubic", {}, "1", 2
        self.links, self.kernel = LINKS, "smp"
        self.made = {SITE: set(), PAIR: set()}
        self.last = {SITE: {}, PAIR: {}}

    def teardown(self):
        netlab.version.RELEASE = self.version
        if hasattr(self, "place"):
            self.place.cleanup()

    def facts(self):
        found = campaigns.facts(self.congestion, links=LINKS, **self.drivers)
        for ends in found.values():
            for host in ends.values():
                host |= {"generators": {"iperf3": self.tool}, "kernel": f"6.1-{self.kernel}"}
        return found

    def study(self, store):
        content = campaigns.third_card()
        groups = [{**content["groups"][0], "generator": "iperf3"}, *content["groups"][1:]]
        links = self.links if store == SITE else ("p1",)
        content["groups"] = [group for group in groups if group["path"] in links]
        content["timing"] = {"rounds": self.rounds, "seconds": 1.0, "warmup_s": 0.2}
        if store == SITE:
            content["factors"] = {"record_length_B": [8192, 65536]}
            return campaigns.study(**content, outer={"kernel": ["smp", "up"]})
        return campaigns.study(**content, name="a-pair", factors={})

    def outer(self, store):
        return (("kernel", self.kernel),) if store == SITE else ()

    @rule(name=st.sampled_from(["cubic", "reno", "bbr"]))
    def set_default(self, name):
        self.congestion = name

    @rule(link=st.sampled_from(LINKS), driver=st.sampled_from(["ixgbe", "mlx5_core"]))
    def change_card(self, link, driver):
        self.drivers[link] = driver

    @rule(version=st.sampled_from(["1", "2"]))
    def change_tool(self, version):
        self.tool = version

    @rule(kernel=st.sampled_from(["smp", "up"]))
    def boot(self, kernel):
        self.kernel = kernel

    @rule(version=st.sampled_from(["0.1.0", "0.2.0"]))
    def install(self, version):
        netlab.version.RELEASE = version

    @rule(rounds=st.sampled_from([1, 2]), links=st.sampled_from([LINKS, ("p1", "p3")]))
    def edit_study(self, rounds, links):
        self.rounds, self.links = rounds, links

    @rule(share=st.sampled_from([1, 2]))
    def measure_all(self, share):
        """Measure every link at the present level of what a person sets, whole or half."""
        ids = self.of_links(SITE, self.links)
        self.write(SITE, self.links, ids[: len(ids) // share])

    @rule(link=st.sampled_from(LINKS))
    def measure_block(self, link):
        """Measure a block by hand, which asks the ends of its link alone."""
        if link in self.links:
            self.write(SITE, (link,), self.of_links(SITE, (link,))[:2])

    @rule(share=st.sampled_from([1, 2]))
    def measure_pair(self, share):
        """The jobs of a fleet open the record of their pair for each visit."""
        for visit in [v for v in visits(self.study(PAIR)) if v.link == "p1"][::share]:
            self.write(PAIR, ("p1",), [run.run_id for run in visit.runs])

    def of_links(self, store, links):
        planned = visits(self.study(store))
        chosen = [v for v in planned if v.link in links and v.outer == self.outer(store)]
        return [run.run_id for visit in chosen for run in visit.runs]

    def write(self, store, links, ids):
        found, outer = self.facts(), self.outer(store)
        of = {link: found[link] for link in links}
        at = NOW + timedelta(minutes=next(self.minutes))
        place = self.root / store
        record = open_record(self.study(store), place, of, None, outer=outer, now=at)
        self.last[store] |= {(link, outer): ends for link, ends in of.items()}
        self.made[store] |= campaigns.write(record, of, runs=ids, outer=outer)
        self.expected = self.expected if hasattr(self, "expected") else {}
        self.expected[store] = {}
        for visit in visits(record.study):
            if (ends := self.last[store].get((visit.link, visit.outer))) is not None:
                self.expected[store] |= campaigns.keys_of(record.study, visit, ends)

    @invariant()
    def counts_what_was_made_under_the_latest_conditions(self):
        for store, expected in getattr(self, "expected", {}).items():
            runs = Store(self.root / store).runs()
            counted = set(zip(runs["run_id"], runs["provenance_key"], strict=True))
            assert counted == self.made[store] & set(expected.items())

    @invariant()
    def no_cell_of_any_store_mixes_conditions(self):
        for store in getattr(self, "expected", {}):
            cells = Store(self.root / store).runs().groupby(list(CELL_KEYS), dropna=False)
            assert (cells["provenance_key"].nunique() == 1).all()


TestCampaigns = Campaigns.TestCase
TestCampaigns.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)


def test_results_of_a_newer_netlab_stay_as_they_are(tmp_path, monkeypatch):
    """A campaign begun in them would be the latest one, of which that netlab shows no record."""
    facts = campaigns.facts()
    with monkeypatch.context() as later:
        later.setattr("netlab.results.parquet.SCHEMA_VERSION", SCHEMA_VERSION + 1)
        campaigns.write(opened(tmp_path, facts), facts)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for now in (facts, campaigns.facts("bbr")):
        with pytest.raises(NetlabError, match="this netlab reads") as caught:
            opened(tmp_path, now, minutes=1)
        assert caught.value.code == "E-RESULTS-008"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
