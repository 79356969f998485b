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
        timeout=240,
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
