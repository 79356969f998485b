"""The notebooks as a user executes them: measured, published, shown, measured with a change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import notebook_page
import pytest
import yaml
from face_home import home_at

import netlab
from netlab.files.paths import notebook as notebook_file
from netlab.notebooks.execution import execute
from tests.e2e.conftest import small_study
from tests.face.examples import WHOLE_REPORT, examples, failures

pytestmark = pytest.mark.timeout(900)
EXAMPLES = examples()


def openlab_in_small() -> dict:
    """A study of the openlab study's name whose short form takes seconds."""
    content = small_study("openlab-2003")
    return content | {"title": "Openlab in small", "quick": content["timing"]}


@pytest.fixture(scope="module")
def small_home(tmp_path_factory):
    """A directory of its own, current for the tests, in which openlab-2003 is a small study."""
    with pytest.MonkeyPatch.context() as patch:
        place = home_at(tmp_path_factory.mktemp("small"), patch)
        studies = place / "data" / "studies"
        studies.unlink()
        studies.mkdir()
        (studies / "openlab-2003.yml").write_text(yaml.safe_dump(openlab_in_small()))
        yield place


def papermill(notebook: str, place: Path, *more: str) -> nbformat.NotebookNode:
    """Execute a notebook as a user does, from the directory that holds `notebooks/`."""
    out = place / f"out-{notebook}"
    argv = (sys.executable, "-m", "papermill", f"notebooks/{notebook}", str(out), *more)
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return nbformat.read(out, as_version=4)


def html_of(notebook: nbformat.NotebookNode) -> str:
    """The HTML of all outputs."""
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", ())]
    return "\n".join(str(o.get("data", {}).get("text/html", "")) for o in outputs)


@pytest.fixture(scope="module")
def published(small_home):
    """`01` executed with its defaults: what it shows."""
    return papermill("01-run-study.ipynb", small_home)


def test_01_with_its_defaults_measures_the_short_form_and_publishes_it(published, small_home):
    shown = html_of(published)
    assert "Openlab in small (openlab-2003-quick)" in shown
    assert (small_home / "site" / "index.html").is_file()
    assert (small_home / "site" / "index.html").as_uri() in shown
    assert len(netlab.Results("openlab-2003").runs) == 8


def test_then_03_with_its_defaults_shows_what_was_measured(published, small_home):
    shown = html_of(papermill("03-openlab-measured.ipynb", small_home))
    assert "Openlab in small" in shown and "left -&gt; right" in shown
    assert "8, of which" in shown


@pytest.mark.parametrize("name", sorted(WHOLE_REPORT))
def test_the_example_of_a_report_is_true(published, name):
    assert failures(EXAMPLES[name]) == ""


def test_start_here_measures_and_then_measures_a_change(tmp_path, monkeypatch):
    home_at(tmp_path, monkeypatch)
    small = {"streams": [1], "windows_B": [65536], "offloads": ["none"]}
    done = execute(notebook_file("00-start-here.ipynb"), tmp_path / "00.ipynb", small)
    first = nbformat.read(done, as_version=4)
    runs = netlab.Results("first-steps").runs
    assert len(runs) == 6 and set(runs["mtu_B"]) == {1500, 9000}
    # a busy machine may flag every run: then there is nothing to draw or to compare
    notebook_page.check(first, drawn=bool((runs["flags"] == "").all()))
    shown = str([cell.get("outputs", "") for cell in first.cells])
    assert "closes to the byte" in shown and "Linux64 &lt;-&gt; Linux64" in shown
    assert "memory copy" not in shown, "a copy rate of one core is not a ceiling of streams"
    more = {**small, "streams": [1, 2]}
    execute(notebook_file("00-start-here.ipynb"), tmp_path / "00.ipynb", more)
    assert set(netlab.Results("first-steps").runs["streams"]) == {1, 2}
