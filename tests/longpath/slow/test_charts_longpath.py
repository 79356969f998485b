"""Charts show and describe every run, and mark flagged ones."""

from __future__ import annotations

import re
from dataclasses import replace

from netlab.longpath import charts, run_charts


def test_runs_over_time_and_their_summary_show_all_that_is_known_of_each_stack(lp):
    (chart,) = run_charts.over_time(lp, lp.part("comparison", 9000), "Frames of 9000 B").charts
    for word in ("Reno", "HighSpeed", "Scalable", "FAST", "goodput, Mb/s", "queue, MB", "RTT, ms"):
        assert word in chart.svg
        assert word in chart.alt
    assert "Mb/s after slow start" in chart.alt
    whole, blown_up = charts.summary(lp, lp.part("comparison", 1500), "Frames of 1500 B").charts
    for chart in (whole, blown_up):
        assert all(name in chart.svg for name in ("Reno", "HighSpeed", "Scalable", "FAST"))
    assert "blow-up" in blown_up.svg and "blow-up" not in whole.svg
    assert "The path carries 23" in whole.alt  # 2500 Mb/s of frames, less their headers


def test_a_chart_shows_a_loss_beside_its_law_two_flows_and_the_configurations_in_order(lp):
    runs = lp.part("recovery (scaled down)")
    (chart,) = run_charts.recoveries(lp, runs, "One packet lost").charts
    # samples are 100 ms apart, so the least window may be seen some round trips of 30 ms late
    assert re.search(r"Reno: 210 to 10[5-9] segments, back after 3", chart.alt)
    (at_183_ms,) = run_charts.recoveries(lp, lp.part("recovery"), "One packet lost").charts
    assert "Reno: 6392 to 3196 segments, not back" in at_183_ms.alt
    (chart,) = run_charts.sharing(lp, lp.part("fairness (scaled down)"), "Two flows").charts
    assert "Scalable and Reno: index 1.00 at the end" in chart.alt
    runs = lp.part("configurations")
    (chart,) = charts.configurations(lp, runs, "HS TCP").charts
    places = [chart.alt.index(f"plot {number} (") for number in range(1, 11)]
    assert places == sorted(places)


def test_a_part_without_runs_has_no_chart_and_a_flagged_run_says_so(lp):
    nothing = lp.part("fairness")  # of the whole study only
    assert nothing.empty
    for draw in (run_charts.over_time, charts.summary, run_charts.recoveries, run_charts.sharing):
        assert draw(lp, nothing, "Nothing").charts == ()
    assert charts.configurations(lp, nothing, "Nothing").charts == ()
    runs = lp.measured.runs.assign(flags="interference")
    flagged = replace(lp, measured=replace(lp.measured, runs=runs))
    (chart,) = run_charts.over_time(flagged, flagged.part("comparison", 9000), "Frames").charts
    assert "Reno*" in chart.svg and "Flagged run" in chart.caption
