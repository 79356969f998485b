"""Latency under load and loss of datagrams: in cells, table, chart and report if measured."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import synthetic

from netlab.analysis.answers import headline, trade_offs
from netlab.analysis.cells import (
    CELL_COLUMNS,
    DATAGRAMS,
    FURTHER,
    LATENCY,
    OVER_TCP,
    Cells,
    with_further,
)
from netlab.analysis.measured import Measured, SamplesInMemory
from netlab.analysis.percentiles import PERCENTILES, with_percentiles
from netlab.charts import cell_rows, round_trips
from netlab.charts.chart import show
from netlab.charts.looks import HOLLOW_COLOUR
from netlab.report import notebook_answer, tables, view_pages
from netlab.results.histogram import encode
from netlab.units import arrows

GROUP = "Linux64 -> Linux64"
PROBES = 500


def probed(row: dict) -> bool:
    """Runs of one stream had a probe; a run adds 1 ms for each round."""
    if row["streams"] == 1:
        row |= {"rtt_idle_p50_us": 100.0, "rtt_loaded_p50_us": 100.0 + 1000 * row["round"]}
        row |= {"rtt_loaded_p99_us": 9000.0, "added_latency_us": 1000.0 * row["round"]}
        row["responsiveness_rpm"] = 30_000.0
        row["rtt_loaded_hdr"] = encode(np.linspace(100, 100 + 1000 * row["round"], PROBES))
    return True


def measured(change: Callable[[dict], bool] | None = None) -> Measured:
    """The openlab study with two of its groups, as a page draws a chart or two of each."""
    study = synthetic.openlab()
    return synthetic.measured(study.model_copy(update={"groups": study.groups[:2]}), change=change)


@pytest.fixture(scope="module")
def m() -> Measured:
    return measured(probed)


def test_a_cell_has_the_medians_of_its_probe(m):
    assert {*CELL_COLUMNS, *FURTHER[LATENCY]} <= {*m.cells.columns}
    with_probe = m.cells["streams"] == 1
    median = m.runs.loc[m.runs["streams"] == 1, "round"].median()
    assert (m.cells.loc[with_probe, "added_latency_us"] == 1000 * median).all()
    assert m.cells.loc[~with_probe, list(FURTHER[LATENCY])].isna().all(axis=None)


def test_a_cell_of_datagrams_has_their_medians_and_no_latency():
    def lost(row: dict) -> bool:
        row |= {"lost_percent": 1.0 * row["round"], "jitter_us": 5.0, "loss_burst_max": 2}
        return True

    of_udp = measured(lost)
    assert {*FURTHER[DATAGRAMS]} <= {*of_udp.cells.columns}
    assert not {*FURTHER[LATENCY]} & {*of_udp.cells.columns}
    assert (of_udp.cells["lost_percent"] == of_udp.runs["round"].median()).all()
    (page,) = view_pages._datagrams(of_udp)
    assert page.file == "datagrams.html" and len(page.contents) == len(of_udp.groups) + 1
    table, charts = tables.datagrams(of_udp), view_pages.charts_of(DATAGRAMS, of_udp)
    assert len(table.frame) == len(of_udp.cells) and table.data["jitter_us"].eq(5).all()
    assert [*charts] == list(of_udp.groups)
    texts = [chart.alt for gallery in charts.values() for chart in gallery.charts]
    assert all("loss of datagrams over goodput" in text for text in texts)
    assert view_pages._latency(of_udp) == []


def test_table_and_page_have_the_cells_with_a_probe(m):
    table = tables.latency(m)
    assert len(table.frame) == (m.cells["streams"] == 1).sum()
    assert "added, µs" in table._repr_html_()
    (page,) = view_pages._latency(m)
    assert page.file == "latency.html" and len(page.contents) == len(m.groups) + 3
    assert "No step of a factor gains goodput" in page.body
    charts = view_pages.charts_of(LATENCY, m)
    assert [*charts] == list(m.groups)
    assert all("ms at" in gallery.charts[0].alt for gallery in charts.values())


def test_percentiles_are_of_all_probes_of_a_cell_as_far_as_they_go(m):
    known = with_percentiles(LATENCY, m.cells, m.runs)
    assert len(known) == (m.cells["streams"] == 1).sum()
    rounds = m.runs["round"].nunique()
    assert known["probes"].eq(PROBES * rounds).all()
    whole_us = np.concatenate(
        [np.linspace(100, 100 + 1000 * n, PROBES) for n in m.runs["round"].unique()]
    )
    for name in ("rtt_p50_us", "rtt_p99_us"):
        expected_us = np.percentile(whole_us, PERCENTILES[name])
        assert known[name].to_numpy(float) == pytest.approx(expected_us, rel=5e-3)
    assert known["rtt_max_us"].to_numpy(float) == pytest.approx(whole_us.max(), rel=2e-3)
    assert known["rtt_p99.9_us"].notna().all() and known["rtt_p99.99_us"].isna().all()
    table = tables.latency_percentiles(m)
    assert "99.9 %, µs" in table._repr_html_() and (table.data["probes"] == PROBES * rounds).all()
    charts = view_pages.charts_of(LATENCY, m)
    assert all("at 99.9 %" in gallery.charts[1].alt for gallery in charts.values())


def test_the_answer_has_the_reach_of_what_loads_add(m):
    least_ms, most_ms = (m.cells["added_latency_us"].agg(of) / 1e3 for of in ("min", "max"))
    count = m.cells["added_latency_us"].notna().sum()
    text = f"The load of {count} cells adds {least_ms:.2f} to {most_ms:.2f} ms to the round"
    assert notebook_answer.added_latency(m).text.startswith(text)


def test_a_study_without_a_probe_shows_nothing_of_it():
    plain = measured()
    assert "No cell" in notebook_answer.added_latency(plain).text
    assert tuple(Cells()(plain.runs).columns) == CELL_COLUMNS
    assert (
        view_pages._latency(plain) == view_pages._datagrams(plain) == []
        and view_pages.charts_of(LATENCY, plain) == {}
    )
    assert "no latency probe" in repr(tables.latency(plain))
    assert "sent datagrams" in repr(tables.datagrams(plain))


def test_disturbed_cells_are_hollow_and_grey_in_the_chart_and_marked_in_the_table():
    def disturbed(row: dict) -> bool:
        if row["streams"] == 1 or row["tuning"] == "full":
            row["flags"] = "interference"
        return probed(row) and row["streams"] in (1, 4) and row["group"] == GROUP

    m = measured(disturbed)
    (group,) = view_pages.charts_of(LATENCY, m)
    frame = with_further(LATENCY, m.cells, m.runs)
    ax = round_trips.latency(frame, cell_rows.row_labels(frame, m.study))
    marks = [line for line in ax.get_lines() if line.get_markerfacecolor() == "none"]
    assert len(marks) == len(ax.get_lines()) == 7
    assert {line.get_markeredgecolor() for line in marks} == {HOLLOW_COLOUR}
    assert "not a result (interference: 7 cells)" in show(ax).caption
    table = tables.latency(m)
    assert table.frame["added_latency_us"].eq("○ 2000").all()
    assert table.data["goodput_MBps"].notna().all() and "not a result" in table.note
    (page,) = view_pages._latency(m)
    assert arrows(group) in page.body


@pytest.mark.filterwarnings("error::UserWarning")
def test_a_latency_that_the_load_lowers_lies_within_the_axes():
    """As on a short path, whose idle CPUs take time to wake up."""

    def lowered(row: dict) -> bool:
        probed(row)
        row["added_latency_us"] = row["streams"] - 4.0
        return True

    m = measured(lowered)
    frame = with_further(LATENCY, m.cells, m.runs)
    assert frame["added_latency_us"].min() < 0 < frame["added_latency_us"].max()
    ax = round_trips.latency(frame, cell_rows.row_labels(frame, m.study))
    show(ax)  # a layout that finds no place is a warning
    low, high = ax.get_ylim()
    drawn = [
        y for line in ax.get_lines() if line.get_linestyle() == "None" for y in line.get_ydata()
    ]
    assert len(drawn) == len(frame) and low < min(drawn) and max(drawn) <= high


def test_a_probe_over_tcp_has_a_chart_and_a_table_of_its_own():
    def over_tcp(row: dict) -> bool:
        row |= {"tcp_rtt_idle_p50_us": 100.0, "tcp_rtt_loaded_p50_us": 3000.0}
        row["tcp_rtt_loaded_p99_us"] = 5000.0
        return row["group"] == GROUP

    m = measured(over_tcp)
    assert set(m.cells["tcp_rtt_loaded_p50_us"].dropna()) == {3000}
    (page,) = view_pages._latency(m)
    assert [title for _, title in page.contents] == ["Over TCP"]
    (gallery,) = view_pages.charts_of(OVER_TCP, m).values()
    assert "added latency over TCP over goodput" in gallery.charts[0].alt
    assert ": 2.9 ms at" in gallery.charts[0].alt and gallery.charts[0].alt in page.body
    both = measured(lambda row: over_tcp(row) and probed(row))
    assert "Over TCP" in [title for _, title in view_pages._latency(both)[0].contents]


def test_the_cells_with_the_most_latency_have_their_median_run_over_time():
    m = measured(lambda row: probed(row) and row["group"] == GROUP)
    intervals = synthetic.intervals_of(m.runs, m.study)
    rtts = {"rtt_p50_us": 1000 * intervals["t_s"], "rtt_p99_us": 9000.0}
    with_rtts = replace(m, samples=SamplesInMemory(intervals.assign(**rtts)))
    (gallery,) = view_pages.charts_of(LATENCY, with_rtts).values()
    over_time = gallery.charts[2:]
    assert len(over_time) == view_pages.MOST_OVER_TIME
    median = m.runs.loc[m.runs["round"] == m.runs["round"].median(), "run_id"]
    assert all(any(f" {run_id} " in chart.alt for run_id in median) for chart in over_time)
    assert all("99 % 9.00 ms; median" in chart.alt for chart in over_time)
    without = replace(m, samples=SamplesInMemory(intervals))
    assert [len(part.charts) for part in view_pages.charts_of(LATENCY, without).values()] == [2]


def costs(dear: str, added_ms: dict[str, float], drift_ms: float = 0.0) -> Measured:
    """Runs of a dear tuning gain goodput; each tuning adds its latency, the dear one's drifts."""

    def change(row: dict) -> bool:
        noise, is_dear = 1 + row["round"] / 100, row["tuning"] == dear
        row["goodput_MBps"] = (200.0 if is_dear else 100.0) * noise
        added = added_ms[row["tuning"]] * noise + is_dear * drift_ms * (row["round"] - 2)
        row["added_latency_us"] = 1e3 * added
        return row["streams"] == 1

    return measured(change)


def test_a_step_that_gains_goodput_and_costs_latency_is_a_finding_with_both_intervals():
    m = costs("full", {"none": 5.0, "kernel": 5.0, "full": 30.0})
    (said,) = trade_offs(m)
    step = "The step of tuning from Kernel Tuning to Driver Tuning gains goodput, ×2.00 (2.00 to 2"
    assert said.startswith(step) and re.search(r"costs 25\.5 ± 0\.\d+ ms of latency under", said)
    assert said in headline(m) and said in view_pages._latency(m)[0].body


def test_the_step_is_named_in_the_direction_that_gains():
    (said,) = trade_offs(costs("none", {"none": 30.0, "kernel": 5.0, "full": 5.0}))
    assert "tuning from Kernel Tuning to No Tuning gains" in said


@pytest.mark.parametrize(("full_ms", "drift_ms"), [(5.0, 0.0), (4.0, 0.0), (6.0, 20.0)])
def test_a_gain_without_a_cost_beyond_its_interval_is_none(full_ms, drift_ms):
    assert trade_offs(costs("full", {"none": 5.0, "kernel": 5.0, "full": full_ms}, drift_ms)) == ()
