"""Notebooks of a report: those that apply, those a study names, and one kernel for all."""

from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest
import synthetic
from nbformat import v4

from netlab.analysis.measured import load_measured
from netlab.errors import NetlabError
from netlab.files import paths
from netlab.notebooks.kernel import Kernel
from netlab.report import publishing
from netlab.report.publishing import Executions
from netlab.study import load
from netlab.study.frozen import freeze


@pytest.fixture
def foreign(tmp_path):
    """Results of a study that repeats nothing of 2003."""
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    freeze(study, tmp_path / "store")
    return load_measured(tmp_path / "store")


def wanted(measured, named=()):
    return publishing._wanted(measured, measured.results / "study.yml", "", named)


def test_a_study_without_2003_has_no_page_of_2003(foreign, tmp_path):
    assert publishing.report_of(foreign.study) is None
    assert [source.name for source in wanted(foreign)] == ["03-openlab-measured.ipynb"]


def test_results_from_before_a_study_could_name_notebooks_take_those_of_its_file():
    study = load(paths.study_file("openlab-2003"), quick=True)
    before = study.model_copy(update={"report": None})
    assert publishing.report_of(before) == study.report


def test_a_notebook_gets_the_parameters_that_it_has(foreign, tmp_path):
    cells = [v4.new_code_cell('results = ""', metadata={"tags": ["parameters"]})]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "mine.ipynb")
    named = (tmp_path / "mine.ipynb", paths.notebook("14-claims.ipynb"))
    own, claims = [*wanted(foreign, named).values()][1:]
    assert own == {"results": str(tmp_path / "store")} and claims == {}


def notebook(path, *sources):
    cells = [v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    language = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=language), path)
    return path


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Makes a job of some cells, whose last prints; kernels of jobs import no chart."""
    monkeypatch.setattr(publishing, "PREPARE", "")

    def make(name, *sources):
        source = notebook(tmp_path / f"{name}.ipynb", "level = 0", *sources)
        return source, tmp_path / "out" / f"{name}.ipynb", {"level": 7}

    return make


def printed(job):
    return nbformat.read(job[1], as_version=4).cells[-1].outputs[0].text.split()


PID = "import os; print(os.getpid(), level, 'left' in globals())"


def test_notebooks_share_a_kernel_and_nothing_else(job):
    first, second = job("first", "left = 1", PID), job("second", PID)
    with Executions() as running:
        running.add(*first)
        running.add(*second)
        running.wait(second[1])
    (pid, level, left), (same, again, other) = printed(first), printed(second)
    assert pid == same and level == again == "7"
    assert (left, other) == ("True", "False")


def test_a_notebook_that_fails_or_ends_its_kernel_does_not_spoil_the_next(job):
    fails, ends = (
        job("fails", "left = 1", "1 / 0"),
        job("ends", "import os; os.kill(os.getpid(), 9)"),
    )
    first, after, last = job("first", PID), job("after", PID), job("last", PID)
    with Executions() as running:
        for each in (first, fails, after, ends, last):
            running.add(*each)
        with pytest.raises(NetlabError, match="ZeroDivisionError"):
            running.wait(fails[1])
        with pytest.raises(NetlabError, match="died"):
            running.wait(ends[1])
        running.wait(last[1])
    assert printed(first)[0] == printed(after)[0] != printed(last)[0]
    assert printed(after)[2] == printed(last)[2] == "False"


def test_an_error_of_the_block_leaves_the_rest_out(job, tmp_path):
    jobs = [job(f"{number}", PID) for number in range(20)]
    with pytest.raises(ZeroDivisionError), Executions() as running:
        for each in jobs:
            running.add(*each)
        raise ZeroDivisionError
    assert not jobs[-1][1].exists()


def test_a_kernel_that_cannot_start_is_the_error_of_the_first_notebook(job, monkeypatch):
    def refused(kernel):
        raise NetlabError("no kernel")

    monkeypatch.setattr(Kernel, "__enter__", refused)
    only = job("only", PID)
    with pytest.raises(NetlabError, match="no kernel"), Executions() as running:
        running.add(*only)
        running.wait(only[1])


def test_a_report_is_loaded_without_the_grammar_of_iris():
    code = """
import sys, netlab.report.site
assert "lark" not in sys.modules and "rfc3987_syntax" not in sys.modules
import lark, rfc3987_syntax  # both are installed, and stay usable
"""
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
