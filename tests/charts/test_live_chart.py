"""The live chart is a small SVG of the latest runs, without matplotlib."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from netlab.charts.live import GOODPUT_HEIGHT, MOST_RUNS, live_chart


def test_without_a_run_there_is_no_chart():
    assert live_chart([], [], []) == ""


def test_dots_are_higher_for_more_goodput_and_stay_inside():
    svg = ET.fromstring(live_chart([0.0, 10.0, 1999.0], [0.0, 50.0, 130.0], [False] * 3))
    heights = [float(dot.attrib["cy"]) for dot in svg.findall("circle")]
    assert heights[0] == GOODPUT_HEIGHT and heights == sorted(heights, reverse=True)
    assert heights[-1] > 0
    bars = [float(bar.attrib["height"]) for bar in svg.findall("rect")]
    assert bars[2] == 2 * bars[1] > bars[0] == 0


@pytest.mark.parametrize(
    ("goodputs_MBps", "top", "words"),
    [
        ([0.005213, 0.006082], "0.01", "0.00521 to 0.00608 MB/s"),
        ([3.571, 3.574], "5", "3.57 to 3.57 MB/s"),
        ([24.2, 1456.0], "2,000", "24.2 to 1,456 MB/s"),
        ([1000.0], "1,000", "1,000 to 1,000 MB/s"),
        ([0.0], "1", "0 to 0 MB/s"),
    ],
)
def test_the_axis_reaches_a_little_beyond_the_largest_goodput(goodputs_MBps, top, words):
    count = len(goodputs_MBps)
    svg = ET.fromstring(live_chart(goodputs_MBps, [5.0] * count, [False] * count))
    assert words in svg.attrib["aria-label"]
    assert top in [text.text for text in svg.findall("text")]
    if max(goodputs_MBps) > 0:
        heights = [float(dot.attrib["cy"]) for dot in svg.findall("circle")]
        assert min(heights) <= GOODPUT_HEIGHT / 2


def test_runs_without_figures_leave_gaps_and_only_the_latest_are_drawn():
    svg = ET.fromstring(live_chart([None] * 400, [None] * 400, [True] * 400))
    assert not svg.findall("circle") and not svg.findall("rect")
    assert f"Runs {400 - MOST_RUNS + 1} to 400: no goodput" in svg.attrib["aria-label"]


@pytest.mark.parametrize(("flagged", "explained"), [(False, False), (True, True)])
def test_a_cross_is_explained_where_there_is_one(flagged, explained):
    svg = live_chart([1.0, 2.0], [5.0, 5.0], [False, flagged])
    assert ("× flagged, left out" in svg) is explained


@pytest.mark.parametrize("module", ["charts.live", "experiment.progress"])
def test_progress_loads_without_matplotlib(module):
    code = f"import sys, netlab.{module}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
