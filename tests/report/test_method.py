"""The method of a report: in sentences, with the settings that decide how long is measured."""

from __future__ import annotations

import html

import pytest
import synthetic

from netlab.analysis.measured import from_frames
from netlab.measure.bottleneck import VERDICTS
from netlab.report.downloads import write_downloads
from netlab.report.how_to_read import METHOD, READING, method_page, reading_page, settings
from netlab.report.tables import summary
from netlab.results.flags import Flag


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    study = synthetic.openlab()
    runs = synthetic.runs_of(study)
    runs.loc[runs["direction"] == "<->", "goodput_MBps"] *= 2
    return from_frames(study, runs, None, tmp_path_factory.mktemp("none"))


def test_the_page_has_every_sentence_of_the_method(m):
    page = method_page(m)
    for text in METHOD:
        assert text in html.unescape(page.body)
    assert page.contents == (
        ("how-it-is-measured", "How it is measured"),
        ("settings-of-this-study", "Settings of this study"),
    )


def test_the_settings_are_those_of_the_study(m):
    shown = dict(settings(m).frame.to_numpy())
    assert shown["order"] == f"shuffled in every round, seed {m.study.seed}"
    assert shown["level of the intervals"] == "95 %"
    assert shown["window of a run"] == m.study.timing.text()
    assert "steal above 5 %" in shown["flagged as interference"]
    assert ("precision asked" in shown) == (m.study.precision is not None)


def test_both_directions_together_are_of_twice_the_bus(m):
    assert (
        "% of twice the bus (Linux64 <-> Linux64)"
        in dict(summary(m).frame.to_numpy())["highest cell"]
    )


def test_downloads_are_listed_in_the_words_of_the_pages(m, tmp_path):
    found = list(write_downloads(m, tmp_path))
    assert any("Linux64 ↔ Linux64" in what for what in found)
    assert not [what for what in found if "->" in what]


def test_how_to_read_a_report_explains_every_flag_and_bottleneck():
    page = reading_page()
    assert [text for _, text in page.contents] == [*READING, "A flag"]
    for flag in Flag:
        assert flag in page.body and flag.meaning in page.body
    for word in VERDICTS:
        assert word.lower() in READING["A bottleneck"].lower()
