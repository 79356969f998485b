"""Notebooks of a report: those that apply, those a study names, and copies that are reused."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import nbformat
import pyarrow.parquet
import pytest
import synthetic
from nbformat import v4

from netlab.errors import NetlabError
from netlab.files import paths
from netlab.report import execution, kept, publish, site
from netlab.report.execution import Executions, Job
from netlab.study import load
from netlab.study.frozen import freeze
from netlab.study.schedule import rounds


@pytest.fixture
def foreign(tmp_path):
    """Results of a study that repeats nothing of 2003."""
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    freeze(study, tmp_path / "store")
    return publish.load_measured(tmp_path / "store")


def jobs_of(measured, named=(), package="p", records="r"):
    folder = measured.results / execution.EXECUTED
    study = measured.results / "study.yml"
    return list(publish._jobs(measured, study, "", named, package, records, folder))


def names(jobs):
    return [job.source.name for job in jobs]


def test_a_study_without_2003_has_no_page_of_2003(foreign, tmp_path):
    assert publish.report_of(foreign.study) is None
    jobs = jobs_of(foreign)
    assert names(jobs) == ["03-openlab-measured.ipynb"]


def test_results_from_before_a_study_could_name_notebooks_take_those_of_its_file():
    study = load(paths.study_file("openlab-2003"), quick=True)
    before = study.model_copy(update={"report": None})
    assert publish.report_of(before) == study.report


def test_a_notebook_gets_the_parameters_that_it_has(foreign, tmp_path):
    cells = [v4.new_code_cell('results = ""', metadata={"tags": ["parameters"]})]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "mine.ipynb")
    named = (tmp_path / "mine.ipynb", paths.notebook("14-claims.ipynb"))
    own, claims = jobs_of(foreign, named)[1:]
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

    def job(package="p", records="r"):
        (found,) = jobs_of(foreign, (), package, records)
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
    assert not job(records="others").is_made


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

        def __init__(self, shared):
            self.shared = shared
            self.code = []
            Kernel.made.append(self)

        def execute(self, code):
            self.code.append(code)

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
    with Executions(2) as running:
        running.add(jobs, lambda job: done.append((job, threading.current_thread())))
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
    with pytest.raises(NetlabError, match="a cell failed"), Executions(2) as running:
        running.add(jobs)
        running.wait()
    assert len(begun) <= 4 and kernels.open == 0


def test_an_error_of_the_block_leaves_the_rest_out(tmp_path, monkeypatch, kernels):
    monkeypatch.setattr(execution, "execute", lambda *_given, kernel: None)
    jobs = [Job(tmp_path / f"{i}.ipynb", tmp_path / f"{i}.out") for i in range(3)]
    with pytest.raises(ZeroDivisionError), Executions(2) as running:
        running.add(jobs)
        raise ZeroDivisionError
    assert kernels.open == 0


def test_a_kernel_starts_before_the_notebooks_are_known(tmp_path, monkeypatch, kernels):
    used = []
    monkeypatch.setattr(execution, "execute", lambda *_given, kernel: used.append(kernel))
    with Executions(1) as running:
        running.start(tmp_path, tmp_path / "study.yml")
        running.add([Job(tmp_path / "0.ipynb", tmp_path / "0.out")])
        running.wait()
    assert used == kernels.made and len(used) == 1
    assert used[0].shared.arguments == (str(tmp_path), str(tmp_path / "study.yml"))


def test_one_cpu_of_each_machine_is_left_for_the_pages(monkeypatch):
    monkeypatch.setattr(execution, "running", lambda: None)
    for cpus, kernels in ((1, 1), (2, 1), (3, 2), (64, 2)):
        monkeypatch.setattr(execution.os, "sched_getaffinity", lambda _pid, n=cpus: set(range(n)))
        assert execution.at_once() == kernels


@pytest.fixture
def made(monkeypatch, kernels):
    """Notebooks executed, notebooks rendered, and page makers called by :func:`publish.publish`."""
    names: list[str] = []
    number = itertools.count()

    def execute(source, output, parameters, *, kernel):
        names.append(source.name)
        output.parent.mkdir(parents=True, exist_ok=True)
        content = nbformat.read(source, as_version=4)
        content.metadata["made"] = next(number)
        nbformat.write(content, output)

    def counted(module, name):
        own = getattr(module, name)

        def called(*arguments):
            path = arguments[0]
            names.append(path.name if isinstance(path, Path) else name)
            return own(*arguments)

        monkeypatch.setattr(module, name, called)

    monkeypatch.setattr(execution, "execute", execute)
    counted(kept, "render")
    for name in ("measured_pages", "run_pages", "picture"):
        counted(site, name)
    return names


def test_pages_that_did_not_change_are_not_made_again(tmp_path, made, kernels):
    study = synthetic.foreign(tmp_path)
    store = tmp_path / "store"
    synthetic.store_of(store, study)
    freeze(study, store)
    block = rounds(study)[0][0].block_id
    visit = store / publish.EXECUTED / f"20260101T000000Z~{block}@r1.ipynb"
    visit.parent.mkdir()
    nbformat.write(v4.new_notebook(cells=[v4.new_markdown_cell("# Block")]), visit)
    own = ["03-openlab-measured.ipynb"]
    of_records = ["measured_pages", "picture", "run_pages"]

    renders = []

    def published(**options):
        made.clear()
        kernels.made.clear()
        publish.publish(store, tmp_path / "site", data_only=True, dated=False, **options)
        renders[:] = [code for kernel in kernels.made for code in kernel.code]
        pages = {file.name: file.read_bytes() for file in (tmp_path / "site").glob("*.html")}
        return sorted(made), pages

    everything = sorted([*own, *own, visit.name, *of_records])
    first, pages = published()
    assert first == everything, "each notebook executed and rendered, each page made"
    assert "RenderedPages" in renders[0], "a kernel has rendered what it executed"
    assert published() == ([], pages) and not kernels.made
    (record,) = (store / "runs").glob("*.parquet")
    runs = pyarrow.parquet.read_table(record)
    pyarrow.parquet.write_table(runs, record, compression="none")
    assert published()[0] == sorted([*own, *own, *of_records]), "the block's page is reused"
    assert published(reuse=False)[0] == sorted(own + of_records), "a page is rendered elsewhere"
    assert published()[0] == own, "its notebook is another one"


def test_a_notebook_is_waited_for_alone_while_the_next_one_runs(tmp_path, monkeypatch, kernels):
    go_on = threading.Event()

    def execute(source, output, parameters, *, kernel):
        assert source.stem == "0" or go_on.wait(10)

    monkeypatch.setattr(execution, "execute", execute)
    done = []
    jobs = [Job(tmp_path / f"{i}.ipynb", tmp_path / f"{i}.out") for i in range(2)]
    with Executions(1) as running:
        running.add(jobs, done.append)
        running.wait(jobs[0].output)
        assert done == jobs[:1]
        go_on.set()
        running.wait(jobs[1].output)
        running.wait(jobs[0].output)
    assert done == jobs


def test_a_kernel_loads_early_only_where_the_records_changed(foreign, kernels):
    directory = foreign.results
    with execution.begun(directory):
        pass
    (kernel,) = kernels.made
    assert kernel.shared.arguments[0] == str(directory)
    folder = execution.rendered(directory)
    folder.mkdir(parents=True)
    (folder / execution.LAST).write_text(execution.inputs_of(directory))
    with execution.begun(directory):
        pass
    assert len(kernels.made) == 1
    with execution.begun(directory, reuse=False), execution.begun(directory / "none"):
        pass
    assert len(kernels.made) == 2
