"""The notebooks as a user executes them: measured, published, shown, measured with a change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import notebook_page
import pytest
import yaml
from e2e.conftest import small_study
from face.examples import WHOLE_REPORT, examples, failures
from face_home import home_at
from studies import ANY_NOISE

import netlab
from netlab.files.paths import notebook as notebook_file
from netlab.notebooks.execution import execute

pytestmark = pytest.mark.timeout(900)
EXAMPLES = examples()


@pytest.fixture(scope="module")
def small_home(tmp_path_factory):
    """A directory of its own, current for the tests, in which openlab-2003 is a small study."""
    with pytest.MonkeyPatch.context() as patch:
        place = home_at(tmp_path_factory.mktemp("small"), patch)
        studies = place / "data" / "studies"
        studies.unlink()
        studies.mkdir()
        content = small_study("openlab-2003") | {"title": "Openlab in small"}
        content["quick"] = content["timing"]
        (studies / "openlab-2003.yml").write_text(yaml.safe_dump(content))
        yield place


def papermill(notebook: str, place: Path) -> str:
    """What a notebook shows that is executed from the directory that holds `notebooks/`."""
    out = place / f"out-{notebook}"
    argv = (sys.executable, "-m", "papermill", f"notebooks/{notebook}", str(out))
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    cells = nbformat.read(out, as_version=4).cells
    return "\n".join(notebook_page.shown(cell) for cell in cells if "outputs" in cell)


@pytest.fixture(scope="module")
def published(small_home):
    """`01` executed with its defaults: what it shows."""
    return papermill("01-run-study.ipynb", small_home)


def test_01_with_its_defaults_measures_the_short_form_and_publishes_it(published, small_home):
    shown = published
    assert "Openlab in small (openlab-2003-quick)" in shown
    assert (small_home / "site" / "index.html").is_file()
    assert (small_home / "site" / "index.html").as_uri() in shown
    assert len(netlab.Results("openlab-2003").runs) == 8


def test_then_03_with_its_defaults_shows_what_was_measured(published, small_home):
    shown = papermill("03-openlab-measured.ipynb", small_home)
    assert "Openlab in small" in shown and "left -&gt; right" in shown
    assert "8, of which" in shown


@pytest.mark.parametrize("name", sorted(WHOLE_REPORT))
def test_the_example_of_a_report_is_true(published, name):
    assert failures(EXAMPLES[name]) == ""


def test_start_here_measures_and_then_measures_a_change(tmp_path, monkeypatch):
    home_at(tmp_path, monkeypatch)
    written = nbformat.read(notebook_file("00-start-here.ipynb"), as_version=4)
    (cell,) = [c for c in written.cells if c.source.startswith("study = netlab.Study(")]
    # without noise limits, for which a campaign would wait for quiet
    cell.source = cell.source.replace('| {"timing"', f'| {{"noise": {ANY_NOISE}}} | {{"timing"')
    assert str(ANY_NOISE) in cell.source
    nbformat.write(written, tmp_path / "start.ipynb")

    def run(**parameters: object) -> nbformat.NotebookNode:
        given = {"windows_B": [65536], "offloads": ["none"], **parameters}
        done = execute(tmp_path / "start.ipynb", tmp_path / "00.ipynb", given)
        return nbformat.read(done, as_version=4)

    first = run(streams=[1])
    runs = netlab.Results("first-steps").runs
    assert len(runs) == 6 and set(runs["mtu_B"]) == {1500, 9000}
    notebook_page.check(first, drawn=bool((runs["flags"] == "").all()))
    shown = str([cell.get("outputs", "") for cell in first.cells])
    assert "closes to the byte" in shown and "Linux64 &lt;-&gt; Linux64" in shown
    assert "memory copy" not in shown, "a copy rate of one core is not a ceiling of streams"
    run(streams=[1, 2])
    assert set(netlab.Results("first-steps").runs["streams"]) == {1, 2}
