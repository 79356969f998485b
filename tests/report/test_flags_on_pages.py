"""A flag on a page of the report has its meaning and its remedy, and a row to link to."""

from __future__ import annotations

import re

import pytest

from netlab.report import flags
from netlab.report.how_to_read import reading_page
from netlab.results.flags import Flag, in_plain, remedy_of


@pytest.mark.parametrize("flag", Flag)
def test_the_link_of_a_flag_leads_to_its_row_with_the_remedy(flag):
    linked = flags.with_titles({"flags": str(flag), "message": "why"}, linked=True)
    target = re.search(r'href="how-to-read\.html#([^"]+)"', linked)[1]
    row = re.search(rf'<tr id="{target}">(.*?)</tr>', reading_page().body, re.DOTALL)[1]
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
    assert cells[0] == flag and cells[2] == flag.validity
    assert cells[3].replace("&#39;", "'") == in_plain(flag.remedy)


def test_each_of_several_flags_has_its_meaning_and_the_reasons_follow_once():
    run = {"flags": "stalled,interference", "message": "no byte for 0.4 s; steal 9 %"}
    text = flags.with_titles(run)
    assert re.sub("<[^>]+>", "", text) == "stalled, interference: no byte for 0.4 s; steal 9 %"
    for flag in (Flag.STALLED, Flag.INTERFERENCE):
        assert flag.meaning in text and remedy_of(flag) in text
    assert "href" not in text


def test_a_flag_of_a_later_version_is_shown_without_a_link_and_as_text():
    text = flags.with_titles({"flags": "<b>moon", "message": "<i>why"}, linked=True)
    assert "href" not in text and "not known to this version" in text
    assert "&lt;b&gt;moon</abbr>: &lt;i&gt;why" in text


def test_a_valid_run_says_so():
    valid = {"flags": "", "message": "imported"}
    assert flags.with_titles(valid, linked=True) == flags.as_text(valid) == "valid"
    assert flags.with_titles(valid, none="") == ""
