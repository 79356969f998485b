"""The site in a real browser: quiet, closed, readable on a phone and in the dark."""

import re
from importlib import resources
from itertools import pairwise

import nbformat
import papermill
import pytest
import synthetic
from calibrated_samples import store_calibration
from nbformat import v4
from report.slow.active_content import ACTIVE

from netlab.analysis.measured import load_measured
from netlab.files.paths import data_dir
from netlab.report.explore import explore
from netlab.report.site import ExecutedNotebook, SiteContent, build_site
from netlab.study.frozen import freeze

NOTEBOOK = data_dir().parent / "notebooks" / "03-openlab-measured.ipynb"
RUNS = "runs-linux64-to-linux64.html"
PAGES = (
    *("index.html", "tables.html", "precision.html", "provenance.html", "effects.html"),
    *("calibration.html", "how-to-read.html", RUNS, "03-openlab-measured.html"),
)
"""One of each kind."""

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
# a chart is an image with alt text: what is within it has no role, and takes most of axe's time
RUN_AXE = """
const [how, done] = arguments;
axe.run({exclude: ['figure > svg > *']}, {resultTypes: ['violations'], ...how}).then(found => done({
  rules: found.passes.length + found.violations.length + found.inapplicable.length,
  violations: found.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))]),
}));
"""
COLOURS = ("color-contrast", "link-in-text-block")
"""Rules of axe about colours, which take most of its time."""

DRAWN = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"
"""Waits for the second frame from now: sizes are observed in the first, once it is laid out."""
UNSAID = """
return [...document.querySelectorAll('.netlab-table')].filter(box => {
  const said = box.previousElementSibling;
  const wide = box.scrollWidth > box.clientWidth + 1;
  return wide && !(said && said.className === 'scrolls' && !said.hidden);
}).map(box => box.scrollWidth);
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The openlab report of synthetic runs, its notebook executed for real."""
    work = tmp_path_factory.mktemp("report")
    study = synthetic.openlab()

    def change(row):
        if row["order"] % 50 == 0:
            row |= {"flags": "interference", "message": "foreign load " + "x" * 80}

    synthetic.store_of(work / "store", study, synthetic.runs_of(study, change=change))
    executed = work / NOTEBOOK.name
    parameters = {"results": str(work / "store"), "study": str(synthetic.openlab_file())}
    papermill.execute_notebook(NOTEBOOK, executed, parameters, progress_bar=False)
    m = load_measured(work / "store", freeze(study, work / "store"))
    notebooks = [ExecutedNotebook(executed)]
    store_calibration(work / "calibration")
    calibrations = work / "calibration"
    return build_site(
        SiteContent(notebooks, measured=m, calibrations=calibrations), work / "site"
    ).parent


def _open(browser, page, *, width=1280, scheme="light"):
    _show(browser, width=width, scheme=scheme)
    browser.get(page.as_uri())


def _show(browser, *, width=1280, scheme="light"):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def test_outputs_of_a_foreign_notebook_run_nothing_even_without_the_policy(browser, tmp_path):
    output = v4.new_output("display_data", {"text/html": ACTIVE.replace("sprung()", "sprung=1")})
    notebook = v4.new_notebook(cells=[v4.new_code_cell("show()", outputs=[output])])
    nbformat.write(notebook, tmp_path / "theirs.ipynb")
    build_site(
        SiteContent([ExecutedNotebook(tmp_path / "theirs.ipynb")], pdf=False), tmp_path / "site"
    )
    page = tmp_path / "site" / "theirs.html"
    text = page.read_text()
    page.write_text(re.sub("<meta http-equiv=.Content-Security-Policy.*?>", "", text))
    assert page.read_text() != text
    _open(browser, page)
    assert browser.execute_script("return typeof sprung") == "undefined"
    assert "kept" in browser.execute_script("return document.body.innerText")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_quiet_closed_ordered_and_accessible_at_any_width(site, browser, page):
    """One load, then all that is folded open: a width changes no colour, the scheme only that."""
    browser.get_log("browser"), browser.get_log("performance")
    _open(browser, site / page, width=390)
    # Chromium's own pages, and its remarks about a slow machine, are not the page's
    logged = [entry for entry in browser.get_log("browser") if entry["source"] != "intervention"]
    assert logged == []
    asked = [e["message"] for e in browser.get_log("performance") if "requestWillBeSent" in str(e)]
    assert asked and not [m for m in asked if '"url":"http' in m or '"url":"ws' in m]
    broken = "return [...document.images].filter(i => !i.complete || !i.naturalWidth).length"
    assert browser.execute_script(broken) == 0
    levels = browser.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    bare = "return [...document.images].filter(i => !i.alt.trim()).length"
    assert browser.execute_script(bare) == 0
    if page == "how-to-read.html":
        wide = "return [...document.querySelectorAll('.stacked')].map(e => e.scrollWidth)"
        assert browser.execute_script(wide) and max(browser.execute_script(wide)) <= 390
        last = "[...document.querySelectorAll('.stacked td:last-child')]"
        remedies = f"return {last}.map(e => e.getBoundingClientRect().right)"
        assert max(browser.execute_script(remedies)) <= 390, "what to do about a flag is in sight"
    if page == "tables.html":
        browser.execute_async_script(DRAWN)
        assert browser.execute_script(UNSAID) == [], "a table that scrolls says so"
        boxes = "return [...document.querySelectorAll('.netlab-table')].map(e => e.scrollWidth)"
        assert max(browser.execute_script(boxes)) > 390, "wide tables keep their width and scroll"
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.execute_script(AXE)
    without_colours = {"rules": {rule: {"enabled": False} for rule in COLOURS}}
    for width, rules in ((390, {}), (768, without_colours), (1280, without_colours)):
        _show(browser, width=width)
        sizes = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        assert sizes[0] <= sizes[1] == width
        found = browser.execute_async_script(RUN_AXE, rules)
        assert found["rules"] > 30, "axe has looked at the page"
        assert found["violations"] == [], width
    _show(browser, scheme="dark")
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(20, 23, 26)"
    found = browser.execute_async_script(RUN_AXE, {"runOnly": COLOURS})
    assert found["rules"] == len(COLOURS) and found["violations"] == []


