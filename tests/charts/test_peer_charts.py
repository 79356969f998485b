"""Generators beside netlab's: every comparison is a dot with its interval."""

from __future__ import annotations

import synthetic

from netlab import study as studies
from netlab.analysis import tool_agreement
from netlab.analysis.measured import from_frames
from netlab.charts.comparisons import differences
from netlab.files.paths import data_dir
from netlab.report import agreement_tables


def measured(noise=0.002, change=None):
    study = studies.load(data_dir() / "studies" / "agreement.yml")

    def value(_study, group, _tuning, mtu_B, streams):
        return 100.0 + mtu_B / 1000 + streams + 2 * (group.generator == "nuttcp"), "link"

    runs = synthetic.runs_of(study, noise=noise, value=value, change=change)
    return from_frames(study, runs, None, None)


def test_each_path_has_a_chart_that_says_every_difference_in_its_alt_text():
    m = measured()
    compared = tool_agreement.compare_generators(m.runs)
    shaped, unshaped = differences(compared, 2.0).charts
    assert shaped.alt.count(" to ") >= 12 and unshaped.alt.count(" to ") >= 6
    for name in ("iperf3", "iperf2", "nuttcp"):
        assert f"9000 B, 1 stream, {name}: " in shaped.alt
        assert f">{name}<" in shaped.svg
    assert "1500 B, 4 streams" in shaped.svg and "1500 B" not in unshaped.svg
    assert "2 % either way" in shaped.alt


def test_intervals_beyond_the_axis_do_not_stretch_it():
    compared = tool_agreement.compare_generators(measured(noise=0.2).runs)
    compared["low"], compared["high"] = 0.01, 51.0
    for chart in differences(compared, 2.0).charts:
        assert ">5000<" not in chart.svg and ">2000<" not in chart.svg


def test_differences_without_intervals_are_drawn_and_described():
    m = measured(change=lambda row: row["round"] == 1)
    shaped, _ = differences(tool_agreement.compare_generators(m.runs), 2.0).charts
    assert shaped.alt.count("(no interval)") == 12


def test_tables_have_versions_verdicts_and_meters():
    def change(row):
        other = row["generator"] != "netlab"
        row["generator_version"] = f"{row['generator']} 9.9" if other else None

    found = tool_agreement.agreement(measured(change=change))
    opening, text = (
        agreement_tables.opening(found)._repr_html_(),
        agreement_tables.agreement_statement(found).text,
    )
    assert "iperf3 9.9" in opening and "netlab 0.1.0" in opening
    assert "Path shaped: of 12 comparisons" in text and "Path unshaped: of 6 comparisons" in text
    assert len(agreement_tables.agreement_cells(found).frame) == 18
    assert len(agreement_tables.summary(found).frame) == 6
    assert len(agreement_tables.meters(found).frame) == 24


def test_a_study_with_one_generator_says_so_in_every_place():
    m = measured(change=lambda row: row["generator"] == "iperf2")
    found = tool_agreement.agreement(m)
    assert differences(found.frame, 2.0).charts == ()
    for make in (
        agreement_tables.agreement_statement,
        agreement_tables.summary,
        agreement_tables.agreement_cells,
    ):
        assert make(found).text == agreement_tables.NOTHING
