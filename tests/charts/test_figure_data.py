"""A figure carries its data, and every mark its value."""

from __future__ import annotations

import io
import re

import pandas as pd
import pytest
import synthetic

from netlab.analysis import cell_texts
from netlab.charts import group_panels
from netlab.charts import study_charts as charts
from netlab.charts.chart import show
from netlab.charts.drawn_numbers import csv_in, data_of
from netlab.charts.looks import new_axes

GROUP = "Linux64 -> Linux64"


@pytest.fixture(scope="module")
def m():
    return synthetic.measured()


def test_lines_with_bars_carry_values_and_intervals(m):
    chart = show(charts.panels(m.cells, GROUP, study=m.study))
    data = pd.read_csv(io.StringIO(csv_in(chart.svg)))
    whole = m.cells[m.cells["group"] == GROUP]
    part = whole[whole["tuning"] == "full"]
    drawn = data[data["series"].str.startswith("MTU")]
    assert len(drawn) == len(whole) == 28
    drawn = drawn[drawn["panel"] == cell_texts.tuning_labels(whole, m.study)["full"]]
    assert len(drawn) == len(part) == 12
    for row in part.itertuples():
        of_mtu = drawn[drawn["series"].str.contains(f"MTU {row.mtu_B}")]
        (found,) = of_mtu[of_mtu["x"] == row.streams].itertuples()
        values = (row.goodput_MBps, row.low_MBps, row.high_MBps)
        assert (found.y, found.low, found.high) == pytest.approx(values)


def test_every_mark_of_a_line_has_a_hover_text_with_its_value(m):
    svg = show(charts.panels(m.cells, GROUP, study=m.study)).svg
    titles = re.findall(r"<use [^>]*><title>([^<]*)</title></use>", svg)
    cells = m.cells.set_index(["group", "tuning", "mtu_B", "streams"])
    value = cells.loc[(GROUP, "none", 9000, 4), "goodput_MBps"]
    assert len(titles) == 28
    assert any(f"streams 4: {value:.5g} (" in text and "MB/s" in text for text in titles)


def test_a_heat_map_carries_its_fields(m):
    data = pd.read_csv(io.StringIO(csv_in(show(group_panels.ceiling(m.cells, GROUP)).svg)))
    assert len(data) == 28 and set(data["x"]) == {1, 4, 12, 20}
    part = m.cells[m.cells["group"] == GROUP]
    assert sorted(data["y"]) == pytest.approx(sorted(part["percent_of_bus"]))


def test_a_histogram_carries_its_bars(m):
    data = data_of(charts.overhead(m.runs).figure)
    assert data["y"].sum() == 420


def test_a_figure_without_data_carries_none():
    ax = new_axes()
    assert csv_in(show(ax, "An empty chart.").svg) == ""
