"""A figure carries its data, and every mark its value."""

from __future__ import annotations

import io
import re

import pandas as pd
import pytest
import synthetic

from netlab.analysis import printed
from netlab.analysis.measured import from_frames
from netlab.charts import measured as charts
from netlab.charts import views
from netlab.charts.chart import show
from netlab.charts.figure_data import csv_in, data_of
from netlab.charts.theme import new_axes

GROUP = "Linux64 -> Linux64"


@pytest.fixture(scope="module")
def m():
    study = synthetic.openlab()
    return from_frames(study, synthetic.runs_of(study), None, None)


def test_lines_with_bars_carry_values_and_intervals(m):
    chart = show(charts.panels(m.cells, GROUP, study=m.study))
    data = pd.read_csv(io.StringIO(csv_in(chart.svg)))
    whole = m.cells[m.cells["group"] == GROUP]
    part = whole[whole["tuning"] == "full"]
    drawn = data[data["series"].str.startswith("MTU")]
    assert len(drawn) == len(whole) == 28
    drawn = drawn[drawn["panel"] == printed.tuning_labels(whole, m.study)["full"]]
    assert len(drawn) == len(part) == 12
    for row in part.itertuples():
        (found,) = drawn[
            drawn["series"].str.contains(f"MTU {row.mtu_B}") & (drawn["x"] == row.streams)
        ].itertuples()
        assert (found.y, found.low, found.high) == pytest.approx(
            (row.goodput_MBps, row.low_MBps, row.high_MBps)
        )


def test_every_mark_of_a_line_has_a_hover_text_with_its_value(m):
    svg = show(charts.panels(m.cells, GROUP, study=m.study)).svg
    titles = re.findall(r"<use [^>]*><title>([^<]*)</title></use>", svg)
    value = m.cells[
        (m.cells["group"] == GROUP)
        & (m.cells["tuning"] == "none")
        & (m.cells["mtu_B"] == 9000)
        & (m.cells["streams"] == 4)
    ]["goodput_MBps"].iloc[0]
    assert len(titles) == 28
    assert any(f"TCP streams 4: {value:.5g} (" in text and "MB/s" in text for text in titles)


def test_a_heat_map_carries_its_fields(m):
    data = pd.read_csv(io.StringIO(csv_in(show(views.ceiling(m.cells, GROUP)).svg)))
    assert len(data) == 28 and set(data["x"]) == {1, 4, 12, 20}
    part = m.cells[m.cells["group"] == GROUP]
    assert sorted(data["y"]) == pytest.approx(sorted(part["percent_of_bus"]))


def test_a_histogram_carries_its_bars(m):
    data = data_of(charts.overhead(m.runs).figure)
    assert data["y"].sum() == 420


def test_a_figure_without_data_carries_none():
    ax = new_axes()
    assert csv_in(show(ax, "An empty chart.").svg) == ""
