"""The notebook of measured results, executed as papermill does."""

import nbformat
import papermill
import pytest
import synthetic
from notebook_page import executed_page

from netlab.files.paths import data_dir

NOTEBOOK = data_dir().parent / "notebooks" / "03-openlab-measured.ipynb"


def test_a_study_with_nothing_of_2003_comes_out_right(tmp_path):
    """One group without a table, one MTU, one tuning, one repeat, no bus."""
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    where = {"results": tmp_path / "store", "study": tmp_path / "two-racks.yml"}
    shown = executed_page(NOTEBOOK, tmp_path, **where)
    assert "as-found" in shown and "64 Streams" in shown
    assert "<script>" not in shown and "<b>left" not in shown
    assert "No group of this study states a target." in shown
    assert "interval from batch means" in shown


def test_missing_results_stop_it_with_a_clear_message(tmp_path):
    with pytest.raises(papermill.PapermillExecutionError, match="measure the study first"):
        where = {"results": tmp_path / "nowhere", "study": synthetic.openlab_file()}
        executed_page(NOTEBOOK, tmp_path, **where)


def test_the_notebook_is_stored_without_outputs_and_in_short_cells():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert all(len(cell.source.splitlines()) <= 10 for cell in code)
    assert [c.metadata.get("tags") for c in code].count(["parameters"]) == 1
    assert notebook.cells[0].cell_type == "markdown" and "learn" in notebook.cells[0].source
