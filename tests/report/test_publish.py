"""Notebooks of a report: those that apply, those a study names, and copies that are reused."""

from __future__ import annotations

import threading

import nbformat
import pytest
import synthetic
from nbformat import v4

from netlab.errors import NetlabError
from netlab.files import paths
from netlab.report import execution, publish
from netlab.report.execution import Executions, Job
from netlab.study import load
from netlab.study.frozen import freeze
from netlab.study.pages import Report


@pytest.fixture
def foreign(tmp_path):
    """Results of a study that repeats nothing of 2003."""
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    freeze(study, tmp_path / "store")
    return publish.load_measured(tmp_path / "store")


def names(jobs):
    return [job.source.name for job in jobs]


def test_a_study_without_2003_has_no_page_of_2003(foreign, tmp_path):
    assert publish.report_of(foreign.study) is None
    jobs = list(publish._jobs(foreign, tmp_path / "study.yml", "", None, "p"))
    assert names(jobs) == ["03-openlab-measured.ipynb"]


def test_results_from_before_a_study_could_name_notebooks_take_those_of_its_file():
    study = load(paths.study_file("openlab-2003"), quick=True)
    before = study.model_copy(update={"report": None})
    assert publish.report_of(before) == study.report


def test_a_notebook_gets_the_parameters_that_it_has(foreign, tmp_path):
    cells = [v4.new_code_cell('results = ""', metadata={"tags": ["parameters"]})]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "mine.ipynb")
    report = Report(notebooks=(str(tmp_path / "mine.ipynb"), "14-claims"))
    own, claims = list(publish._jobs(foreign, tmp_path / "study.yml", "", report, "p"))[1:]
    assert own.parameters == {"results": str(tmp_path / "store")} and not own.inputs
    assert own.output == tmp_path / "store" / "notebooks" / "mine.ipynb"
    assert claims.inputs and claims.parameters == {}
    assert claims.output.parent.parent.name == ".published"


def test_a_notebook_is_made_again_when_its_inputs_change(foreign, tmp_path, monkeypatch):
    made = []

    def execute(source, output, parameters, *, kernel):
        made.append(source.name)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("{}")

    def job(package="p"):
        (found,) = publish._jobs(foreign, tmp_path / "study.yml", "", None, package)
        return found

    monkeypatch.setattr(execution, "execute", execute)
    assert not job().is_made
    job().make(None)
    assert job().is_made and made == ["03-openlab-measured.ipynb"]
    assert not job(package="another").is_made
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    changed = notebooks / "03-openlab-measured.ipynb"
    changed.write_text(paths.notebook(changed.name).read_text() + " ")
    with monkeypatch.context() as patch:
        patch.setattr(paths, "notebook", lambda name: notebooks / name)
        assert not job().is_made
    (record,) = (tmp_path / "store" / "runs").glob("*.parquet")
    record.write_bytes(record.read_bytes() + b" ")
    assert not job().is_made


def test_a_copy_that_is_gone_or_was_interrupted_is_made_again(tmp_path, monkeypatch):
    job = Job(tmp_path / "in.ipynb", tmp_path / "out.ipynb", inputs="digest")
    monkeypatch.setattr(execution, "execute", lambda *_given, kernel: job.output.write_text("{}"))
    job.make(None)
    assert job.is_made

    def interrupted(*_given, kernel):
        raise KeyboardInterrupt

    monkeypatch.setattr(execution, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        job.make(None)
    assert not job.is_made
    assert not Job(job.source, tmp_path / "none.ipynb", inputs="digest").is_made


@pytest.fixture
def kernels(monkeypatch):
    """Kernels that only count: how many there are, and those that are open."""

    class Kernel:
        made, open = [], 0

        def __init__(self, prepare):
            Kernel.made.append(self)

        def __enter__(self):
            Kernel.open += 1
            return self

        def __exit__(self, *_exception):
            Kernel.open -= 1

    monkeypatch.setattr(execution, "Kernel", Kernel)
    return Kernel


def test_notebooks_share_two_kernels_and_are_done_in_the_callers_thread(
    tmp_path, monkeypatch, kernels
):
    both = threading.Barrier(2, timeout=10)

    def execute(source, output, parameters, *, kernel):
        if source.stem in ("0", "1"):
            both.wait()
        assert kernels.open <= 2

    monkeypatch.setattr(execution, "execute", execute)
    done = []
    jobs = [Job(tmp_path / f"{i}.ipynb", tmp_path / f"{i}.out") for i in range(7)]
    with Executions(jobs, lambda job: done.append((job, threading.current_thread()))) as running:
        running.wait()
    assert sorted(names(job for job, _ in done)) == names(jobs)
    assert {thread for _, thread in done} == {threading.current_thread()}
    assert len(kernels.made) == 2 and kernels.open == 0


def test_the_first_error_ends_the_others_that_have_not_begun(tmp_path, monkeypatch, kernels):
    begun = []

    def execute(source, output, parameters, *, kernel):
        begun.append(source.stem)
        raise NetlabError("a cell failed")

    monkeypatch.setattr(execution, "execute", execute)
    jobs = [Job(tmp_path / f"{i}.ipynb", tmp_path / f"{i}.out") for i in range(50)]
    with pytest.raises(NetlabError, match="a cell failed"), Executions(jobs) as running:
        running.wait()
    assert len(begun) <= 4 and kernels.open == 0


def test_an_error_of_the_block_leaves_the_rest_out(tmp_path, monkeypatch, kernels):
    monkeypatch.setattr(execution, "execute", lambda *_given, kernel: None)
    jobs = [Job(tmp_path / f"{i}.ipynb", tmp_path / f"{i}.out") for i in range(3)]
    with pytest.raises(ZeroDivisionError), Executions(jobs):
        raise ZeroDivisionError
    assert kernels.open == 0
