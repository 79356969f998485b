"""The explorer of results in Chromium: with script, without it, and without style."""

from __future__ import annotations

import re

import pytest
import synthetic

from netlab.report.explore import explore

SEEN = """
return [...document.querySelectorAll('.view')].filter(v => v.checkVisibility())
  .map(v => [v.querySelector('summary').textContent, v.open]);
"""
CHOOSERS = "return document.querySelector('form').checkVisibility()"


@pytest.fixture(scope="module")
def markup():
    return explore(synthetic.measured())._repr_html_()


def opened(browser, tmp_path, markup):
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{markup}", encoding="utf-8")
    browser.get(page.as_uri())
    return browser


def choose(browser, text):
    labels = browser.find_elements("css selector", "form label")
    next(label for label in labels if label.text == text).click()


def test_a_choice_shows_its_chart_and_its_runs(browser, tmp_path, markup):
    opened(browser, tmp_path, markup)
    assert browser.execute_script(SEEN) == [["Linux64 → Linux64, No Tuning", True]]
    choose(browser, "Linux64 ↔ Linux64")
    choose(browser, "Driver Tuning")
    assert browser.execute_script(SEEN) == [["Linux64 ↔ Linux64, Driver Tuning", True]]
    view = browser.find_element("css selector", ".view.f0-1.f1-2")
    picture = view.find_element("css selector", "img")
    assert picture.is_displayed() and "both directions" in picture.get_attribute("alt")
    assert "of twice the bus" in view.find_element("css selector", "figcaption").text
    view.find_element("css selector", "details details > summary").click()
    rows = view.find_elements("css selector", ".runs tbody tr")
    assert len(rows) == 36 and rows[0].is_displayed()
    # sorting and filtering are those of the site, see test_site_in_browser.py
    view.find_element("css selector", "label input[type=search]").send_keys("16114")
    shown = [row for row in rows if row.is_displayed()]
    assert len(shown) == 12 and all("16114" in row.text for row in shown)


def test_without_a_script_the_choice_is_made_by_style_alone(browser, tmp_path, markup):
    bare = re.sub(r"<script.*?</script>", "", markup, flags=re.DOTALL)
    opened(browser, tmp_path, bare)
    choose(browser, "Kernel Tuning")
    assert browser.execute_script(SEEN) == [["Linux64 → Linux64, Kernel Tuning", False]]
    browser.find_element("css selector", ".view.f0-0.f1-1 > summary").click()
    assert browser.find_element("css selector", ".view.f0-0.f1-1 img").is_displayed()


def test_without_style_and_script_every_view_can_be_unfolded(browser, tmp_path, markup):
    bare = re.sub(r"<(script|style).*?</\1>", "", markup, flags=re.DOTALL)
    opened(browser, tmp_path, bare)
    seen = browser.execute_script(SEEN)
    assert len(seen) == 15 and [is_open for _, is_open in seen].count(True) == 1
    assert not browser.execute_script(CHOOSERS), "choosers that do nothing are not shown"
    last = browser.find_elements("css selector", ".view > summary")[-1]
    last.click()
    assert browser.find_element("css selector", ".view.f0-4.f1-2 img").is_displayed()
