"""Notebooks in git have no outputs and no traces of an execution."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]


def tracked_notebooks() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.ipynb"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\0") if name]


@pytest.mark.parametrize("name", tracked_notebooks())
def test_a_notebook_has_no_output_and_is_valid(name):
    notebook = nbformat.read(ROOT / name, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs"), cell.source[:60]
        assert cell.get("execution_count") is None, cell.source[:60]
        assert not {"papermill", "execution", "scrolled", "collapsed"} & set(cell.metadata)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}


@pytest.mark.parametrize("name", tracked_notebooks())
def test_a_notebook_begins_with_words_and_keeps_its_cells_short(name):
    notebook = nbformat.read(ROOT / name, as_version=nbformat.NO_CONVERT)
    assert notebook.cells[0].cell_type == "markdown"
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", ()):
            assert len(cell.source.splitlines()) <= 10, cell.source[:60]


def test_there_is_one_notebook_to_start_with():
    assert "notebooks/00-start-here.ipynb" in tracked_notebooks()
