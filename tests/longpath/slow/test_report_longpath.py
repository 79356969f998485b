"""Tables and charts of a long path, for runs with known values."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from netlab.analysis.measured import from_frames
from netlab.longpath import tables
from netlab.longpath.report import REPORT
from netlab.report.pages import study_pages
from netlab.report.publishing import FACTORS_NOTEBOOK, result_notebooks


def test_the_paths_are_those_of_the_study_whose_short_form_says_that_it_is_short(lp):
    said = repr(tables.form(lp))
    assert said.startswith("Short form.")
    assert "runs of 6 s" in said and "longer runs of the whole study" in said
    frame = tables.paths(lp).frame.set_index("path")
    assert frame.loc["wide-area", "RTT, ms"] == "183.022"
    assert frame.loc["wide-area", "window needed, MB"] == "57.2"
    assert frame.loc["shallow-queue", "queue, MB"] == "14.3"


def test_all_stacks_frames_memory_settings_and_windows_are_compared(lp):
    frame = tables.stacks(lp).frame
    assert frame[["stack", "MTU, B"]].to_numpy().tolist() == [
        *(["Reno", 9000], ["Reno", 1500], ["HighSpeed", 9000], ["HighSpeed", 1500]),
        *(["Scalable", 9000], ["Scalable", 1500], ["FAST", 9000], ["FAST", 1500]),
    ]
    assert not frame["Mb/s"].str.contains("nan").any()
    assert not frame["Mb/s"].str.contains("±").any()  # each is one run
    assert frame["within the run, Mb/s"].str.contains(" to ").any()
    frame = tables.memory(lp).frame
    assert frame[["memory settings", "window"]].to_numpy().tolist() == [
        *(["A", "40 M, requested"], ["B", "40 M, requested"]),
        *(["A", "kernel's"], ["B", "kernel's"]),
    ]


def test_the_ten_configurations_show_their_settings(lp):
    frame = tables.configurations(lp).frame
    assert frame["plot"].tolist() == [f"plot {number}" for number in range(1, 11)]
    assert frame["txqueuelen"].tolist() == [
        *("10000", "10000", "10000", "3000", "3000", "3000", "100", "3000", "3000", "10000")
    ]
    assert frame["windows"].tolist()[4:7] == ["32 M/32 M", "40 M/128 M", "32 M/32 M"]
    found = {(row["setting"], row["plots"]) for row in tables.changes(lp).frame.to_dict("records")}
    assert ("txqueuelen", "7 to 8") in found
    assert ("windows, sender/receiver", "5 to 6") in found
    assert ("tcp_rmem; tcp_wmem", "2 to 3") in found


def test_a_loss_is_shown_beside_its_law(lp):
    rows = tables.recoveries(lp, "recovery").frame.set_index("stack")
    assert rows.loc["Reno", "kept"] == "0.500" and rows.loc["Reno", "law"] == "0.500"
    assert rows.loc["Reno", "recovery, s"].startswith("not within 2.0")
    assert float(rows.loc["Reno", "law, s"]) == pytest.approx(585, abs=3)
    small = tables.recoveries(lp, "recovery (scaled down)").frame.set_index("stack")
    assert float(small.loc["Reno", "recovery, s"]) == pytest.approx(
        float(small.loc["Reno", "law, s"]), abs=0.3
    )


def test_two_flows_are_shown_and_the_short_form_names_its_omissions(lp):
    frame = tables.fairness(lp, "fairness (scaled down)").frame
    assert len(frame) == 7
    assert "Scalable" in frame["Mb/s"].iloc[5] and "Reno" in frame["Mb/s"].iloc[5]
    assert "Only the whole study" in repr(tables.fairness(lp, "fairness"))


def test_the_transfer_is_printed_as_rapid_did_and_ping_and_traceroute_as_they_did(lp):
    said = repr(tables.transfer(lp))
    assert "983316480.0 bytes" in said and "16388608000.0 bytes" in said
    assert "total time          4.000 seconds" in said
    assert "2185.476 megabits/sec" in said
    assert f"{983316480 * 8 / 4 / 1e6:.3f} megabits/sec" in said
    assert "6 % of the records of 2003" in said
    said = repr(tables.path_as_seen(lp))
    assert "# wide-area" in said and "PING printed" in said and "hops printed" in said


def test_a_long_path_has_its_own_notebook_and_charts_over_streams_where_a_group_varies_them(lp):
    assert result_notebooks(lp.measured) == (REPORT.notebook,)
    runs = lp.measured.runs.copy()
    first = runs.index[runs["group"] == runs["group"].iloc[0]]
    runs.loc[first[0], "streams"] = runs["streams"].max() + 1
    varied = replace(lp.measured, runs=runs)
    assert result_notebooks(varied) == (REPORT.notebook, FACTORS_NOTEBOOK)


def test_another_study_of_a_long_path_has_no_page_of_the_slac_study(lp):
    mine = lp.measured.study.model_copy(update={"name": "bbr-over-180-ms", "report": None})
    other = from_frames(mine, lp.measured.runs, lp.intervals, lp.measured.results)
    assert REPORT.notebook not in result_notebooks(other)
    pages = {page.file: page for page in study_pages(other)}
    assert "after slow start" not in pages["tables.html"].body
    assert "The emulated paths" not in pages["tables.html"].body


def test_small_rates_keep_their_digits_and_a_share_without_a_rate_is_missing(lp):
    slow = replace(lp)
    slow.__dict__["fairness"] = lp.fairness.assign(
        flows=[["BBR", "CUBIC"]] * len(lp.fairness), flows_Mbps=[[0.43, 412.0]] * len(lp.fairness)
    )
    table = tables.fairness(slow, "fairness (scaled down)")
    assert set(table.frame["Mb/s"]) == {"BBR 0.43, CUBIC 412"}
    assert "1/n: one of n flows" in table.note
    slow.__dict__["table"] = lp.table.assign(mean_Mbps=math.nan)
    assert "nan" not in tables.stacks(slow).frame.to_csv()
