"""The site of very many runs shows the last ones of each cell, and has files with all of them."""

from __future__ import annotations

import re

import large_store
import pandas as pd
import pytest
from large_store import Size

from netlab.analysis.measured import load_measured
from netlab.charts.cell_rows import MOST_DOTS
from netlab.charts.chart import show
from netlab.charts.study_charts import drift
from netlab.report.explore import explore
from netlab.report.page import MOST_RUNS
from netlab.report.site import SiteContent, build_site
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS
from netlab.results.parquet import read
from netlab.results.store import Store

SIZE = Size(paths=1, streams=13, rounds=104, samples=40)
EACH = MOST_RUNS // 52
"""Runs that the site shows of each of the 52 cells."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    directory = tmp_path_factory.mktemp("many") / "racks"
    large_store.write(directory, SIZE)
    m = load_measured(directory)
    assert len(m.runs) == SIZE.runs > MOST_RUNS and len(m.cells) == 52
    return m


@pytest.fixture(scope="module")
def site(measured, tmp_path_factory):
    site = tmp_path_factory.mktemp("site") / "site"
    build_site(SiteContent(measured=measured, pdf=False, png=False), site)
    return site


def test_a_cell_shows_its_last_runs_and_says_of_how_many(site, measured):
    runs = measured.runs[measured.runs["group"] == measured.groups[0]]
    page = (site / "runs-from-left-0.html").read_text()
    assert page.count('<tr id="') == page.count('<svg class="spark"') == 26 * EACH
    assert page.count(f"below the last {EACH} of 104 runs") == 26
    section = re.search(r'<h2 id="full-1500-4">.*?</section>', page, re.DOTALL)[0]
    cell = runs[(runs["tuning"] == "full") & (runs["streams"] == 4)].sort_values("order")
    assert re.findall(r'<th scope="row">([^<]*)', section) == [*cell["run_id"].tail(EACH)]


def test_every_run_shown_has_its_record_and_no_other_has_a_file(site):
    linked = {
        link
        for page in site.glob("runs-*.html")
        for link in re.findall(r'<a href="(records/[^"]+)"', page.read_text())
    }
    assert linked == {f"records/{path.name}" for path in site.glob("records/*.json")}
    assert len(linked) == 52 * EACH


def test_files_beside_the_pages_have_every_run_and_sample(site, measured):
    page = (site / "runs-from-left-0.html").read_text()
    for link in re.findall(r'<a download href="([^"]+)"', page):
        assert (site / link).is_file(), link
    own = measured.runs[measured.runs["group"] == measured.groups[0]]
    listed = pd.read_csv(site / "records" / "from-left-0.csv")
    assert listed["run_id"].tolist() == own["run_id"].tolist()
    assert listed["goodput_MBps"].tolist() == pytest.approx(own["goodput_MBps"].tolist())
    latex = (site / "records" / "from-left-0.tex").read_text()
    assert sum(line.startswith("rack-0@") for line in latex.splitlines()) == 26 * EACH
    runs = read(site / "downloads" / "runs.parquet", RUN_COLUMNS)
    pd.testing.assert_frame_equal(runs, measured.runs)
    samples = read(site / "downloads" / "intervals.parquet", INTERVAL_COLUMNS)
    pd.testing.assert_frame_equal(samples, Store(measured.results).intervals())


def test_charts_of_very_many_runs_have_a_median_and_its_reach_a_cell(site, measured):
    drawn = pd.read_csv(site / "figures" / "repeats-1.csv")
    runs = measured.runs[measured.runs["group"] == measured.groups[0]]
    assert len(runs) > MOST_DOTS and len(drawn) == 26
    of_cell = runs.groupby(["tuning", "streams"])["goodput_MBps"]
    for column, share in (("low", 0.05), ("y", 0.5), ("high", 0.95)):
        assert sorted(drawn[column]) == pytest.approx(sorted(of_cell.quantile(share)))
    assert "5th to the 95th percentile" in (site / "repeats.html").read_text()


def test_the_drift_of_very_many_runs_is_drawn_in_stretches(measured):
    chart = show(drift(measured.runs, study=measured.study))
    assert len(chart.data) < MOST_DOTS + 200 and "5th to the 95th" in chart.caption
    few = show(drift(measured.runs.head(MOST_DOTS), study=measured.study))
    lines = few.data[few.data["series"] != "running median"]
    assert len(lines) == MOST_DOTS and few.caption == ""


def test_the_streams_of_cells_are_those_of_all_their_runs_and_the_csv_has_each(site, measured):
    text = (site / "shares.html").read_text()
    streams = sum(large_store.STREAMS[1:13]) * 2 * 2
    assert f"<summary>Streams: {streams}</summary>" in text
    (file,) = (site / "tables").glob("share-of-every-stream.csv")
    assert len(pd.read_csv(file)) == streams


def test_an_explorer_of_very_many_runs_shows_the_last_ones_of_each_view(measured):
    found = explore(measured)
    most = MOST_RUNS // len(found.views)
    text = found._repr_html_()
    assert text.count(f"<p>The last {most} of them.</p>") == len(found.views)
    assert text.count("<tr><td>") == most * len(found.views)
    assert sum(len(view.runs) for view in found.views) == SIZE.runs
