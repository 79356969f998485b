"""The notebook of then and now, executed as papermill does."""

import nbformat
import papermill
import pytest
import synthetic
from notebook_page import executed_page

from netlab import study as studies
from netlab.files.paths import data_dir

NOTEBOOK = data_dir().parent / "notebooks" / "15-then-and-now.ipynb"


def _shown(tmp_path, results, study):
    return executed_page(NOTEBOOK, tmp_path, drawn=None, results=results, study=study)


def test_quick_results_stand_beside_2003(tmp_path):
    quick = studies.load(synthetic.openlab_file(), quick=True)
    change = synthetic.only(path=("64-64",), streams=(1, 20))
    synthetic.store_of(tmp_path / "store", quick, synthetic.runs_of(quick, change=change))
    shown = _shown(tmp_path, tmp_path / "store", "openlab-2003")
    assert "openlab-2003-quick" in shown and "28 of the 140 cells" in shown
    assert shown.count("<figure") == 3 + 6 + 4 + 6 + 4 + 1
    assert "<strong>holds</strong>" in shown and "Do not hold" in shown
    for factor in ("Jumbo frames", "Stream count", "Tuning", "Direction"):
        assert f"{factor}, then and now" in shown


def test_a_study_with_nothing_of_2003_says_so_and_does_not_fail(tmp_path):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    shown = _shown(tmp_path, tmp_path / "store", tmp_path / "two-racks.yml")
    assert "There is nothing to compare with 2003: no group of this study states" in shown
    assert "<figure" not in shown and "<table" not in shown and "<script>" not in shown


def test_missing_results_stop_it_with_a_clear_message(tmp_path):
    with pytest.raises(papermill.PapermillExecutionError, match="measure the study first"):
        _shown(tmp_path, tmp_path / "nowhere", "openlab-2003")


def test_the_notebook_opens_with_what_it_shows_and_has_its_parameters():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for promise in ("**What you learn.**", "**Where the figures come from.**", "**What it touches"):
        assert promise in notebook.cells[0].source
    (parameters,) = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    assert 'results = ""\nstudy = "openlab-2003"' in parameters.source
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(not c.outputs and len(c.source.splitlines()) <= 12 for c in code)
