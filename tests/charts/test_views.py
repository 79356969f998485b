"""Views draw what was measured: every cell, step, run and cost, and say so in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab.analysis.conditions import cpu_cost
from netlab.analysis.measured import from_frames
from netlab.charts import cells, forest, measured
from netlab.charts.chart import show
from netlab.charts.labels import data_of
from netlab.charts.theme import HOLLOW_COLOUR
from netlab.report import tables

GROUP = "Linux64 -> Linux64"


@pytest.fixture(scope="module")
def m():
    def change(row):
        if row["order"] % 40 == 0:
            row |= {"flags": "stalled"}
        return row["streams"] != 20 or row["tuning"] != "none"

    return synthetic.measured(change=change)


def test_the_heat_map_has_every_cell_on_a_scale_from_0_to_100(m):
    ax = cells.ceiling(m.cells, GROUP, study=m.study)
    (mesh,) = ax.collections
    values = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(7, 4)
    part = m.cells[m.cells["group"] == GROUP].set_index(["tuning", "mtu_B", "streams"])
    assert values[6, 1] == pytest.approx(part.loc[("full", 16114, 4), "percent_of_bus"])
    assert np.isnan(values[0, 3]) and mesh.get_clim() == (0, 100)
    assert ax.get_yticklabels()[0].get_text() == "No Tuning, 1500 B"
    assert "per cent of the bus by" in (alt := show(ax).alt) and "no value with 20" in alt
    both = show(cells.ceiling(m.cells, "Linux64 <-> Linux64", study=m.study))
    assert "per cent of twice the bus" in both.alt


def test_the_heat_map_has_a_grey_number_after_a_ring_for_a_disturbed_cell(m):
    runs = m.runs.assign(flags=m.runs["flags"].mask(m.runs["streams"] == 4, "interference"))
    noisy = from_frames(m.study, runs, None, None)
    ax = cells.ceiling(noisy.cells, GROUP, study=m.study)
    (mesh,) = ax.collections
    values = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(7, 4)
    assert np.isnan(values[:, 1]).all()
    rings = [text for text in ax.texts if text.get_text().startswith("○ ")]
    assert len(rings) == 7 and {text.get_color() for text in rings} == {HOLLOW_COLOUR}
    chart = show(ax)
    assert ", disturbed, with 4" in chart.alt and "(interference: 7 cells)" in chart.caption


def test_the_forest_has_a_dot_and_an_interval_for_every_step(m):
    steps = tables.steps(m)
    ax = forest.step_forest(steps, {"none": "No Tuning"}, tables.FACTORS)
    data = data_of(ax.figure)
    assert data["x"].tolist() == pytest.approx(steps["ratio"].tolist())
    assert data["low"].tolist() == pytest.approx(steps["low"].tolist(), nan_ok=True)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert "direction: → to ↔" in labels and len(labels) == len(steps)


def test_every_run_is_a_dot_and_a_flagged_one_a_cross(m):
    fig = cells.repeat_panels(m.runs, GROUP, study=m.study).figure
    part = m.runs[m.runs["group"] == GROUP]
    drawn = [line for ax in fig.axes for line in ax.get_lines() if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in drawn) == len(part)
    crosses = [line for line in drawn if line.get_marker() == "x"]
    assert sum(len(line.get_xdata()) for line in crosses) == (part["flags"] != "").sum() > 0


def test_cost_has_a_line_for_each_tuning_and_mtu(m):
    frame = cpu_cost(m.runs, m.study)
    ax = cells.cost_over_streams(frame, GROUP, study=m.study)
    assert len(ax.containers) == 7
    assert show(ax).alt.count("with 1,") == 7


def test_a_trend_marks_its_steps():
    frame = pd.DataFrame(
        {
            "campaign": ["20260101T000000Z", "20260102T000000Z"],
            "level": [1.0, 0.9],
            "ratio": [np.nan, 0.9],
            "step": [False, True],
        }
    )
    ax = measured.trend(frame)
    assert [text.get_text() for text in ax.texts] == ["×0.90"]
    assert "20260102T000000Z: 0.900 (a step)" in show(ax).alt
