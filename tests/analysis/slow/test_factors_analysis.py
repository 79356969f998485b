"""Factors of a study are columns; any two of them make a table, and each has an effect."""

from __future__ import annotations

import re

import numpy as np
import pytest
import synthetic
from lab_study import lab_study
from refusals import refused

from netlab.analysis import any_factors
from netlab.analysis.answers import trade_offs
from netlab.analysis.cells import CELL_KEYS, Cells
from netlab.analysis.compare import compare
from netlab.analysis.effects import effects
from netlab.analysis.findings import target
from netlab.analysis.measured import from_frames
from netlab.analysis.printed import as_printed
from netlab.analysis.sides import ComparedSide, split
from netlab.errors import BadInput
from netlab.report import tables
from netlab.report.explore import charts, has_factors, levels, stack
from netlab.report.publishing import FACTORS_NOTEBOOK, result_notebooks
from netlab.report.view_pages import view_pages
from netlab.study import Study


@pytest.fixture(scope="module")
def study() -> Study:
    lengths = {"record_length_B": [1024, 65536], "send": ["copy", "zerocopy"], "rtt_ms": [0, 10]}
    content = lab_study().model_dump(mode="json") | {
        "tunings": [{"name": "plain", "mtus_B": [1500, 9000], "knobs": []}],
        "factors": lengths,
        "exclude": [{"send": "zerocopy", "record_length_B": 1024}],
        "outer": {"kernel": ["smp", "up"]},
        "timing": {"rounds": 4, "seconds": 0.5},
    }
    content["groups"] = [{"name": "one", "path": "a-b", "sender": "a", "target_Gbps": 1.6}]
    return Study.model_validate(content)


@pytest.fixture(scope="module")
def measured(study, tmp_path_factory):
    def change(row):
        """100 MB/s, twice that for a long record, half for 10 ms, 1.5 times for ``up``."""
        at, factor = any_factors.levels_of(row["factors"]), row["mtu_B"] / 9000
        factor *= (2 if at["record_length_B"] == 65536 else 1) * (0.5 if at["rtt_ms"] else 1)
        row["goodput_MBps"] *= factor * (1.5 if at["kernel"] == "up" else 1)

    how = {"value": lambda *_: (100.0, "CPU"), "noise": 0.002, "change": change}
    return synthetic.measured(study, tmp_path_factory.mktemp("results"), **how)


def test_cells_are_apart_by_every_factor(measured, study):
    cells = measured.cells
    assert len(cells) == len(study.combinations(study.groups[0])) == 2 * 6 * 2
    assert (cells["n_valid"] == 4).all()
    assert not cells.duplicated(list(CELL_KEYS)).any()
    wide = any_factors.expanded(cells, study)
    assert wide[["record_length_B", "send", "rtt_ms", "kernel"]].notna().all(axis=None)
    assert wide["record_length_B"].dtype == "int64"
    frame = as_printed(cells, "one", study=study)
    assert list(frame.index.names)[2:] == ["record_length_B", "send", "rtt_ms", "kernel"]
    assert len(frame) == 24
    smp = measured.runs["factors"].str.contains('"smp"')
    cells = Cells.of(study)(measured.runs[smp], None, study)
    missing = any_factors.expanded(cells[cells["n_valid"] == 0])
    assert len(cells) == 24 and set(missing["kernel"]) == {"up"} and len(missing) == 12
    assert set(missing["missing_because"]) == {"not measured"}


def test_a_cost_in_latency_is_sought_only_where_it_was_measured(measured):
    assert trade_offs(measured) == ()


def test_any_two_factors_make_a_table(measured):
    at = {"mtu_B": 9000, "kernel": "up", "rtt_ms": 0.0}
    two = ("record_length_B", "send")
    part = any_factors.of_two(measured.cells, *two, at, measured.study)
    found = any_factors.table(part, *two, "goodput", measured.study)
    assert found.index.tolist() == ["1024", "65536"]
    assert found.columns.tolist() == ["send copy", "send zerocopy"]
    assert found.loc["1024", "send zerocopy"] == ""  # left out of the design
    assert float(found.loc["65536", "send copy"].split()[0]) == pytest.approx(300, rel=0.02)


def test_cells_of_other_groups_that_lack_a_factor_leave_its_table(tmp_path):
    """One group has two paces, the others have none, and differ in their streams."""
    content = lab_study().model_dump(mode="json") | {
        "tunings": [{"name": "plain", "mtus_B": [1500], "knobs": []}],
        "timing": {"rounds": 3, "seconds": 0.5},
        "streams": [1, 2, 3],
    }
    group = {"path": "a-b", "sender": "a"}
    content["groups"] = [
        {**group, "name": "paced", "streams": [1], "factors": {"pacing_MBps": [1.0, 2.0]}},
        *({**group, "name": name, "streams": [at]} for name, at in (("x", 1), ("y", 1), ("z", 3))),
    ]
    study = Study.model_validate(content)
    runs = synthetic.runs_of(study, value=lambda *_at: (1.0, "link"))
    m = from_frames(study, runs, synthetic.intervals_of(runs, study), tmp_path)
    (shown,) = stack(m).tables
    assert set(shown.data["group"]) == {"paced"} and len(shown.data) == 2