def test_code_opens_and_links_lead_on(site, browser):
    _open(browser, site / "index.html")
    browser.find_element("css selector", '#pages a[href="03-openlab-measured.html"]').click()
    assert browser.current_url.endswith("03-openlab-measured.html")
    details = browser.find_element("css selector", "details.code")
    shown = "return arguments[0].querySelector('pre').checkVisibility()"
    assert not browser.execute_script(shown, details)
    details.find_element("css selector", "summary").click()
    assert browser.execute_script(shown, details)


def _column(browser, column):
    rows = "return [...document.querySelectorAll('.runs')[0].querySelectorAll('tbody tr')]"
    shown = f".filter(r => !r.hidden).map(r => r.cells[{column}].textContent)"
    return browser.execute_script(rows + shown)


def test_a_click_on_a_head_sorts_a_table_by_numbers_both_ways(site, browser):
    _open(browser, site / RUNS)
    before = _column(browser, 3)
    head = browser.find_element("css selector", ".runs thead th:nth-child(4)")
    head.find_element("css selector", "button").click()
    up = _column(browser, 3)
    assert up == sorted(before, key=float) and head.get_attribute("aria-sort") == "ascending"
    head.find_element("css selector", "button").click()
    assert _column(browser, 3) == up[::-1] and head.get_attribute("aria-sort") == "descending"


def test_words_filter_the_rows_of_a_table(site, browser):
    _open(browser, site / "precision.html")
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    field = browser.find_element("css selector", "#flagged-runs ~ label.filter input")
    rows = "return [...document.querySelectorAll('#flagged-runs ~ .netlab-table tbody tr')]"
    every = browser.execute_script(f"{rows}.map(r => r.textContent)")
    word = every[0].split(":")[0].split("@")[0][-5:]
    field.send_keys(f"{word.upper()} foreign")
    shown = browser.execute_script(f"{rows}.filter(r => !r.hidden).map(r => r.textContent)")
    assert shown == [text for text in every if word.lower() in text.lower()]
    field.send_keys(" nowhere")
    assert browser.execute_script(f"{rows}.filter(r => !r.hidden).length") == 0


def test_an_address_within_a_folded_part_opens_it(site, browser):
    _open(browser, site / "provenance.html")
    unfolded = """
const box = document.querySelector('details.rows'), row = box.querySelector('tbody tr');
row.id = 'here';
location.hash = '#here';
return new Promise(done => setTimeout(() => done(box.open), 50));
"""
    assert browser.execute_script(unfolded) is True


SEEN = """
return [...document.querySelectorAll('.view')].filter(v => v.checkVisibility())
  .map(v => [v.querySelector('summary').textContent, v.open]);
"""
CHOOSERS = "return document.querySelector('.choices').checkVisibility()"


@pytest.fixture(scope="module")
def markup():
    return explore(synthetic.measured())._repr_html_()


def opened(browser, tmp_path, markup):
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{markup}", encoding="utf-8")
    browser.get(page.as_uri())
    return browser


def choose(browser, text):
    labels = browser.find_elements("css selector", ".choices label")
    next(label for label in labels if label.text == text).click()


@pytest.mark.parametrize("where", ["notebook", "site"])
def test_a_choice_shows_its_chart_and_its_runs(browser, tmp_path, markup, site, where):
    if where == "site":  # sanitized
        _open(browser, site / "03-openlab-measured.html")
    else:
        opened(browser, tmp_path, markup)
    assert browser.execute_script(SEEN) == [["Linux64 → Linux64, No Tuning", True]]
    choose(browser, "Linux64 ↔ Linux64")
    choose(browser, "Driver Tuning")
    assert browser.execute_script(SEEN) == [["Linux64 ↔ Linux64, Driver Tuning", True]]
    view = browser.find_element("css selector", ".view.f0-1.f1-2")
    picture = view.find_element("css selector", "img, svg")
    alt = picture.get_attribute("alt") or picture.get_attribute("aria-label")
    assert picture.is_displayed() and "both directions" in alt
    assert "of twice the bus" in view.find_element("css selector", "figcaption").text
    view.find_element("css selector", "details details > summary").click()
    rows = view.find_elements("css selector", ".runs tbody tr")
    assert len(rows) == 36 and rows[0].is_displayed()
    view.find_element("css selector", "label input[type=search]").send_keys("16114")
    shown = [row for row in rows if row.is_displayed()]
    assert len(shown) == 12 and all("16114" in row.text for row in shown)


def test_without_style_and_script_every_view_can_be_unfolded(browser, tmp_path, markup):
    bare = re.sub(r"<(script|style).*?</\1>", "", markup, flags=re.DOTALL)
    opened(browser, tmp_path, bare)
    seen = browser.execute_script(SEEN)
    assert len(seen) == 15 and [is_open for _, is_open in seen].count(True) == 1
    assert not browser.execute_script(CHOOSERS), "choosers that do nothing are not shown"
    last = browser.find_elements("css selector", ".view > summary")[-1]
    last.click()
    assert browser.find_element("css selector", ".view.f0-4.f1-2 img").is_displayed()
