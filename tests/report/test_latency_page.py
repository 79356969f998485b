"""Latency under load in cells, table, chart and report: there if the study had a probe."""

from __future__ import annotations

import pytest
import synthetic

from netlab.analysis.cells import CELL_COLUMNS, DATAGRAM_COLUMNS, LATENCY_COLUMNS, Cells
from netlab.analysis.measured import Measured
from netlab.report import pages, tables


def probed(row: dict) -> bool:
    """Runs of one stream had a probe; a run adds 1 ms for each round."""
    if row["streams"] == 1:
        row |= {"rtt_idle_p50_us": 100.0, "rtt_loaded_p50_us": 100.0 + 1000 * row["round"]}
        row |= {"rtt_loaded_p99_us": 9000.0, "added_latency_us": 1000.0 * row["round"]}
        row["responsiveness_rpm"] = 30_000.0
    return True


@pytest.fixture(scope="module")
def m() -> Measured:
    return synthetic.measured(change=probed)


def test_a_cell_has_the_medians_of_its_probe(m):
    assert {*CELL_COLUMNS, *LATENCY_COLUMNS} <= {*m.cells.columns}
    with_probe = m.cells["streams"] == 1
    median = m.runs.loc[m.runs["streams"] == 1, "round"].median()
    assert (m.cells.loc[with_probe, "added_latency_us"] == 1000 * median).all()
    assert m.cells.loc[~with_probe, list(LATENCY_COLUMNS)].isna().all(axis=None)


def test_a_cell_of_datagrams_has_their_medians_and_no_latency():
    def lost(row: dict) -> bool:
        row |= {"lost_percent": 1.0 * row["round"], "jitter_us": 5.0, "loss_burst_max": 2}
        return True

    of_udp = synthetic.measured(change=lost)
    assert {*DATAGRAM_COLUMNS} <= {*of_udp.cells.columns}
    assert not {*LATENCY_COLUMNS} & {*of_udp.cells.columns}
    assert (of_udp.cells["lost_percent"] == of_udp.runs["round"].median()).all()


def test_table_and_page_have_the_cells_with_a_probe(m):
    table = tables.latency(m)
    assert len(table.frame) == (m.cells["streams"] == 1).sum()
    assert "added, µs" in table._repr_html_()
    (page,) = pages._latency(m)
    assert page.file == "latency.html" and len(page.contents) == len(m.groups) + 1
    charts = pages.latency_charts(m)
    assert [*charts] == list(m.groups)
    assert all("ms at" in chart.alt for chart in charts.values())


def test_a_study_without_a_probe_shows_nothing_of_it():
    plain = synthetic.measured()
    assert tuple(Cells()(plain.runs).columns) == CELL_COLUMNS
    assert pages._latency(plain) == [] and pages.latency_charts(plain) == {}
    assert "no latency probe" in repr(tables.latency(plain))
