"""All figures and tables use the same words, and no bar crosses an edge."""

from __future__ import annotations

import re

import pytest
import synthetic

from netlab.analysis import then_and_now
from netlab.analysis.measured import from_frames
from netlab.charts import factors, measured, views
from netlab.charts import then_and_now as beside
from netlab.charts.chart import Gallery, show
from netlab.report import tables

FORBIDDEN = re.compile(r"->|\d{3,}B\b|\+ (Kernel|Driver) Tuning|[Tt]hroughput")


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    study = synthetic.openlab()
    return from_frames(study, synthetic.runs_of(study), None, None)


@pytest.fixture(scope="module")
def drawn(m):
    """Every figure of a measured study's pages."""
    steps = tables.steps(m)
    labels = {level.name: level.name for level in m.study.tunings}
    names = {factor: factor for factor in steps["factor"].unique()}
    charts = [show(views.effects(steps, labels, names))]
    for group in m.groups[:2]:
        charts += measured.gallery(m.cells, group, study=m.study).charts
        at = {"group": group, "tuning": "full"}
        over = factors.over_factor(m.cells, "streams", "mtu_B", at=at, study=m.study)
        charts += Gallery.of(
            measured.panel(m.cells, group, study=m.study),
            views.ceiling(m.cells, group, study=m.study),
            views.repeats(m.runs, group, study=m.study),
            over,
        ).charts
    compared = then_and_now.compare(m)
    charts += beside.beside(then_and_now.comparable(m)).charts
    charts += beside.ratios(compared, "tuning").charts
    charts += beside.ratios(compared, "direction").charts
    return charts


def test_figures_use_the_words_of_the_guide(drawn):
    assert len(drawn) > 30
    for chart in drawn:
        words = re.sub(r"<metadata.*?</metadata>|<style.*?</style>", "", chart.svg, flags=re.DOTALL)
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", words)
        for text in (chart.alt, chart.caption, *texts):
            assert not FORBIDDEN.search(text.replace("&gt;", ">")), text


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


def test_the_legend_is_in_the_order_of_the_mtus(m):
    figure = measured.panel(m.cells, m.groups[0], study=m.study)
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["MTU 1500 B", "MTU 9000 B", "MTU 16114 B", "bus, 2128 MB/s"]


def test_both_directions_say_what_the_ceiling_is(m):
    chart = show(measured.panel(m.cells, "Linux64 <-> Linux64", study=m.study))
    assert "Both directions together, of twice the bus." in chart.caption
    assert ">twice the bus, 4256 MB/s<" in chart.svg and "% of twice the bus" in chart.svg
    table = tables.of_group(m, "Linux64 <-> Linux64", "both")
    assert "(per cent of twice the bus)" in table.title


def test_no_bar_crosses_zero_or_the_bus(m):
    cells = m.cells.copy()
    cells["low_MBps"] = -5.0
    cells["high_MBps"] = 1e5
    part = cells[cells["group"] == m.groups[0]]
    low, high = measured._reach(part)
    assert (low >= 0).all()
    below = part["goodput_MBps"] <= part["bus_MBps"]
    assert below.any() and (high[below] <= part["bus_MBps"][below]).all()
    assert "Some are cut at the bus." in measured._caption(part, m.study)
