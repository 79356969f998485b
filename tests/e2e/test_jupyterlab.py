"""A study run in JupyterLab as a user does: live view seen, stopped, and kept in the file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time

import pytest
import yaml
from e2e.conftest import small_study
from face_home import ROOT, home_at
from selenium.common.exceptions import WebDriverException

import netlab
from netlab.files import paths
from netlab.lab.lab import labs

pytestmark = pytest.mark.timeout(600)
WAIT_S = 180
LIVE = "return [...document.querySelectorAll('.netlab-live')].map(e => e.innerText).join('\\n')"
CHART = "return document.querySelectorAll('.netlab-live svg circle, .netlab-live svg path').length"
IDLE = "return document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status"
SHOWN = "return document.querySelector('.jp-Notebook')?.innerText ?? ''"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory of its own with a copy of the notebooks, in which openlab-2003 is small."""
    with pytest.MonkeyPatch.context() as patch:
        home = home_at(tmp_path_factory.mktemp("home"), patch)
        studies = home / "data" / "studies"
        studies.unlink()
        studies.mkdir()
        content = small_study("openlab-2003") | {"title": "Openlab in small"}
        content["quick"] = content["timing"] | {"rounds": 40}  # long enough to be stopped
        (studies / "openlab-2003.yml").write_text(yaml.safe_dump(content))
        (home / "notebooks").unlink()
        shutil.copytree(ROOT / "notebooks", home / "notebooks")
        yield home


@pytest.fixture(scope="module")
def server(place):
    """Address of a JupyterLab of the place."""
    argv = (sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0")
    more = ("--expose-app-in-browser", "--ServerApp.ip=127.0.0.1", f"--notebook-dir={place}")
    log = place / "lab.log"
    with open(log, "wb") as said:
        process = subprocess.Popen((*argv, *more), stdout=said, stderr=said, cwd=place)
    try:
        address = r"http://127\.0\.0\.1:\d+/lab\?token=\w+"
        yield until(lambda: re.search(address, log.read_text(encoding="utf-8")), "server")[0]
    finally:
        process.terminate()
        process.wait(30)


def until(condition, what: str):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.5)
    raise AssertionError(f"no {what} in {WAIT_S} s")


def command(browser, name: str) -> None:
    """Execute a command of JupyterLab; it is not waited for."""
    browser.execute_script(f"void window.jupyterapp.commands.execute('{name}')")


def script(browser, code: str):
    """Value of a script; nothing while the page changes."""
    try:
        return browser.execute_script(code)
    except WebDriverException:
        return None


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
    address, _, token = server.partition("?")
    browser.get(f"{address}/tree/notebooks/01-run-study.ipynb?{token}")
    until(lambda: script(browser, IDLE) == "idle", "idle kernel")
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
            r"Stopped: (\d+) of 320 runs measured, lab removed; run again to go on\.",
            script(browser, SHOWN) or "",
        ),
        "sentence of the stop",
    )
    assert "Traceback" not in script(browser, SHOWN)
    assert int(said[1]) == len(netlab.Results("openlab-2003").runs) < 320
    assert not [lab for lab in labs() if lab.status()["study"].startswith("openlab")]
    directory = paths.results_dir("openlab-2003-quick")
    assert [path.name for path in directory.rglob(".*")] == [".lock"]
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
