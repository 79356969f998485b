"""The notebook of a comparison, executed as papermill does."""

import pytest
import synthetic
from notebook_page import executed_page

from netlab import study as studies
from netlab.files.paths import data_dir
from netlab.report import publish
from netlab.study.file import freeze

NOTEBOOK = data_dir().parent / "notebooks" / "18-compare.ipynb"


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    base = tmp_path_factory.mktemp("stores")
    study = studies.load(synthetic.openlab_file(), rounds=3)
    for name, seed in (("a", 1), ("b", 2)):
        synthetic.store_of(base / name, study, synthetic.runs_of(study, seed=seed, noise=0.001))
        freeze(study, base / name)
    return base


@pytest.mark.parametrize(
    ("parameters", "charts"), [({"b": "b"}, 5), ({"by": "tuning", "levels": "none,full"}, 1)]
)
def test_it_shows_differences_effects_and_every_cell(stores, tmp_path, parameters, charts):
    given = {key: stores / value if key == "b" else value for key, value in parameters.items()}
    page = executed_page(NOTEBOOK, tmp_path, a=stores / "a", **given)
    assert "geometric mean" in page and "Cell by cell" in page
    assert page.count("<figure") == charts


def test_a_report_against_other_results_executes_it_with_both(stores, tmp_path):
    measured = publish.load_measured(stores / "b")

    def parameters(against):
        jobs = publish._jobs(measured, tmp_path / "study.yml", against, (), tmp_path)
        return {job.source.name: job.parameters for job in jobs}

    sides = {"a": str(stores / "a"), "b": str(stores / "b")}
    assert parameters(str(stores / "a"))[NOTEBOOK.name] == sides
    assert NOTEBOOK.name not in parameters("")
