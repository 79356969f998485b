"""The guide: its commands run, its files are studies, its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import guide
import pytest

import netlab
from netlab.cli import main
from netlab.study import load

PAGES = sorted(path.name for path in guide.DOCS.glob("*.md"))
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("command", guide.commands("guide.md", ""))
def test_a_command_of_the_guide_runs(command, tmp_path):
    done = guide.run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()), "each of these commands writes a file"


def test_every_shell_block_has_a_test():
    notes = {b.note for page in PAGES for b in guide.blocks(page) if b.language == "sh"}
    assert notes <= {"", "lab"}
    named = [page for page in PAGES for b in guide.blocks(page) if b.language == "sh"]
    assert set(named) == {"guide.md"}, "tests run the commands of this page only"
    assert len(guide.commands("guide.md", "")) >= 3
    assert len(guide.commands("guide.md", "lab")) >= 12


def test_the_files_of_the_guide_are_studies_and_the_first_has_the_cells_and_runs_it_counts(
    tmp_path,
):
    found = {}
    for name, text in guide.files("guide.md").items():
        (tmp_path / name).write_text(text)
        found[name] = load(tmp_path / name)
        assert f"{found[name].name}.yml" == name
    study = found["first.yml"]
    cells = sum(len(study.combinations(group)) for group in study.groups)
    counted = f"are {cells} cells; {study.max_rounds} rounds make {cells * study.max_rounds} runs"
    assert counted in (guide.DOCS / "guide.md").read_text()


def test_links_lead_to_files_and_every_page_and_command_is_reached():
    texts = {page: (guide.DOCS / page).read_text(encoding="utf-8") for page in PAGES}
    for page, text in texts.items():
        for target in LINK.findall(text):
            assert target.startswith("http") or (guide.DOCS / target).exists(), (page, target)
    first = texts["guide.md"] + texts["commands.md"]
    assert [page for page in PAGES if page != "guide.md" and page not in first] == []
    assert [name for name in main.commands if f"`netlab {name}" not in first] == []


ROOT = guide.DOCS.parent


@pytest.mark.timeout(900)
def test_the_documentation_has_the_whole_api_and_every_notebook_with_its_charts(tmp_path):
    make = (ROOT / "Makefile").read_text()
    (options,) = re.findall(r"/sphinx-build (.*) build/docs$", make, re.M)
    command = (sys.executable, "-m", "sphinx", *options.split(), str(tmp_path))
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=880, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for page in guide.DOCS.glob("*.md"):
        assert (tmp_path / "docs" / f"{page.stem}.html").is_file()
    assert (tmp_path / "native" / "PROTOCOL.html").is_file()
    api = "".join(page.read_text() for page in (tmp_path / "docs").glob("api-*.html"))
    shown = set(re.findall(r'<dt class="[^"]*" id="netlab\.([\w.]+)"', api))
    assert shown >= {*netlab.__all__} - {"__version__"}
    assert shown >= {"Study.plan", "Results.cells", "Results.charts"}
    assert shown >= {"face.views.ResultTables.effects", "face.views.ResultCharts.drift"}
    made = re.compile(r"^class (\w+).*?(?=^class |\Z)", re.M | re.S)
    for path in (ROOT / "netlab").rglob("*.py"):
        for one in made.finditer(path.read_text(encoding="utf-8")):
            if "Made by :" in one[0] and one[1] != "SourceDocument":  # its kinds are shown
                module = ".".join(path.relative_to(ROOT / "netlab").with_suffix("").parts)
                assert f"{module}.{one[1]}" in shown
    gallery = (tmp_path / "docs" / "gallery.html").read_text()
    for source in (ROOT / "notebooks").glob("*.ipynb"):
        page = (tmp_path / "notebooks" / f"{source.stem}.html").read_text()
        assert str(ROOT) not in page, "no path of the machine that built it"
        assert f"notebooks/{source.stem}.html" in gallery
        if source.stem[:2] > "02":  # the others measure
            assert "Traceback" not in page and 'src="data:image/svg+xml' in page
            assert (tmp_path / "_images" / f"{source.stem}.svg").is_file()


def test_the_documentation_reads_no_results_of_the_user(tmp_path):
    """A study of the user that has an example's name stays out of its pages."""
    code = "import gallery, netlab; from unittest import mock; gallery.setup(mock.Mock())"
    (tmp_path / "data" / "results" / "openlab-2003" / "runs").mkdir(parents=True)
    done = subprocess.run(
        (sys.executable, "-c", f"{code}; print(netlab.Results('openlab-2003').directory)"),
        env={**os.environ, "NETLAB_HOME": str(tmp_path), "PYTHONPATH": str(guide.DOCS)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stderr, done.stdout.strip()) == ("", str(ROOT / "data/examples/openlab-2003"))
