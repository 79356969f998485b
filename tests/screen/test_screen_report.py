"""Output of a screen: table, sentences, JSON, the tuning file, the chart."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from screened import screened

from netlab.charts.chart import show
from netlab.cli.screen import refuse_unconfirmed
from netlab.errors import NetlabError
from netlab.files.json_file import json_text
from netlab.screen.report import as_json, to_text, write_least
from netlab.tuning.profiles import read_tuning

BUFFERS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def test_the_text_has_every_knob_the_least_set_and_its_confirmation():
    found = screened()
    text = to_text(found)
    for knob in (*found.design.knobs, "ring rx"):
        assert knob in text
    assert found.least == BUFFERS and found.concluded
    assert "Least set: net.ipv4.tcp_rmem, net.ipv4.tcp_wmem." in text
    assert "The least set is confirmed." in text
    assert "no ring sizes to set; b: is 4096 already" in text
    assert "net.ipv4.tcp_ecn: refused in 1 rows that set it" in text
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


def test_the_json_has_rows_effects_and_what_is_no_factor():
    found = screened()
    document = json.loads(json_text(as_json(found)))
    assert document["least_set"] == list(BUFFERS)
    assert document["rows"]["no-knob"] == []
    assert len(document["effects"]) == len(found.design.knobs) + 1
    assert document["unsupported"][0]["reason"] == "the device has no ring sizes to set"
    assert document["refused_rows"] == {"net.ipv4.tcp_ecn": 1}


def test_the_least_set_is_written_as_a_tuning_with_sources(tmp_path):
    tuning = read_tuning(write_least(screened(), tmp_path / "mine-least.yml"))
    assert [knob.name for knob in tuning.knobs] == list(BUFFERS)
    assert [knob.source for knob in tuning.knobs] == ["paper, tcp_rmem", "paper, tcp_wmem"]
    assert "confirmed" in tuning.notes[0]


def test_an_empty_least_set_is_a_tuning_as_well(tmp_path):
    found = screened()
    (only,) = found.tries
    none = replace(found, tries=(replace(only, knobs=()),))
    assert read_tuning(write_least(none, tmp_path / "none.yml")).knobs == ()


def test_every_confirmation_is_in_the_text_and_the_last_one_counts():
    (slow,) = screened(least_MBps=800.0).tries
    found = screened()
    both = replace(found, tries=(replace(slow, knobs=BUFFERS[:1]), *found.tries))
    text = to_text(both)
    assert both.verdict == "confirmed" and both.least == BUFFERS
    assert text.index("Least set: net.ipv4.tcp_rmem.") < text.index("Least set: net.ipv4.tcp_rmem,")
    assert len(as_json(both)["confirmations"]) == 2


def test_the_chart_has_a_row_for_every_knob_and_the_pairs_below():
    found = screened()
    ax = found.plot()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == "net.ipv4.tcp_rmem × net.ipv4.tcp_wmem"
    assert set(names[:2]) == set(BUFFERS) and set(names[:-1]) == set(found.design.knobs)
    chart = show(ax)
    assert "faster" in chart.alt and "mine on a-b" in chart.alt


def test_a_least_set_that_is_slower_ends_with_exit_code_1():
    refuse_unconfirmed(screened())
    with pytest.raises(NetlabError) as caught:
        refuse_unconfirmed(screened(least_MBps=800.0))
    assert caught.value.code == "E-CLI-026" and caught.value.exit_code == 1


def test_a_screen_shows_itself_in_a_notebook():
    found = screened()
    page = found._repr_html_()
    for text in ("Screen of mine", "Not factors", "no ring sizes", "The least set is confirmed."):
        assert text in page
    assert repr(found) == to_text(found)
