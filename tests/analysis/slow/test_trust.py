"""The quality gate counts what is missing, says why, and names the command that mends it."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import measured_store
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute
import pytest
import synthetic
from pyarrow import parquet

from netlab.analysis import answers, effects, findings, printed, trust
from netlab.analysis.cells import FROM_RUN
from netlab.analysis.cells import empty as is_empty
from netlab.analysis.measured import from_frames, load_measured
from netlab.files import paths
from netlab.report import gate
from netlab.results.flags import Flag
from netlab.results.store import Damaged
from netlab.study import load


def measured(study, runs=None, results=None, **how):
    runs = synthetic.runs_of(study, **how) if runs is None else runs
    return from_frames(study, runs, None, results)


def test_a_damaged_file_is_a_concern_with_the_way_to_repair_it(tmp_path):
    quick = load(synthetic.openlab_file(), quick=True)
    change = synthetic.only(path=("64-64", "sc-64"), streams=(1, 20))
    synthetic.store_of(tmp_path, quick, synthetic.runs_of(quick, change=change))
    victim, *_others = sorted((tmp_path / "runs").glob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:200])
    with pytest.warns(Damaged, match=victim.name):
        concern, *_ = trust.gate(load_measured(tmp_path))
    assert concern.kind == trust.DAMAGED and victim.name in concern.reason
    assert concern.text.startswith("1 damaged file of the results")
    assert concern.command.startswith("netlab results repair ") and victim.exists()


def without_samples(results: Path) -> tuple[Path, str]:
    victim = min((results / "intervals").iterdir())
    victim.unlink()
    return victim, "lacks the samples of "


def with_samples_of_before(results: Path) -> tuple[Path, str]:
    """The samples of a visit were copied when its runs had not all been made."""
    victim = min((results / "intervals").iterdir())
    samples = parquet.read_table(victim)
    first = samples["run_id"][0]
    earlier = samples.filter(pyarrow.compute.equal(samples["run_id"], first))
    parquet.write_table(earlier, victim)
    return victim, "lacks the samples of 1 run:"


def without_a_campaign(results: Path) -> tuple[Path, str]:
    """The campaigns were copied before the last one began, which all its records are of."""
    victim = results / "campaigns" / measured_store.CAMPAIGN
    shutil.move(victim, victim.with_name("20260105T095959Z"))
    log = victim.with_name("20260105T095959Z") / "campaign.json"
    log.write_text(log.read_text().replace(victim.name, "20260105T095959Z"))
    for part in ("runs", "intervals"):
        file = min((results / part).iterdir())
        shutil.copy(file, file.with_name(file.name.replace(victim.name, "20260105T095959Z")))
    return victim, "is missing, which says what its records are of"


@pytest.mark.parametrize("cut", [without_samples, with_samples_of_before, without_a_campaign])
def test_results_that_were_copied_while_they_were_measured_are_named(tmp_path, cut):
    results = tmp_path / "data" / "results"
    measured_store.two_racks(results)
    assert not load_measured(results).damaged
    victim, words = cut(results)
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    with pytest.warns(Damaged, match=words):
        concern, *_ = trust.gate(load_measured(results))
    assert concern.kind == trust.DAMAGED and str(victim) in concern.reason
    assert "copied while they were measured" in concern.reason
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


def test_a_whole_precise_campaign_passes_and_so_does_one_that_asks_no_precision(openlab):
    assert trust.gate(measured(openlab)) == ()
    seen = trust.precision(measured(openlab, noise=0.2))
    assert math.isnan(seen.asked_percent) and seen.wide == 0 and seen.widest_percent > 5


def test_the_gate_is_not_passed_for_a_precision_that_was_not_asked(openlab, tmp_path):
    passed = repr(gate.banner(measured(openlab)))
    assert passed.startswith("Quality gate passed: ") and "no precision was asked" in passed
    alone = synthetic.foreign(tmp_path)
    m = measured(alone)
    assert "2 cells without an interval over rounds" in repr(gate.banner(m))
    runs = answers.tiles(m)[-1]
    assert runs.value == "2 of 2" and "others" not in runs.of
    asked = load(synthetic.openlab_file())
    assert asked.precision is not None and not trust.gate(measured(asked))
    assert repr(gate.banner(measured(asked))).endswith("precision reached.")


def test_empty_cells_are_counted_by_reason(openlab):
    def change(row):
        if row["streams"] == 20:
            return False
        if row["streams"] == 12:
            row |= {"flags": "failed", "message": "no sink", "goodput_MBps": math.nan}
        return True

    empty, flagged = trust.gate(measured(openlab, change=change))
    assert (empty.kind, flagged.kind) == (trust.EMPTY, trust.FLAGGED)
    assert empty.text == "70 of 140 cells are empty"
    assert "not measured: 35" in empty.reason and "all flagged: failed: 35" in empty.reason
    assert empty.reason.endswith("runs that are missing or failed are measured again")
    assert empty.command == "netlab study openlab-2003"
    assert empty.call == "netlab.Study('openlab-2003').run()"
    assert flagged.text == "105 of 315 runs are flagged (33 %)" and "failed 105" in flagged.reason


def disturb(goodput_MBps):
    """A change that has foreign load flag all runs with 20 streams."""
    flagged = {"flags": "interference", "message": "foreign load", "foreign_cpu_percent": 38.4}
    return synthetic.setting(flagged | {"goodput_MBps": goodput_MBps}, streams=(20,))


def test_disturbed_cells_are_a_concern_of_their_own_that_says_how_much_load_there_was(openlab):
    cells, runs = trust.gate(measured(openlab, change=disturb(50.0)))
    assert (cells.kind, runs.kind) == (trust.FLAGGED_CELLS, trust.FLAGGED)
    assert cells.text == "35 of 140 cells have only flagged runs"
    assert cells.reason.startswith("interference: 35; shown hollow with their median")
    assert "end what else uses the hosts" in cells.reason
    assert cells.command == "netlab study openlab-2003"
    assert "interference 105; other work took 38 % of the CPUs" in runs.reason


def test_runs_flagged_for_the_path_are_not_mended_by_quiet_hosts(openlab):
    stalled = synthetic.setting({"flags": "stalled", "message": "no byte"}, streams=(20,))
    cells, runs = trust.gate(measured(openlab, change=stalled))
    for concern in (cells, runs):
        assert "look for losses on the path" in concern.reason
        assert "uses the hosts" not in concern.reason


def test_a_disturbed_cell_is_to_every_analysis_what_an_empty_one_is(openlab):
    """However high it is: nothing ranks, compares or judges it."""
    ones = [measured(openlab, change=disturb(goodput)) for goodput in (1e6, math.nan)]
    assert (ones[0].cells["disturbed"] != "").sum() == 35 and not is_empty(ones[0].cells).any()
    assert (ones[1].cells["disturbed"] == "").all() and is_empty(ones[1].cells).sum() == 35
    assert answers.headline(ones[0]) == answers.headline(ones[1])
    assert trust.precision(ones[0]) == trust.precision(ones[1])
    frames = (
        lambda m: printed.best(m.cells, m.study)[["group", "tuning", "mtu_B", "streams"]],
        lambda m: m.bottlenecks,
        lambda m: m.findings,
        lambda m: m.stability,
        lambda m: findings.target(m.cells, m.study),
        lambda m: effects.effects(m.runs, "streams"),
    )
    for frame in frames:
        disturbed, empty = map(frame, ones)
        assert len(empty)
        pd.testing.assert_frame_equal(disturbed, empty)


@pytest.mark.parametrize(("count", "kinds"), [(21, []), (22, [trust.FLAGGED])])
def test_more_than_five_per_cent_flagged_is_a_concern(openlab, count, kinds):
    m = measured(openlab, change=synthetic.setting({"flags": "stalled"}, order=range(count)))
    assert len(m.runs) == 420 and [c.kind for c in trust.gate(m)] == kinds


def test_a_precision_that_was_not_reached_proposes_rounds_and_a_budget():
    study = load(synthetic.openlab_file(), max_rounds=4)
    runs = synthetic.runs_of(study, noise=0.002)
    scatter = np.random.default_rng(3).normal(0, 0.06, len(runs))
    wide = runs["group"] == "Linux64 -> Linux64"
    runs.loc[wide, "goodput_MBps"] *= np.exp(scatter[wide])
    m = measured(study, runs)
    (concern,) = trust.gate(m)
    seen = trust.precision(m)
    assert concern.kind == trust.IMPRECISE and 0 < seen.wide <= 28
    assert concern.text == f"{seen.wide} of 140 cells are less precise than asked"
    assert concern.reason.startswith("5 % was asked, the widest cell reached")
    words = concern.command.split()
    rounds = int(words[words.index("--max-rounds") + 1])
    assert words[:3] == ["netlab", "study", "openlab-2003"] and 4 < rounds <= 16
    assert words[words.index("--budget") + 1] == f"{math.ceil(20 * rounds / 4)}min"
    given = f"max_rounds={rounds}, budget='{math.ceil(20 * rounds / 4)}min'"
    assert concern.call == f"netlab.Study('openlab-2003', {given}).run()"


def test_an_interval_within_one_run_reaches_no_precision_and_no_rank():
    study = load(synthetic.openlab_file(), max_rounds=4)
    runs = synthetic.runs_of(study)
    runs = runs[runs["round"] == 1]
    m = from_frames(study, runs, synthetic.intervals_of(runs, study), None)
    assert (m.cells["interval_from"] == FROM_RUN).all()
    assert (m.cells["within_high_MBps"] / m.cells["goodput_MBps"] < 1.05).sum() > 100
    assert m.cells["half_width_percent"].isna().all()
    seen = trust.precision(m)
    assert (seen.within, seen.wide, seen.none) == (0, 0, 140)
    assert math.isnan(seen.median_percent) and math.isnan(seen.widest_percent)
    (concern,) = trust.gate(m)
    assert concern.text == "140 of 140 cells are less precise than asked"
    left = "140 cells have no interval over rounds; rounds of the study are still to come"
    assert concern.reason == f"5 % was asked; {left}"
    assert concern.command == "netlab study openlab-2003", "its own rounds are to come"
    assert printed.best(m.cells, study).empty and len(printed.best(m.cells)) == 5
    assert answers.best(m) == "No cell is precise enough to be called the best."


@pytest.mark.parametrize("results", [None, "short"])
def test_a_short_form_says_so_and_names_the_whole_study_with_results_of_its_own(results, tmp_path):
    study = load(synthetic.openlab_file(), quick=True)
    place = results and tmp_path / results
    (concern,) = trust.gate(measured(study, results=place))
    assert concern.kind == trust.SHORT and concern.command == "netlab study openlab-2003"
    assert "3 rounds of 0.2 s" in concern.reason


def test_a_short_form_that_netlab_does_not_know_names_the_file_that_it_is_of(tmp_path):
    study = synthetic.foreign(tmp_path)
    study = study.model_copy(update={"name": f"{study.name}-quick"})
    *_, last = trust.gate(measured(study, results=tmp_path / "short"))
    assert last.kind == trust.SHORT and last.command == "netlab study two-racks.yml"
    assert last.call == "Measure the study without quick=True."


def test_a_command_states_an_outer_factor_that_its_cells_have():
    study = load(synthetic.openlab_file().with_name("sc-2003.yml"))
    runs = synthetic.runs_of(study, noise=0.2)
    single = runs["factors"].str.contains('"up"')
    empty, wide = trust.gate(measured(study, runs[~single]))
    assert (empty.kind, wide.kind) == (trust.EMPTY, trust.IMPRECISE)
    assert empty.command == "netlab study sc-2003 --outer kernel=up"
    assert empty.call == "netlab.Study('sc-2003').run(outer={'kernel': 'up'})"
    assert wide.command.startswith("netlab study sc-2003 --outer kernel=smp --max-rounds ")
    runs.loc[single, ["flags", "message"]] = ["stalled", "nothing for 0.4 s"]
    _, flagged, _ = trust.gate(measured(study, runs))
    assert flagged.kind == trust.FLAGGED
    assert flagged.command == "netlab study sc-2003 --outer kernel=up"
    (none,) = trust.gate(measured(study, runs.head(0)))
    assert none.command.startswith("netlab study sc-2003 --outer kernel=")


def test_the_command_names_results_elsewhere_and_a_study_that_netlab_does_not_know(tmp_path):
    study = synthetic.foreign(tmp_path)
    place = tmp_path / "other results"
    said = trust.command(measured(study, results=place), "--max-rounds", "9")
    assert said == f"netlab study '{place}/study.yml' --results '{place}' --max-rounds 9"


@pytest.mark.parametrize("flag", list(Flag))
def test_beside_a_command_that_names_a_copy_a_change_of_the_study_belongs_elsewhere(flag, tmp_path):
    """Of flags whose remedy is such a change, and of no other; a known study is its own file."""
    change = synthetic.setting({"flags": str(flag)})
    words = ("`noise`", "timing.", "study states", "state a lower rate")
    changes_study = any(word in flag.remedy for word in words)
    mine, known = synthetic.foreign(tmp_path), synthetic.openlab()
    for study, says in ((mine, changes_study), (known, False)):
        m = measured(study, results=tmp_path / "there", change=change)
        concern = next(one for one in trust.gate(m) if one.kind == trust.FLAGGED)
        assert ("change your own file" in concern.reason) == says
        assert ("there/study.yml" in concern.command) == (study is mine)


def test_results_below_the_working_directory_are_named_from_there(monkeypatch, openlab, tmp_path):
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    m = measured(openlab, results=paths.results_root() / "again")
    elsewhere = trust.command(m)
    assert elsewhere == f"netlab study openlab-2003 --results {tmp_path}/results/again"
    monkeypatch.chdir(tmp_path)
    assert trust.command(m) == "netlab study openlab-2003 --results results/again"
    m = measured(openlab, results=paths.results_dir("openlab-2003"))
    assert trust.command(m) == "netlab study openlab-2003"
