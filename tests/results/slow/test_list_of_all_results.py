"""`netlab results list` without a name: the campaigns of every directory of results."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import face_home
import pytest
from click.testing import CliRunner

from netlab.cli import main, options
from netlab.files import paths


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """The lines that the command prints, and its notes, in a home of the test's own."""
    face_home.home_at(tmp_path, monkeypatch)

    def run(*words: str) -> tuple[list[str], list[str]]:
        notes: list[str] = []
        monkeypatch.setattr(options, "note", notes.append)
        done = CliRunner().invoke(main, ["results", "list", *words])
        assert done.exit_code == 0, done.output
        return done.output.splitlines(), notes

    return run


def example(name: str, target: str) -> list[str]:
    """Copy an example into the results under a name; the ids of its campaigns."""
    shutil.copytree(paths.example(name), paths.results_dir(target))
    return sorted(file.parent.name for file in paths.results_dir(target).glob("campaigns/*/*.json"))


def test_all_results_are_listed_by_their_directory_with_a_row_for_each_campaign(listed):
    assert listed() == ([], [f"{paths.results_root()} has no results"])
    ids = set(example("agreement", "mine")) | set(example("bufferbloat", "other-quick"))
    paths.results_dir("calibration").mkdir()
    (head, *rows), notes = listed()
    assert notes == [f"{paths.results_root()} has these results"]
    assert head.split()[:2] == ["results", "campaign"]
    assert [row.split()[0] for row in rows] == ["mine", "other-quick"]
    assert {row.split()[1] for row in rows} == ids
    # the other columns are those of each one's own list
    for row in rows:
        name, rest = row.split(maxsplit=1)
        (_, own), _ = listed(name)
        assert own.split() == rest.split()
    assert [row.split()[0] for row in listed("--quick")[0][1:]] == ["other-quick"]


def test_results_that_cannot_be_read_are_named_and_the_others_listed(listed):
    example("agreement", "mine")
    example("bufferbloat", "broken")
    for log in paths.results_dir("broken").glob("campaigns/*/campaign.json"):
        log.write_text("{")
    (_, row), (_, note) = listed()
    assert row.startswith("mine ") and note.startswith("left out broken: ")
    assert "E-RESULTS-011" in note


@pytest.mark.parametrize(("of", "name"), [(Path, "is_file"), (os, "listdir")])
def test_results_of_another_user_are_named_and_the_others_listed(listed, monkeypatch, of, name):
    example("agreement", "mine")
    example("bufferbloat", "closed")
    read = getattr(of, name)

    def checked(place):
        # root, as which tests run, reads every directory
        if "closed" in Path(place).parts and Path(place).name in ("study.yml", "runs"):
            raise PermissionError(13, "Permission denied", str(place))
        return read(place)

    monkeypatch.setattr(of, name, checked)
    (_, row), (_, note) = listed()
    assert row.startswith("mine ") and note.startswith("left out closed: ")
