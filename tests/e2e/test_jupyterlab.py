"""A study run in JupyterLab as a user does: live view seen, stopped, and kept in the file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time

import nbformat
import pytest
import yaml
from face_home import ROOT, home_at, measured_openlab
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service

import netlab
from tests.e2e.conftest import small_study

# Its steps have timeouts, so that a second try is allowed, as for tests that measure time.
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.beside,
    pytest.mark.timing,
    pytest.mark.timeout(600),
]
WAIT_S = 180
LIVE = "return [...document.querySelectorAll('.netlab-live')].map(e => e.innerText).join('\\n')"
CHART = "return document.querySelectorAll('.netlab-live svg circle, .netlab-live svg path').length"
IDLE = "return document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status"
SHOWN = "return document.querySelector('.jp-Notebook')?.innerText ?? ''"


def long_study() -> dict:
    """A study of the openlab study's name whose short form takes long enough to be stopped."""
    content = small_study("openlab-2003") | {"title": "Openlab in small"}
    return content | {"quick": content["timing"] | {"rounds": 40}}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory of its own with a copy of the notebooks, in which openlab-2003 is small."""
    with pytest.MonkeyPatch.context() as patch:
        home = home_at(tmp_path_factory.mktemp("home"), patch)
        studies = home / "data" / "studies"
        studies.unlink()
        studies.mkdir()
        (studies / "openlab-2003.yml").write_text(yaml.safe_dump(long_study()))
        (home / "notebooks").unlink()
        shutil.copytree(ROOT / "notebooks", home / "notebooks")
        yield home


@pytest.fixture(scope="module")
def measured(place):
    """Made-up results of that study, beside those that a test measures."""
    return measured_openlab(place / "measured")


@pytest.fixture(scope="module")
def server(place):
    """Address of a JupyterLab of the place."""
    argv = (sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0")
    more = ("--expose-app-in-browser", "--ServerApp.ip=127.0.0.1", f"--notebook-dir={place}")
    log = place / "lab.log"
    with open(log, "wb") as said:
        process = subprocess.Popen((*argv, *more), stdout=said, stderr=said, cwd=place)
    try:
        yield until(lambda: address_in(log.read_text(encoding="utf-8")), "server")
    finally:
        process.terminate()
        process.wait(30)


def address_in(log: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/lab\?token=\w+", log)
    return found[0] if found else ""


def until(condition, what: str):
    """The first true value of a condition."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.5)
    raise AssertionError(f"no {what} in {WAIT_S} s")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--window-size=1280,1600", f"--user-data-dir={tmp_path_factory.mktemp('profile')}"),
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_page_load_timeout(WAIT_S)
    yield driver
    driver.quit()


def command(browser, name: str) -> None:
    """Execute a command of JupyterLab; it is not waited for."""
    browser.execute_script(f"void window.jupyterapp.commands.execute('{name}')")


def script(browser, code: str):
    """Value of a script; nothing while the page changes."""
    try:
        return browser.execute_script(code)
    except WebDriverException:
        return None


def opened(browser, server, name: str) -> None:
    """Open a notebook in a workspace of its own, which has no page of another test."""
    address, _, token = server.partition("?")
    browser.get(f"{address}/workspaces/{name.split('.')[0]}/tree/notebooks/{name}?{token}")
    until(lambda: script(browser, IDLE) == "idle", "idle kernel")


def run_all(browser) -> bool:
    """Run all cells; false if the page was not ready for it, and executed none or some of them."""
    command(browser, "notebook:run-all-cells")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if script(browser, LIVE):
            return True
        time.sleep(0.2)
    return script(browser, IDLE) != "idle"


def test_a_study_is_seen_live_stopped_in_the_middle_and_kept_in_the_file(place, server, browser):
    opened(browser, server, "01-run-study.ipynb")
    until(lambda: run_all(browser), "live view")

    def some_runs():
        found = re.search(r"(\d+) of (\d+) runs, \d+ %", script(browser, LIVE) or "")
        return found and int(found[1]) >= 5 and found

    try:
        until(some_runs, "live view with five runs")
    except AssertionError as failed:
        raise AssertionError(f"{failed}; the page: {script(browser, SHOWN)}") from None
    live = script(browser, LIVE)
    assert "Measuring: round " in live and " left" in live and "last run " in live
    assert script(browser, CHART) >= 5
    command(browser, "notebook:interrupt-kernel")
    said = until(
        lambda: re.search(
            r"Stopped: (\d+) of 320 runs kept, lab removed; run again to go on\.",
            script(browser, SHOWN) or "",
        ),
        "sentence of the stop",
    )
    assert "Traceback" not in script(browser, SHOWN)
    assert int(said[1]) == len(netlab.Results("openlab-2003").runs) < 320
    command(browser, "docmanager:save")
    file = place / "notebooks" / "01-run-study.ipynb"
    until(lambda: "Stopped: " in file.read_text(encoding="utf-8"), "saved notebook")
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    (measuring,) = [c for c in cells if "chosen.run(" in "".join(c["source"])]
    live, stop = measuring["outputs"]
    assert live["output_type"] == "display_data" and stop["output_type"] == "error"
    text = "".join(live["data"]["text/html"])
    assert re.search(r"<svg.*(<circle|<path)", text) and "Stopped, " in text
    assert not cells[-1]["outputs"], "the cell that publishes did not run"


