"""The result in sentences agrees with the cells it is made of."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import synthetic

from netlab import study as studies
from netlab.analysis import findings, tool_agreement
from netlab.analysis.answers import best, headline, tiles
from netlab.analysis.cells import FROM_ROUNDS
from netlab.analysis.compare import VERDICTS
from netlab.analysis.measured import from_frames, load_measured
from netlab.charts.cells import over_streams
from netlab.charts.chart import show
from netlab.errors import BadInput
from netlab.files.paths import data_dir, example
from netlab.measure.bottleneck import ASKED
from netlab.report import tables
from netlab.study import load


def test_five_sentences_state_design_machines_best_limits_and_findings(openlab):
    m = synthetic.measured(openlab)
    design, machine, best, limits, hold = headline(m)
    assert "140 cells in 5 groups" in design
    assert f"420 runs of {openlab.timing.seconds:g} s in up to 3 rounds" in design
    assert "3 tunings (No Tuning, Kernel Tuning and Driver Tuning)" in design
    assert "MTU 1500, 9000 and 16114 B, 1 to 20 streams" in design
    assert "measured on 2026-01-05" in design
    assert "emulated lab, not hardware" in machine and "Linux 6.12.0" in machine
    one = m.cells[m.cells["direction"] == "->"]["goodput_MBps"].max()
    both = m.cells[m.cells["direction"] == "<->"]["goodput_MBps"].max()
    assert f"in one direction {one:.0f}" in best and f"both directions together {both:.0f}" in best
    assert "% of the bus" in best and "% of twice the bus" in best and "->" not in best
    counts = m.bottlenecks["bottleneck"].value_counts()
    assert all(f"the {name} in {count}" in limits for name, count in counts.items())
    frame = findings.findings(m.runs, m.study)
    assert f"{(frame['verdict'] == 'holds').sum()} hold" in hold


@pytest.mark.parametrize("share", ["of some runs ", ""])
def test_a_lab_made_without_root_is_named(openlab, share):
    def made(row):
        with_root = bool(share) and row["order"] % 2 == 0
        content = json.loads(row["provenance"]) | {"user_namespace": not with_root}
        row["provenance"] = json.dumps(content)

    machine = headline(synthetic.measured(openlab, change=made))[1]
    assert f"The lab {share}was made without root and defers no interrupts" in machine


def test_a_study_of_today_says_nothing_of_2003_and_names_real_machines(tmp_path):
    study = synthetic.foreign(tmp_path)
    said = headline(synthetic.measured(study))
    assert len(said) == 4 and "2003" not in " ".join(said)
    assert "left and right are real machines" in said[1]
    assert "% of" not in said[2], "no bus is known"


def test_no_valid_or_precise_run_leaves_sentences_without_figures(openlab):
    said = headline(synthetic.measured(openlab, change=synthetic.setting({"flags": "stalled"})))
    assert "No cell has a valid run" in said[2] and "No cell shows" in said[3]
    assert "nan" not in " ".join(said)
    study = load(synthetic.openlab_file(), max_rounds=4)
    runs = synthetic.runs_of(study)
    runs["goodput_MBps"] *= np.exp(np.random.default_rng(3).normal(0, 0.5, len(runs)))
    said = headline(from_frames(study, runs, None, None))
    assert said[2] == "No cell is precise enough to be called the best."


def test_a_burst_is_named_beside_the_rate_that_follows_it(openlab):
    burst = {"flags": "unsteady", "burst_MBps": 1500.0, "burst_s": 0.6, "sustained_MBps": 100.0}
    whole = {"table": (2,), "mtu_B": (9000,), "streams": (20,)}
    m = synthetic.measured(openlab, change=synthetic.setting(burst, **whole))
    (said,) = [sentence for sentence in headline(m) if sentence.startswith("Unsteady: ")]
    assert "20 streams: a burst, then 100 MB/s (1,500 until 0.6 s, 3 of 3 runs)" in said
    cells = m.cells[m.cells["disturbed"] == "unsteady"]
    assert len(cells) and (cells["disturbed_MBps"] == 100).all()
    assert not any("Unsteady" in sentence for sentence in headline(synthetic.measured(openlab)))


def test_a_window_that_the_study_asked_for_is_named_in_headline_table_and_chart(openlab):
    def asked(row):
        row.update(rwnd_limited_share=0.9, rcvbuf_B=2 * 262144.0, busiest_core_percent=50.0)
        row["goodput_MBps"] *= 0.5

    m = synthetic.measured(openlab, change=asked)
    assert "(Linux64" in best(m) and "; window, asked for by the study)" in best(m)
    group = m.groups[0]
    count = (m.cells.loc[m.cells["group"] == group, "bottleneck"] == ASKED).sum()
    sentence = f"Limited by the window, asked for by the study: {count} cells."
    assert count and sentence in tables.of_group(m, group).note
    chart = show(over_streams(m.cells, group, study=openlab))
    assert sentence in chart.caption


CELLS = 4 + 2  # shaped at two MTUs, unshaped at one, each with two stream counts
OFF_PERCENT = {"netlab": 0.0, "iperf3": 0.5, "iperf2": -0.5, "nuttcp": 20.0}


@pytest.fixture(scope="module")
def study():
    return studies.load(data_dir() / "studies" / "agreement.yml")


def runs_of(study, *, noise=0.001, change=None, seed=1):
    def value(_study, group, _tuning, mtu_B, streams):
        base = 100.0 * (1 + mtu_B / 9000) * streams**0.1
        return base * (1 + OFF_PERCENT[group.generator] / 100), "link"

    return synthetic.runs_of(study, noise=noise, value=value, change=change, seed=seed)


def test_every_cell_compares_every_other_generator_with_netlabs_own(study):
    compared = tool_agreement.compare_generators(runs_of(study))
    assert len(compared) == 3 * CELLS
    assert set(compared["reference"]) == {"netlab"} and compared["paired"].all()
    for name, part in compared.groupby("generator"):
        assert np.allclose(100 * (part["ratio"] - 1), OFF_PERCENT[name], atol=0.4)
        assert set(part["verdict"]) == {"faster" if name == "nuttcp" else "the same"}
        assert (part["low"] < part["ratio"]).all() and (part["ratio"] < part["high"]).all()


@pytest.mark.parametrize(("noise", "change"), [(0.1, None), (0.001, lambda row: row["round"] == 1)])
def test_rounds_that_are_unlike_cannot_tell_and_too_few_have_no_interval(study, noise, change):
    compared = tool_agreement.compare_generators(runs_of(study, noise=noise, change=change, seed=5))
    others = compared[compared["generator"] != "nuttcp"]
    word = "cannot tell" if change is None else "no interval"
    assert len(compared) == 3 * CELLS and set(others["verdict"]) == {word}
    assert compared["low"].isna().all() == (change is not None)


def test_flagged_runs_other_settings_and_missing_references_are_not_compared(study):
    without = runs_of(study, change=lambda row: row["generator"] != "netlab")
    compared = tool_agreement.compare_generators(without)
    assert set(compared["reference"]) == {"iperf2"}
    assert set(compared["generator"]) == {"iperf3", "nuttcp"}
    change = synthetic.setting({"buffer_B": 65536}, generator=("netlab",))
    compared = tool_agreement.compare_generators(runs_of(study, change=change))
    assert "netlab" not in set(compared["generator"]) | set(compared["reference"])
    change = synthetic.setting({"flags": "interference"}, generator=("iperf3",))
    runs = runs_of(study, change=change)
    assert "iperf3" not in set(tool_agreement.compare_generators(runs)["generator"])
    assert tool_agreement.meters(runs)["generator"].nunique() == 3


def test_the_summary_counts_every_comparison_once_and_none_of_one_generator(study):
    alone = runs_of(study, change=synthetic.only(generator=("netlab",)))
    assert not tool_agreement.several(alone) and tool_agreement.several(runs_of(study))
    compared = tool_agreement.compare_generators(alone)
    assert compared.empty and tool_agreement.summary(compared).empty
    compared = tool_agreement.compare_generators(runs_of(study))
    whole = tool_agreement.summary(compared)
    assert whole["cells"].sum() == len(compared)
    assert (whole[list(VERDICTS)].sum(axis=1) == whole["cells"]).all()
    assert (whole["least_percent"] <= whole["greatest_percent"]).all()


@pytest.mark.parametrize("bound", [0, -1, math.nan])
def test_an_impossible_bound_is_bad_input(study, bound):
    with pytest.raises(BadInput, match="bound_percent: must be above 0"):
        tool_agreement.compare_generators(runs_of(study), bound_percent=bound)


def test_a_goodput_measured_in_one_round_has_no_plus_minus_in_the_headline():
    m = load_measured(example("slac-2003"))
    assert (m.cells["interval_from"] != FROM_ROUNDS).all()
    assert "Mb/s" in best(m) and "±" not in "".join(headline(m))
    assert not any("±" in tile.value for tile in tiles(m))
