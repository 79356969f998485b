"""All figures and tables use the same words, and no bar crosses an edge."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
import synthetic
from charts.words import FORBIDDEN, other_words

from netlab.analysis.answers import step_effects
from netlab.analysis.cost_of_cpu import cpu_cost
from netlab.charts import comparisons, group_panels, over_factor, study_charts
from netlab.charts.axis_bounds import ratio_axis, within
from netlab.charts.cells import over_streams
from netlab.charts.chart import Gallery, show
from netlab.charts.looks import new_axes
from netlab.report import tables


@pytest.fixture(scope="module")
def m():
    return synthetic.measured()


@pytest.fixture(scope="module")
def drawn(m):
    """Every figure of a measured study's pages."""
    steps = step_effects(m)
    labels = {level.name: level.name for level in m.study.tunings}
    names = {factor: factor for factor in steps["factor"].unique()}
    charts = [show(comparisons.step_forest(steps, labels, names))]
    for group in m.groups[:2]:
        at = {"group": group, "tuning": "full"}
        over = over_factor.over_factor(m.cells, "streams", "mtu_B", at=at, study=m.study)
        charts += Gallery.of(
            study_charts.panels(m.cells, group, study=m.study),
            group_panels.ceiling(m.cells, group, study=m.study),
            group_panels.repeat_panels(m.runs, group, study=m.study),
            over,
        ).charts
    return charts


def test_figures_use_the_words_of_the_guide(drawn):
    assert len(drawn) > 6
    for chart in drawn:
        assert other_words(chart) == []


def test_tables_use_the_words_of_the_guide_and_keep_their_data(m):
    shown = [tables.summary(m), tables.groups(m), tables.effects(m), tables.target(m)]
    shown += [table for kind in ("both", "bottleneck") for table in tables.stack(m, kind).tables]
    for table in shown:
        text = table._repr_html_()
        text = re.sub(r"<template.*?</template>", "", text, flags=re.DOTALL)
        text = re.sub(r"<[^>]*>", " ", text).replace("&gt;", ">")
        assert not FORBIDDEN.search(text), table.caption
    table = tables.of_group(m, "Linux64 -> Linux64", "both")
    assert "\nLinux64 -> Linux64,2,64-64,->,none,1500,1," in table.csv_text()


def test_a_dash_is_one_tuning_in_all_charts_whose_colours_are_mtus(m):
    group = m.groups[0]
    drawn = [
        over_streams(m.cells, group, study=m.study),
        group_panels.cost_over_streams(cpu_cost(m.runs, m.study), group, study=m.study),
    ]
    dashes = [
        {bars.get_label(): str(bars.lines[0]._unscaled_dash_pattern) for bars in ax.containers}
        for ax in drawn
    ]
    assert dashes[0] == dashes[1] and len(set(dashes[0].values())) == 3


def test_both_directions_say_what_the_ceiling_is(m):
    chart = show(study_charts.panels(m.cells, "Linux64 <-> Linux64", study=m.study))
    assert "Both directions together, of twice the bus." in chart.caption
    assert ">twice the bus, 4256 MB/s<" in chart.svg and "% of twice the bus" in chart.svg
    table = tables.of_group(m, "Linux64 <-> Linux64", "both")
    assert "(per cent of twice the bus)" in table.title
    ax = over_streams(m.cells, "Linux64 <-> Linux64", y="percent_of_bus", study=m.study)
    assert ax.get_ylabel() == "goodput, both directions together, % of twice the bus"
    assert "twice the bus, 4256 MB/s" in [text.get_text() for text in ax.texts]
    one_way = over_streams(m.cells, "Linux64 -> Linux64", y="percent_of_bus", study=m.study)
    assert one_way.get_ylabel() == "goodput, % of bus"


def test_no_bar_crosses_zero_or_the_bus(m):
    wide = m.cells.assign(low_MBps=-5.0, high_MBps=1e5)
    part = wide[wide["group"] == m.groups[0]]
    low, high = within(*(part[c] for c in ("goodput_MBps", "low_MBps", "high_MBps", "bus_MBps")))
    assert (low >= 0).all()
    below = part["goodput_MBps"] <= part["bus_MBps"]
    assert below.any() and (high[below] <= part["bus_MBps"][below]).all()
    drawn = [
        over_streams(wide, m.groups[0], study=m.study),
        over_streams(wide, m.groups[0], y="percent_of_bus", study=m.study),
        over_factor.over_factor(
            wide, "mtu_B", "tuning", at={"group": m.groups[0], "streams": 4}, study=m.study
        ),
    ]
    for ax in drawn:
        ceiling = 100.0 if "%" in ax.get_ylabel() else part["bus_MBps"].iloc[0]
        for bars in ax.containers:
            below = bars.lines[0].get_ydata() <= ceiling
            ends = np.array([bar[:, 1] for bar in bars.lines[2][0].get_segments()])[below]
            assert ends.min() >= 0 and ends.max() <= ceiling
    assert "Some are cut at the bus." in study_charts._caption(part, m.study)


def test_ticks_of_ratios_do_not_touch():
    for reach in ((0.6, 2.5), (0.8, 6.0), (0.95, 1.3), (0.05, 20.0)):
        ax = new_axes((4.9, 2))
        ratio_axis(ax, reach)
        ax.figure.draw_without_rendering()
        boxes = [tick.get_window_extent() for tick in ax.get_xticklabels()]
        assert len(boxes) >= 2
        assert all(not a.overlaps(b) for a, b in combinations(boxes, 2)), reach
