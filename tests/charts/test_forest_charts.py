"""Forest plots and the matrix of hosts: every comparison, cell and link, and all in words."""

from __future__ import annotations

import math

import pandas as pd
import pytest
import synthetic
from calibrated_samples import CELLS, RATE, ROUND_TRIPS
from matplotlib.container import ErrorbarContainer

from netlab import study as studies
from netlab.analysis import answers
from netlab.analysis.measured import from_frames
from netlab.charts.chart import show
from netlab.charts.drawing import data_of, mtu_styles
from netlab.charts.experiments import rates, round_trips
from netlab.charts.forest import differences
from netlab.files.paths import data_dir
from netlab.report import compare as tables

# Generators beside netlab's: every comparison is a dot with its interval.


def measured(noise=0.002, change=None):
    study = studies.load(data_dir() / "studies" / "agreement.yml")

    def value(_study, group, _tuning, mtu_B, streams):
        return 100.0 + mtu_B / 1000 + streams + 2 * (group.generator == "nuttcp"), "link"

    runs = synthetic.runs_of(study, noise=noise, value=value, change=change)
    return from_frames(study, runs, None, None)


def test_each_path_has_a_chart_that_says_every_difference_in_its_alt_text():
    m = measured()
    compared = answers.compare_generators(m.runs)
    shaped, unshaped = differences(compared, 2.0).charts
    assert shaped.alt.count(" to ") >= 12 and unshaped.alt.count(" to ") >= 6
    for name in ("iperf3", "iperf2", "nuttcp"):
        assert f"9000 B, 1 stream, {name}: " in shaped.alt
        assert f">{name}<" in shaped.svg
    assert "1500 B, 4 streams" in shaped.svg and "1500 B" not in unshaped.svg
    assert "2 % either way" in shaped.alt


def test_intervals_beyond_the_axis_do_not_stretch_it():
    compared = answers.compare_generators(measured(noise=0.2).runs)
    compared["low"], compared["high"] = 0.01, 51.0
    for chart in differences(compared, 2.0).charts:
        assert ">5000<" not in chart.svg and ">2000<" not in chart.svg


def test_differences_without_intervals_are_drawn_and_described():
    m = measured(change=lambda row: row["round"] == 1)
    shaped, _ = differences(answers.compare_generators(m.runs), 2.0).charts
    assert shaped.alt.count("(no interval)") == 12


def test_tables_have_versions_verdicts_and_meters():
    def change(row):
        other = row["generator"] != "netlab"
        row["generator_version"] = f"{row['generator']} 9.9" if other else None

    found = answers.agreement(measured(change=change))
    opening, text = tables.opening(found)._repr_html_(), tables.agreement_statement(found).text
    assert "iperf3 9.9" in opening and "netlab 0.1.0" in opening
    assert "Path shaped: of 12 comparisons" in text and "Path unshaped: of 6 comparisons" in text
    assert len(tables.agreement_cells(found).frame) == 18
    assert len(tables.summary(found).frame) == 6
    assert len(tables.meters(found).frame) == 24


def test_a_study_with_one_generator_says_so_in_every_place():
    m = measured(change=lambda row: row["generator"] == "iperf2")
    found = answers.agreement(m)
    assert differences(found.frame, 2.0).charts == ()
    for make in (tables.agreement_statement, tables.summary, tables.agreement_cells):
        assert make(found).text == tables.NOTHING


# A calibration: every cell is a dot over its bound.


def dots(ax, label):
    """Points of the lines with a label."""
    data = data_of(ax.figure)
    return data.loc[data["series"] == label, "x"].tolist()


def errorbars(ax):
    return [one for one in ax.containers if isinstance(one, ErrorbarContainer)]


def test_a_rate_has_a_row_and_each_mtu_a_dot_in_its_colour():
    ax = rates(pd.DataFrame(CELLS))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["100 Mb/s", "10000 Mb/s"]
    assert dots(ax, "1500 B") == [-0.01, -0.01] and dots(ax, "9000 B") == [0.02, -1.62]
    drawn = {bars.get_label(): bars.lines[0].get_color() for bars in errorbars(ax)}
    assert drawn["9000 B"] == mtu_styles([1500, 9000])[9000]["color"]


def test_lines_reach_from_the_least_to_the_greatest_and_fit_on_the_axis():
    ax = rates(pd.DataFrame(CELLS))
    segments = [one for bars in errorbars(ax) for one in bars.lines[2][0].get_segments()]
    spans = [pytest.approx((-2.5, 0.1)), *[pytest.approx((-0.2, 0.1))] * 3]
    assert sorted((ends[0][0], ends[1][0]) for ends in segments) == spans
    assert ax.get_xlim()[0] < -2.5


def test_each_row_has_the_band_of_its_own_bound():
    bands = rates(pd.DataFrame(CELLS)).patches
    assert [(band.get_x(), band.get_width()) for band in bands] == [(-0.5, 1.0), (-1.0, 2.0)]


def test_a_cell_off_its_bound_is_hollow():
    ax = rates(pd.DataFrame(CELLS))
    (hollow,) = [line for line in ax.get_lines() if line.get_label() == "_off"]
    assert hollow.get_xdata().tolist() == [-1.62] and hollow.get_markerfacecolor() == "white"


def test_every_cell_is_in_the_alt_text_and_the_data():
    chart = show(rates(pd.DataFrame(CELLS), title="Rates"))
    assert "Forest plot, Rates: medians with least and greatest deviation in %" in chart.alt
    assert "10000 Mb/s, 9000 B: -1.62 % (-2.50 to +0.10), outside" in chart.alt
    assert chart.alt.count("within;") == 3 and "least to greatest" in chart.caption


def test_a_cell_that_was_not_measured_is_said_and_not_drawn():
    missing = dict.fromkeys(("error_percent", "least_percent", "greatest_percent"), math.nan)
    cell = {"rate_Mbps": 10.0, "mtu_B": 576, **RATE, **missing, "verdict": "not measured"}
    chart = show(rates(pd.DataFrame([*CELLS, cell])))
    assert "10 Mb/s, 576 B: not measured" in chart.alt


def test_rates_of_the_emulator_are_told_apart_by_their_round_trip():
    frame = pd.DataFrame(CELLS[:2]).assign(rtt_ms=[20.0, 183.2])
    labels = [text.get_text() for text in rates(frame).get_yticklabels()]
    assert labels == ["100 Mb/s, 20 ms", "100 Mb/s, 183.2 ms"]


def test_a_round_trip_has_a_row_and_each_load_a_dot():
    ax = round_trips(pd.DataFrame(ROUND_TRIPS))
    assert dots(ax, "idle") == [60.0, 60.0] and dots(ax, "500 Mb/s") == [80.0, 80.0]
    assert "20 ms, 500 Mb/s: +80 µs (+53 to +115), within" in show(ax).alt
