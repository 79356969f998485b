"""The notebook of agreement, executed as papermill does, and which studies show it."""

import nbformat
import synthetic
from notebook_page import executed_page

from netlab import study as studies
from netlab.analysis.measured import from_frames
from netlab.files.paths import data_dir
from netlab.report.publish import AGREEMENT, measured_notebooks

NOTEBOOK = data_dir().parent / "notebooks" / "16-agreement.ipynb"


def value(_study, group, _tuning, mtu_B, streams):
    return 100.0 + mtu_B / 1000 + streams + 30 * (group.generator == "nuttcp"), "link"


def shown(tmp_path, results, study, **more):
    return executed_page(NOTEBOOK, tmp_path, drawn=None, results=results, study=study, **more)


def test_results_are_compared_within_the_bound_that_is_given(tmp_path):
    quick = studies.load(data_dir() / "studies" / "agreement.yml", quick=True, rounds=3)
    synthetic.store_of(tmp_path / "store", quick, synthetic.runs_of(quick, value=value))
    page = shown(tmp_path, tmp_path / "store", "agreement", bound_percent=60)
    assert page.count("<figure") == 2
    assert "of 12 comparisons" in page and "the same within 60 %" in page
    assert "<strong>the same</strong>" in page


def test_a_study_of_one_generator_says_so_and_does_not_fail(tmp_path):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    page = shown(tmp_path, tmp_path / "store", tmp_path / "two-racks.yml")
    assert "No cell of this study has valid runs of two generators" in page
    assert "<figure" not in page and "<script>" not in page


def test_only_a_study_of_several_generators_shows_it_in_its_site(tmp_path):
    agreement = studies.load(data_dir() / "studies" / "agreement.yml", quick=True)
    several = from_frames(agreement, synthetic.runs_of(agreement, value=value), None, None)
    assert AGREEMENT in measured_notebooks(several)
    openlab = synthetic.openlab()
    alone = from_frames(openlab, synthetic.runs_of(openlab), None, None)
    assert AGREEMENT not in measured_notebooks(alone)


def test_the_notebook_opens_with_what_it_shows_and_has_its_parameters():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for promise in ("**What you learn.**", "**Where the figures come from.**", "**What it touches"):
        assert promise in notebook.cells[0].source
    (parameters,) = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    assert 'results = ""\nstudy = "agreement"' in parameters.source
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(not c.outputs and len(c.source.splitlines()) <= 12 for c in code)
