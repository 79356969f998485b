"""Output of a screen: table, sentences, JSON, the tuning file, the chart."""

from __future__ import annotations

import json
from dataclasses import replace

import matplotlib
import pandas as pd
import pytest
from click.testing import CliRunner
from refusals import refused
from search.screened import screened

from netlab.charts.chart import show
from netlab.errors import NetlabError
from netlab.search.screen import screening
from netlab.search.screen.commands import screen_command
from netlab.search.screen.page import chart, to_text
from netlab.search.screen.record import read_screen, write_screen
from netlab.search.screen.view import Screening
from netlab.search.screen.written import write_files, write_least
from netlab.tuning.profiles import read_tuning

matplotlib.use("Agg")

BUFFERS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def test_the_text_has_every_knob_the_least_set_and_its_confirmation():
    found = screened()
    text = to_text(found)
    for knob in (*found.knobs, "ring rx"):
        assert knob in text
    assert found.least_set == BUFFERS and found.concluded
    assert "Least set: net.ipv4.tcp_rmem, net.ipv4.tcp_wmem." in text
    assert "The least set is confirmed." in text
    assert "no ring sizes to set; b: is 4096 already" in text
    assert "net.ipv4.tcp_ecn: refused in 1 row with it" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("least_MBps", "verdict", "hint"),
    [
        (1000.0, "confirmed", "confirmed"),
        (1300.0, "better than the whole tuning", "better"),
        (800.0, "slower than the whole tuning", "does not give the whole gain"),
        (950.0, "slower than the whole tuning", "--rounds"),
    ],
)
def test_the_verdict_is_that_of_the_confirmation(least_MBps, verdict, hint):
    found = screened(least_MBps=least_MBps)
    assert found.verdict == verdict
    assert found.concluded == (verdict in ("confirmed", "better than the whole tuning"))
    assert hint in to_text(found)


def test_the_json_has_rows_effects_and_what_is_no_factor(tmp_path):
    found = screened()
    document = json.loads(write_screen(found, tmp_path / "screen.json").read_text())
    assert document["least_set"] == list(BUFFERS)
    assert document["rows"]["no-knob"] == []
    assert len(document["effects"]) == len(found.knobs) + 1
    assert document["unsupported"][0]["reason"] == "the device has no ring sizes to set"
    assert document["refused_rows"] == {"net.ipv4.tcp_ecn": 1}


@pytest.mark.parametrize("kind", ["folded", "leave-one-out"])
def test_a_stored_screen_reads_as_it_was(tmp_path, kind):
    record = screened(kind=kind)
    again = read_screen(write_screen(record, tmp_path / "screen.json"))
    pd.testing.assert_frame_equal(again.effects, record.effects)
    for name in set(vars(record)) - {"effects"}:
        assert getattr(again, name) == getattr(record, name), name
    assert to_text(again) == to_text(record)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"netlab_screen": 1}, "another version"),
        ({"effects": []}, "screen.json"),
        ({"confirmations": None}, "screen.json"),
        ({"study": None, "rows": 7}, "screen.json"),
    ],
)
def test_a_damaged_screen_is_an_error_that_names_its_file(tmp_path, change, reason):
    path = write_screen(screened(), tmp_path / "screen.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with refused(NetlabError, "E-ANALYSIS-041", match=reason):
        read_screen(path)


def test_the_least_set_is_written_as_a_tuning_with_sources(tmp_path):
    tuning = read_tuning(write_least(screened(), tmp_path / "mine-least.yml"))
    assert [knob.name for knob in tuning.knobs] == list(BUFFERS)
    assert [knob.source for knob in tuning.knobs] == ["paper, tcp_rmem", "paper, tcp_wmem"]
    assert "confirmed" in tuning.notes[0]
    assert read_tuning(write_least(screened(empty=True), tmp_path / "none.yml")).knobs == ()


def test_every_confirmation_is_in_the_text_and_the_last_one_counts():
    (slow,) = screened(least_MBps=800.0).tries
    found = screened()
    both = replace(found, tries=(replace(slow, knobs=BUFFERS[:1]), *found.tries))
    text = to_text(both)
    assert both.verdict == "confirmed" and both.least_set == BUFFERS
    assert text.index("Least set: net.ipv4.tcp_rmem.") < text.index("Least set: net.ipv4.tcp_rmem,")
    assert len(both.tries) == 2


def test_the_chart_has_a_row_for_every_knob_and_the_pairs_below():
    found = screened()
    ax = chart(found)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == "net.ipv4.tcp_rmem × net.ipv4.tcp_wmem"
    assert set(names[:2]) == set(BUFFERS) and set(names[:-1]) == set(found.knobs)
    shown = show(ax)
    assert "faster" in shown.alt and "mine on a-b" in shown.alt


@pytest.mark.parametrize(("least_MBps", "code"), [(1000.0, 0), (800.0, 1)])
def test_a_least_set_that_is_slower_ends_with_exit_code_1(tmp_path, monkeypatch, least_MBps, code):
    monkeypatch.setattr(screening, "screen", lambda *_, **__: screened(least_MBps=least_MBps))
    argv = ["openlab-2003", "--tuning", "openlab-2003-full", "--group", "Linux64 -> Linux64"]
    done = CliRunner().invoke(screen_command, [*argv, "--results", str(tmp_path)])
    assert done.exit_code == code, done.output
    assert ("E-CLI-026" in done.output) == bool(code)


def test_a_screen_shows_itself_in_a_notebook(tmp_path):
    record = screened()
    found = Screening(record)
    page = found._repr_html_()
    for text in ("Screen of mine", "Not factors", "no ring sizes", "The least set is confirmed."):
        assert text in page
    assert page.count('<img role="img"') == 1 and "refused in 1 row with it" in page
    assert repr(found) == to_text(record)
    assert found.least_set == BUFFERS and found.confirmed and found.verdict == "confirmed"
    assert found.effects is record.effects and set(found.left_out) == {"ring rx"}
    saved = read_tuning(found.save(tmp_path / "other.yml"))
    assert saved.name == "other" and "name: mine-least" in found.tuning


def test_the_files_of_a_screen_are_where_they_were_asked_for(tmp_path):
    found = screened()
    names = [path.name for path in write_files(found, tmp_path / "place")]
    assert names == ["screen.json", "effects.svg", "mine-least.yml"]
    *_, tuning = write_files(found, tmp_path / "place", tmp_path / "best.yml")
    assert read_tuning(tuning).name == "best"
    assert read_screen(tmp_path / "place/screen.json").least_tuning["name"] == "best"