def test_groups_that_vary_a_factor_each_have_no_blank_page(tmp_path):
    """No cell has both, so that neither makes lines of the other."""
    content = lab_study().model_dump(mode="json") | {
        "tunings": [{"name": "plain", "mtus_B": [1500], "knobs": []}],
        "timing": {"rounds": 3, "seconds": 0.5},
        "streams": [1],
    }
    factors = {"pacing_MBps": [1.0, 2.0, 3.0], "record_length_B": [1024, 65536]}
    content["groups"] = [
        {"path": "a-b", "sender": "a", "name": name, "factors": {name: levels}}
        for name, levels in factors.items()
    ]
    study = Study.model_validate(content)
    runs = synthetic.runs_of(study, value=lambda *_at: (1.0, "link"))
    m = from_frames(study, runs, synthetic.intervals_of(runs, study), tmp_path)
    assert any_factors.layout(m.cells, m.study) == ("pacing_MBps", "")
    assert "No cells differ in two factors" in str(stack(m).tables)
    (chart,) = charts(m).charts
    assert re.search(r"over pacing.* 1\.0", chart.alt)


def test_a_factor_that_varies_needs_a_level(measured):
    with refused(BadInput, "E-ANALYSIS-035", match="mtu_B, rtt_ms, kernel"):
        any_factors.of_two(measured.cells, "record_length_B", "send")
    with refused(BadInput, "E-ANALYSIS-032", match="smp, up"):
        any_factors.at_levels(measured.cells, {"kernel": "xen"})
    with refused(BadInput, "E-ANALYSIS-033", match="rtt_ms"):
        any_factors.of_two(measured.cells, "colour", "send")
    with refused(BadInput, "E-ANALYSIS-034"):
        any_factors.of_two(measured.cells, "send", "send")


def test_the_effect_of_a_factor_is_within_equal_levels_of_the_others(measured):
    found = effects(measured.runs, "rtt_ms")
    assert len(found) == 12 and np.allclose(found["ratio"], 0.5, rtol=0.02)
    kernel = effects(measured.runs, "kernel", levels=("smp", "up"))
    assert len(kernel) == 12 and np.allclose(kernel["ratio"], 1.5, rtol=0.02)
    assert len(effects(measured.runs, "send")) == 8
    mtu = effects(measured.runs, "mtu_B")
    assert len(mtu) == 12 and np.allclose(mtu["ratio"], 6.0, rtol=0.02)
    with refused(BadInput, "E-ANALYSIS-006"):
        effects(measured.runs, "colour")


def test_levels_of_a_factor_are_compared_cell_by_cell(measured):
    side = ComparedSide("all", measured.study, measured.runs, measured.results, "")
    column, (a, b) = split(side, "kernel=smp,up")
    found = compare(a.runs, b.runs, by=column, one_store=True)
    assert len(found.frame) == 12 and found.only.empty
    assert set(found.frame["verdict"]) == {"faster"}
    assert np.allclose(found.frame["ratio"], 1.5, rtol=0.02)
    _, (short, long) = split(side, "record_length_B=1024,65536")
    found = compare(short.runs, long.runs, by="record_length_B", one_store=True)
    assert len(found.frame) == 8 and len(found.only) == 8


def test_a_target_in_gigabits_is_tested_on_the_best_cell(measured):
    row = target(measured.cells, measured.study).iloc[0]
    assert (row["unit"], row["target"], row["verdict"]) == ("Gb/s", 1.6, "met")
    assert row["reached"] == pytest.approx(2.4, rel=0.02)
    assert "2.4" in repr(tables.target(measured))


def test_the_report_shows_the_two_factors_with_the_most_levels(measured):
    assert has_factors(measured) and result_notebooks(measured) == (FACTORS_NOTEBOOK,)
    assert len(levels(measured).frame) == 5
    shown = stack(measured)
    assert len(shown.tables) == 8
    drawn = charts(measured)
    assert len(drawn.charts) == 8
    assert "Line chart of goodput, MB/s over" in drawn.charts[0].alt


def test_every_effect_is_in_the_report(measured):
    frame = tables.effects(measured).frame
    assert {"kernel", "send", "RTT, ms", "record length, B", "MTU, B"} <= set(frame["factor"])
    row = frame[frame["factor"] == "kernel"].iloc[0]
    assert (row["from"], row["to"]) == ("smp", "up") and row["ratio"].startswith("×1.5")


def test_the_views_of_a_study_with_factors_show_bottlenecks_and_every_repeat(measured):
    pages = {page.file: page for page in view_pages(measured)}
    assert {"bottlenecks.html", "effects.html", "repeats.html"} <= set(pages)
    repeats = pages["repeats.html"].body
    assert repeats.count("<figure") == 1 and "send zerocopy" in repeats
    cells = measured.cells
    assert all(f"record length {size} B" in repeats for size in (1024, 65536)) and len(cells) == 24
