"""A search replaces the files of a search alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from search.autotune.simulated import Simulated, tuned

from netlab.cli.main import main
from netlab.errors import NetlabError
from netlab.search.autotune import searching

STUDY = "# my study\nnetlab: 1\n"
FRAGMENT = "# netlab 0.1.0 autotune, 2026-01-01T00:00:00Z, agent 1234\ngroups: []\n"


@pytest.fixture
def begun(monkeypatch):
    """Searches that would have reached the hosts."""
    asked = []

    def begin(ask, **_options):
        asked.append(ask)
        raise NetlabError("begun", code="E-AUTOTUNE-015")

    monkeypatch.setattr(searching, "autotune", begin)
    return asked


def search(output: Path) -> Result:
    return CliRunner().invoke(main, ("autotune", "lab", "--output", str(output)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("best.yml", STUDY),
        ("best.yml", ""),
        ("best.json", json.dumps({"mine": 1})),
        ("best.json", "no JSON"),
        ("best.no-conclusion.json", "[]"),
    ],
)
def test_a_file_that_no_search_wrote_is_refused_before_the_hosts_are_reached(
    tmp_path, begun, name, content
):
    (tmp_path / name).write_text(content)
    done = search(tmp_path / "best.yml")
    assert done.exit_code == 2 and not begun
    assert f"{tmp_path / name}" in done.output and "not a file of netlab autotune" in done.output
    assert (tmp_path / name).read_text() == content


def test_the_files_of_a_search_are_replaced(tmp_path, begun):
    (tmp_path / "best.yml").write_text(FRAGMENT)
    (tmp_path / "best.json").write_text(json.dumps({"netlab_autotune": 1}))
    assert search(tmp_path / "best.yml").exit_code == 1 and len(begun) == 1


def test_a_search_without_conclusion_leaves_the_runs_of_the_winner_beside_it(tmp_path, monkeypatch):
    target = tmp_path / "best.yml"
    found = [tuned(), tuned(Simulated(spoil=lambda *_: "interference"))]
    monkeypatch.setattr(searching, "autotune", lambda *_arguments, **_options: found.pop(0))
    assert search(target).exit_code == 0
    before = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert set(before) == {"best.yml", "best.json"}
    done = search(target)
    assert done.exit_code == 1 and "best.no-conclusion.json" in done.output
    assert {file.name: file.read_text() for file in tmp_path.iterdir()}.items() > before.items()