VIEWS = """
return [...document.querySelectorAll('.netlab-explore .view')].filter(v => v.checkVisibility())
  .map(v => [v.querySelector('summary').textContent, v.open]);
"""
CHOOSE = """
const [text] = arguments;
const label = [...document.querySelectorAll('.netlab-explore label')]
  .find(label => label.textContent.trim() === text);
label.querySelector('input').click();
"""
PICTURES = """
return [...document.querySelectorAll('.netlab-explore .view[open] img')]
  .map(i => i.checkVisibility() && i.naturalWidth > 100 && i.alt.length > 20);
"""
LINK = "return !!document.querySelector('.jp-OutputArea-output a')"
REPORT = """
const viewer = document.querySelector('.jp-HTMLViewer iframe');
return viewer && [...document.querySelectorAll('.lm-TabBar-tab')].map(t => t.title)
  .find(title => title.includes('index.html'))?.match(/Path: (\\S+)/)?.[1];
"""
ONE = "left → right, openlab-2003-normal"
OTHER = "left ↔ right, openlab-2003-full"


def written(place, name: str, measured, outputs=()) -> None:
    """A notebook that explores the results, with outputs as if it came from elsewhere."""
    cell = nbformat.v4.new_code_cell(f"import netlab\nnetlab.Results({str(measured)!r}).explore()")
    cell.outputs = list(outputs)
    with_code(place, name, cell)


def with_code(place, name: str, cell: nbformat.NotebookNode) -> None:
    """A notebook of one cell."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=kernel)
    nbformat.write(notebook, place / "notebooks" / name)


def explored(browser) -> bool:
    """Run all cells; false if the page was not ready for it, and executed none."""
    command(browser, "notebook:run-all-cells")
    end = time.monotonic() + 30
    while time.monotonic() < end and script(browser, VIEWS) != [[ONE, True]]:
        time.sleep(0.5)
    return script(browser, VIEWS) == [[ONE, True]]


def test_the_explorer_works_when_run_and_in_the_saved_file_opened_again(
    place, server, browser, measured
):
    written(place, "explore.ipynb", measured)
    opened(browser, server, "explore.ipynb")
    until(lambda: explored(browser), "explorer")
    assert script(browser, PICTURES) == [True]
    command(browser, "docmanager:save")
    file = place / "notebooks" / "explore.ipynb"
    until(lambda: "netlab-explore" in file.read_text(encoding="utf-8"), "saved notebook")
    for again in (False, True):
        if again:
            opened(browser, server, "explore.ipynb")
            until(lambda: script(browser, VIEWS) == [[ONE, True]], "explorer opened again")
        browser.execute_script(CHOOSE, "left ↔ right")
        browser.execute_script(CHOOSE, "openlab-2003-full")
        until(lambda: [OTHER, True] in (script(browser, VIEWS) or []), "chosen view")
        assert len(script(browser, VIEWS)) == 1
        assert True in script(browser, PICTURES)


def test_the_explorer_can_be_read_in_a_notebook_that_is_not_trusted(
    place, server, browser, measured
):
    found = netlab.Results(measured).explore()
    data = {"text/html": found._repr_html_(), "text/plain": repr(found)}
    given = nbformat.v4.new_output("execute_result", data, execution_count=1)
    written(place, "given.ipynb", measured, [given])
    opened(browser, server, "given.ipynb")
    seen = until(lambda: script(browser, VIEWS), "views")
    assert seen[0] == [ONE, True] and [is_open for _, is_open in seen] == [True] + [False] * 3
    assert script(browser, PICTURES) == [True]
    dead = "return document.querySelector('.netlab-explore input')?.checkVisibility() ?? false"
    assert script(browser, dead) is False, "choosers that are not allowed are not shown"
    last = "return [...document.querySelectorAll('.netlab-explore .view > summary')].at(-1).click()"
    script(browser, last)
    until(lambda: script(browser, PICTURES) == [True, True], "last view unfolded")


def test_the_link_to_a_report_opens_it(place, server, browser):
    site = place / "site"
    site.mkdir()
    (site / "index.html").write_text("<!doctype html><title>Report</title><h1>A report</h1>")
    code = (
        "from pathlib import Path\nfrom netlab.face.shown import Site\n"
        "Site(Path('..') / 'site' / 'index.html')"
    )
    with_code(place, "link.ipynb", nbformat.v4.new_code_cell(code))
    opened(browser, server, "link.ipynb")

    def linked() -> bool:
        command(browser, "notebook:run-all-cells")
        time.sleep(2)
        return script(browser, LINK)

    until(linked, "link")
    browser.execute_script(LINK.replace("return !!", "") + ".click()")
    page = until(lambda: script(browser, REPORT), "report")
    assert page.endswith("site/index.html")
    assert len(browser.window_handles) == 1
