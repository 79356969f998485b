"""The notebook of a study with further factors, executed as papermill does."""

import shutil

import numpy as np
import pytest
import synthetic
from notebook_page import executed_page

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.files.paths import data_dir
from netlab.report.front import picture
from netlab.report.pages import measured_pages
from netlab.report.publish import measured_notebooks
from netlab.results.frames import frame_of
from netlab.study.file import freeze
from netlab.study.published import Published
from netlab.study.schedule import visits

NOTEBOOK = data_dir().parent / "notebooks" / "19-factors.ipynb"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Results of the SC 2003 study, made up: goodput grows with the record and the burst."""
    directory = tmp_path_factory.mktemp("sc") / "r"
    study = studies.load(data_dir() / "studies" / "sc-2003.yml", rounds=2)
    rng, digest, rows = np.random.default_rng(3), study.digest(), []
    for block in visits(study):
        for run in block.runs:
            at = dict(run.levels)
            value = 100 * (at["record_length_B"] / 1024) ** 0.3 * rng.normal(1, 0.01)
            value *= 1.5 if at["read_burst_B"] == 4096 else 1
            row = synthetic.record(study, digest, block, run, rng, (value, "CPU"))
            rows.append(row | {"factors": run.factors})
    synthetic.store_of(directory, study, frame_of(rows))
    freeze(study, directory)
    return directory


def test_it_shows_the_factors_in_tables_and_charts(store, tmp_path):
    page = executed_page(NOTEBOOK, tmp_path, results=store)
    assert "record length, B by MTU" in page and "smp, up" in page
    assert page.count("<figure") == 3


def test_a_report_of_such_a_study_has_it_and_shows_the_largest_factors(store):
    measured = load_measured(store)
    assert measured_notebooks(measured) == (NOTEBOOK.name,)
    pages = {page.file: page for page in measured_pages(measured)}
    assert "record length, B by" in pages["tables.html"].body
    assert "<figure" in picture(measured)._repr_html_()
    assert (measured.cells["n_valid"] > 0).all()


def test_a_published_table_stands_beside_the_results_in_a_notebook(store, tmp_path):
    cells = [
        {"record_length_B": size, "mtu_B": mtu_B, "kernel": "up", "goodput_MBps": 0.3 * size**0.3}
        for size in (1024, 8192, 16384)
        for mtu_B in (8160, 9000)
    ]
    study = studies.load(data_dir() / "studies" / "sc-2003.yml", rounds=2)
    table = Published(title="Theirs", source="A paper", cells=tuple(cells))
    shutil.copytree(store, tmp_path / "r")
    freeze(study.model_copy(update={"published": table}), tmp_path / "r")
    beside = NOTEBOOK.with_name("20-published-beside.ipynb")
    page = executed_page(beside, tmp_path, results=tmp_path / "r")
    assert "Theirs: published and measured" in page and "1024 to 8192" in page
    assert "holds" in page
