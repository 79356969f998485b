"""The notebooks are copied to work in; what somebody changed there is not overwritten."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from netlab.cli import main
from netlab.files import paths


def notebooks(*argv: str) -> Result:
    return CliRunner().invoke(main, ["notebooks", *argv])


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_all_notebooks_and_their_images_are_copied(tmp_path):
    done = notebooks()
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "notebooks") in done.output
    shipped = paths.notebooks_dir()
    names = {path.name for path in shipped.glob("*.ipynb")}
    assert "00-start-here.ipynb" in names
    assert {path.name for path in (tmp_path / "notebooks").glob("*.ipynb")} == names
    for name in (*names, "images/report.png"):
        assert (tmp_path / "notebooks" / name).read_bytes() == (shipped / name).read_bytes()


def test_a_directory_can_be_named_and_a_second_copy_is_a_no_op(tmp_path):
    assert [notebooks("deep/work").exit_code for _ in range(2)] == [0, 0]
    assert (tmp_path / "deep" / "work" / "00-start-here.ipynb").is_file()


def test_a_changed_notebook_prevents_the_copy(tmp_path):
    there = tmp_path / "notebooks"
    there.mkdir()
    (there / "01-run-study.ipynb").write_text("mine")
    done = notebooks()
    assert done.exit_code == 2
    assert "01-run-study.ipynb" in done.output and "--force" in done.output
    assert [path.name for path in there.iterdir()] == ["01-run-study.ipynb"]
    assert (there / "01-run-study.ipynb").read_text() == "mine"
    assert notebooks("--force").exit_code == 0
    assert (there / "01-run-study.ipynb").read_text() != "mine"


def test_the_notebooks_are_not_copied_onto_themselves():
    done = notebooks(str(paths.notebooks_dir()))
    assert done.exit_code == 2 and "already" in done.output


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "notebooks").write_text("a file")
    assert notebooks().exit_code == 2
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "images").write_text("a file")
    done = notebooks("work")
    assert done.exit_code == 1 and "Traceback" not in done.output
    assert "cannot write" in done.output


def test_kept_notebooks_stay_and_missing_ones_are_copied(tmp_path):
    there = tmp_path / "work"
    there.mkdir()
    (there / "01-run-study.ipynb").write_text("mine")
    assert notebooks("work", "--keep").exit_code == 0
    assert (there / "01-run-study.ipynb").read_text() == "mine"
    shipped = paths.notebooks_dir() / "00-start-here.ipynb"
    assert (there / "00-start-here.ipynb").read_bytes() == shipped.read_bytes()


def test_make_notebook_opens_a_copy_that_git_ignores():
    """Running and saving it so leaves the checkout clean."""
    root = Path(__file__).resolve().parents[2]
    asked = subprocess.run(
        ("make", "-n", "notebook"), cwd=root, capture_output=True, text=True, check=True
    )
    assert "notebooks work --keep" in asked.stdout and "work/00-start-here.ipynb" in asked.stdout
    ignored = ("git", "check-ignore", "-q", "work/00-start-here.ipynb")
    assert subprocess.run(ignored, cwd=root, check=False).returncode == 0
