"""The guide: its commands run, its files are studies, its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import guide
import pytest

from netlab.cli import main
from netlab.study import load

BIN = Path(sys.executable).parent
PAGES = sorted(path.name for path in guide.DOCS.glob("*.md"))
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("command", guide.commands("guide.md", ""))
def test_a_command_of_the_guide_runs(command, tmp_path):
    environment = {**os.environ, "NETLAB_HOME": str(tmp_path)}
    environment["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ("sh", "-c", command),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()), "each of these commands writes a file"


def test_every_shell_block_has_a_test():
    notes = {b.note for page in PAGES for b in guide.blocks(page) if b.language == "sh"}
    assert notes <= {"", "lab"}
    named = [page for page in PAGES for b in guide.blocks(page) if b.language == "sh"]
    assert set(named) == {"guide.md"}, "tests run the commands of this page only"
    assert len(guide.commands("guide.md", "")) >= 3
    assert len(guide.commands("guide.md", "lab")) >= 12


@pytest.mark.parametrize("name", guide.files("guide.md"))
def test_a_file_of_the_guide_is_a_study(name, tmp_path):
    (tmp_path / name).write_text(guide.files("guide.md")[name])
    assert f"{load(tmp_path / name).name}.yml" == name


def test_the_first_study_has_the_cells_and_runs_that_the_guide_counts(tmp_path):
    (tmp_path / "first.yml").write_text(guide.files("guide.md")["first.yml"])
    study = load(tmp_path / "first.yml")
    cells = sum(len(study.combinations(group)) for group in study.groups)
    text = (guide.DOCS / "guide.md").read_text()
    assert (
        f"are {cells} cells; {study.max_rounds} rounds make {cells * study.max_rounds} runs" in text
    )


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page):
    text = (guide.DOCS / page).read_text(encoding="utf-8")
    for target in LINK.findall(text):
        if not target.startswith("http"):
            assert (guide.DOCS / target).exists(), target


def test_every_page_is_reached_from_the_guide():
    text = (guide.DOCS / "guide.md").read_text(encoding="utf-8")
    text += (guide.DOCS / "commands.md").read_text(encoding="utf-8")
    for page in set(PAGES) - {"guide.md"}:
        assert page in text, page


def test_every_command_is_documented():
    text = (guide.DOCS / "commands.md").read_text() + (guide.DOCS / "guide.md").read_text()
    for name in main.commands:
        assert f"`netlab {name}" in text, name
