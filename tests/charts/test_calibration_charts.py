"""A calibration: every cell is a dot over its bound."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from calibrated_samples import CELLS, RATE, ROUND_TRIPS
from matplotlib.container import ErrorbarContainer

from netlab.charts.calibration import rates, round_trips
from netlab.charts.chart import show
from netlab.charts.drawn_numbers import data_of
from netlab.charts.looks import mtu_styles


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
