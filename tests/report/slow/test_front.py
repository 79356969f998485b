"""A report opens with a chart that shows something, if anything was measured."""

from __future__ import annotations

import csv
import json
import re

import synthetic

from netlab.charts.drawn_numbers import csv_in
from netlab.report import explore, front
from netlab.study import load


def without(group: str):
    """Of this group every run is flagged."""

    def change(row):
        if row["group"] == group:
            row |= {"flags": "interference", "message": "busy"}
        return True

    return change


def test_a_report_opens_with_every_group_and_tuning_in_per_cent_of_the_bus():
    m = synthetic.measured(synthetic.openlab(), change=without("Linux64 -> Linux64"))
    drawn = front.picture(m)
    for group in ("Linux64 → Linux64", "Linux64 ↔ Linux64", "Linux32 → Linux64"):
        for tuning in ("No Tuning", "Kernel Tuning", "Driver Tuning"):
            assert (
                f"{group}, {tuning}, Per cent of one host's bus by number of streams." in drawn.alt
            )
    rows = csv.reader(csv_in(drawn.svg).splitlines())
    published = [row for row in rows if "MTU 16114 B, published" in row]
    assert len(published) == 16, "4 stream counts of 4 groups with valid runs"
    shown = drawn.alt.partition("Linux64 → Linux64, No Tuning")[2].partition(";")[0]
    assert shown.count("flagged") == 4 and "interference: 28 cells" in drawn.caption


def test_published_and_measured_are_per_cent_of_one_bus_in_both_directions_too():
    m = synthetic.measured(synthetic.openlab())
    drawn = front.picture(m)
    rows = csv.DictReader(csv_in(drawn.svg).splitlines())
    shown = {(row["series"], float(row["x"]), round(float(row["y"]), 6)) for row in rows}
    both = m.cells[m.cells["direction"] == "<->"]
    for cell in both.itertuples():
        # tables 3 and 6: the slower host's bus, which each direction has whole
        one_bus_MBps = {3: 2128, 6: 1600}[int(cell.table)]
        assert cell.bus_MBps == 2 * one_bus_MBps
        percent = round(100 * cell.goodput_MBps / one_bus_MBps, 6)
        assert (f"MTU {cell.mtu_B} B", cell.streams, percent) in shown
    best = 100 * 774 / 1064  # table 3
    assert any("published" in name and abs(y - best) < 0.01 for name, _, y in shown)
    for text in ("2128 MB/s, published 1064", "1600 MB/s, published 800"):
        assert text in drawn.caption.replace("\u202f", "").replace(",0", "0"), drawn.caption
    assert "at most 200 %; in 2003 they shared one." in drawn.caption
    assert "2 times the clock of 2003" in drawn.caption and "fill a bus" in drawn.caption


def test_without_a_bus_the_whole_study_is_in_megabytes_per_second(tmp_path):
    m = synthetic.measured(synthetic.foreign(tmp_path))
    drawn = front.picture(m)
    assert "MB/s by number of streams" in drawn.alt and "Per cent" not in drawn.alt
    assert "published" not in drawn.svg


def test_three_figures_answer_a_study_and_the_best_one_leads_to_its_runs():
    first = front.front(synthetic.measured(synthetic.openlab()))
    best, limit, held = first["tiles"]
    assert best.value in first["answer"] and best.of.split(", ")[1] in first["answer"]
    assert first["pages"][best.what].startswith("runs-linux64-both-linux64.html#")
    assert re.fullmatch(r"in \d+ of \d+ cells with a valid run", limit.of)
    assert held.what == "Findings of 2003 that hold" and held.value.endswith(" of 11")


def test_of_factors_the_first_combination_with_a_valid_run_is_drawn():
    study = load(synthetic.openlab_file().with_name("sc-2003.yml"))
    m = synthetic.measured(study, change=lambda row: '"up"' in row["factors"])
    (chart,) = front.picture(m).charts
    assert "kernel up" in chart.alt
    assert all("kernel up" in one.alt for one in explore.charts(m).charts)


WINDOWS = {"reno": (12, 38, 120), "highspeed-tcp": (12, 38, 263)}
"""Segments at a loss of 1e-2, 1e-3 and 1e-4."""


def test_a_study_that_states_published_steps_opens_with_those_that_hold():
    study = load(synthetic.openlab_file().with_name("highspeed-loss.yml"))

    def windows(rare: float):
        def change(row):
            levels = json.loads(row["factors"])
            segments = WINDOWS[levels["congestion"]][[0.01, 0.001, 0.0001].index(levels["loss"])]
            segments *= rare if levels["loss"] == 0.0001 else 1
            goodput_MBps = segments * 1448 / 1e4 * (1 + 0.01 * (row["round"] % 3))
            row |= {"goodput_MBps": goodput_MBps, "goodput_forward_MBps": goodput_MBps}
            return True

        return change

    m = synthetic.measured(study, change=windows(1))
    first = front.front(m)
    assert first["answer"].startswith("Windows of Standard TCP and HighSpeed TCP: of 5 published")
    assert "5 hold here, 0 are larger" in first["answer"]
    assert any(sentence.startswith("Highest goodput") for sentence in first["sentences"])
    (chart,) = front.picture(m).charts
    assert "×2.19" in chart.alt or "2.19" in chart.svg
    half = front.front(synthetic.measured(study, change=windows(0.5)))["answer"]
    assert "3 hold here" in half and "2 are smaller in the same direction" in half
