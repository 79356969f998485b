"""Notebooks are executed with the parameters they have, and ended when they send no progress."""

from __future__ import annotations

import subprocess
import sys

import nbformat
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from refusals import refused

from netlab.errors import BadInput, NetlabError
from netlab.notebooks import kernel as kernels
from netlab.notebooks.execution import declared, execute, names_checked
from netlab.notebooks.kernel import Kernel
from netlab.notebooks.parameters import check
from netlab.notebooks.silence import SilentNotebook

DEFAULTS = 'study = "openlab"\nrepeats = 3\nseconds = 1.0\nquick = False\nseed: int | None = None'
CHECK = (
    "from netlab.notebooks.parameters import check\n"
    "check(globals(), study=str, repeats=int, seconds=float, quick=bool, seed=(int, type(None)))"
)


def written(tmp_path, *cells):
    path = tmp_path / "n.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


def parameters(source):
    return new_code_cell(source, metadata={"tags": ["other", "parameters"]})


@pytest.fixture
def notebook(tmp_path):
    """A small notebook with five parameters, and a cell after the check that uses them."""
    return written(
        tmp_path,
        new_markdown_cell("A small notebook."),
        parameters(DEFAULTS),
        new_code_cell(CHECK),
        new_code_cell("from pathlib import Path\nstudent = 1  # near a parameter, and none"),
        new_code_cell(CHECK),
        new_code_cell("repeats = 7  # changed by hand, then the check is run again"),
        new_code_cell(CHECK),
        new_code_cell("print(study, repeats, seconds, quick, seed)"),
    )


def run(notebook, **given):
    """Execute with papermill itself; what it returns is the executed notebook."""
    return papermill.execute_notebook(
        str(notebook),
        str(notebook.with_name("out.ipynb")),
        parameters=given,
        progress_bar=False,
        kernel_name="python3",
        language="python",
    )


def test_papermill_sets_parameters_and_the_check_may_be_run_again_later(notebook):
    executed = run(notebook, seconds=2, seed=5)
    assert executed.cells[-1].outputs[0].text == "openlab 7 2 False 5\n"


def test_a_name_that_papermill_only_warns_of_fails_the_notebook(notebook):
    with pytest.raises(papermill.PapermillExecutionError) as caught:
        run(notebook, repaets=5)
    assert caught.value.ename == "BadInput"
    assert caught.value.evalue.startswith("parameters: repaets: the notebook has no such parameter")
    assert caught.value.evalue.endswith("did you mean 'repeats'?")


TEXT, FLOAT = (str, type(None)), (float, type(None))


@pytest.mark.parametrize(
    ("kind", "taken", "refused", "wanted"),
    [
        (int, [1], [True, 1.0, "1", None], "int"),
        (float, [1.5, 1], [True, "1.5"], "float"),
        (str, [""], [5], "str"),
        (bool, [True], [1], "bool"),
        (TEXT, [None], [5], "str or None"),
        (FLOAT, [2, None], [False], "float or None"),
        ((int, bool), [True], [], ""),
        (list, [[1]], [], ""),
    ],
)
def test_a_value_of_its_kind_is_taken_and_another_refused(kind, taken, refused, wanted):
    for value in taken:
        check({"a": value}, a=kind)
    for value in refused:
        with pytest.raises(BadInput, match=f"parameters: a: must be {wanted}") as caught:
            check({"a": value}, a=kind)
        assert caught.value.value is value


def test_texts_of_papermills_p_are_taken_as_switches_and_y_is_named_for_the_rest():
    for text, value in (("true", True), ("false", False)):
        check(namespace := {"a": text}, a=bool)
        assert namespace["a"] is value
    check(namespace := {"a": "false"}, a=str)
    assert namespace["a"] == "false"
    with pytest.raises(BadInput, match=r"must be list; papermill .* by -y, such as -y 'a: \["):
        check({"a": "[1, 4]"}, a=list)


def test_papermills_command_sets_a_switch(notebook, tmp_path):
    out = tmp_path / "out.ipynb"
    cli = [
        sys.executable,
        "-m",
        "papermill",
        str(notebook),
        str(out),
        "-k",
        "python3",
        "--language",
        "python",
    ]
    for words in (["-p", "quick", "true"], ["-y", "quick: true"]):
        done = subprocess.run([*cli, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert nbformat.read(out, 4).cells[-1].outputs[0].text == "openlab 7 1.0 True None\n"


def test_a_parameter_that_is_gone_is_refused():
    with pytest.raises(BadInput, match="parameters: a: the parameter is missing"):
        check({}, a=int)


def test_only_the_cell_of_papermill_is_validated():
    history = ["", "b = 2", "# Parameters\na = 1\n"]
    check({"In": history, "a": 1, "b": 2}, a=int)
    check({"In": ["# Parameters of the plot\n%matplotlib inline"], "a": 1}, a=int)
    with pytest.raises(BadInput, match="parameters: b: the notebook has no such parameter"):
        check({"In": [*history, "# Parameters\na = 1\nb = 2\n"], "a": 1, "b": 2}, a=int)


def test_names_are_read_from_the_tagged_cell_and_known_ones_pass(notebook, tmp_path):
    assert declared(notebook) == {"study", "repeats", "seconds", "quick", "seed"}
    assert names_checked(notebook, {"repeats": 1, "study": "x"}) == {"repeats": 1, "study": "x"}
    assert names_checked(notebook, {}) == {}
    source = "a, (b, *c) = 1, (2, 3)\nd = e = 4\nf.g = 5\nh[i] = 6\nif True:\n    j = 7"
    assert declared(written(tmp_path, parameters(source))) == {"a", "b", "c", "d", "e"}
    bare = written(tmp_path, new_code_cell("a = 1"))
    assert declared(bare) == frozenset()
    with pytest.raises(BadInput, match="it has none"):
        names_checked(bare, {"a": 1})


EVIL = ["__import__", "", "1a", "a=1;import os", "repeats\nimport os", "repeats ", "In", None, 5]


@pytest.mark.parametrize("name", EVIL, ids=repr)
def test_an_unknown_parameter_never_reaches_papermill(notebook, name):
    with pytest.raises(BadInput) as caught:
        names_checked(notebook, {name: 1})
    assert str(notebook) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read_or_parsed_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.ipynb"):
        with pytest.raises(BadInput, match="cannot be read"):
            declared(path)
    with pytest.raises(BadInput, match="is not plain Python"):
        declared(written(tmp_path, parameters("%time a = 1")))


LISTEN = "from netlab.notebooks import progress; progress.listen()"
ASLEEP = "import time\ndef asleep():\n    time.sleep(600)\nasleep()"
DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
STOPPED = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"


def made(tmp_path, code, on_progress=None, silence_s=1.0):
    output = tmp_path / "out.ipynb"
    with Kernel(LISTEN) as kernel:
        how = {"kernel": kernel, "on_progress": on_progress, "silence_s": silence_s}
        execute(written(tmp_path, parameters("x = 1"), new_code_cell(code)), output, {}, **how)


@pytest.mark.parametrize(
    ("code", "stacks"),
    [(ASLEEP, "in asleep"), (DEAF + ASLEEP, "in asleep"), (STOPPED, "")],
    ids=["interrupted", "killed", "stopped"],
)
def test_a_silent_notebook_is_ended_and_its_stacks_are_saved(tmp_path, monkeypatch, code, stacks):
    """A stopped process can write none."""
    monkeypatch.setattr(kernels, "INTERRUPT_S", 1.0)
    with refused(SilentNotebook, "E-NOTEBOOKS-016", match="no progress for 1 s"):
        made(tmp_path, code)
    saved = (tmp_path / "out.silent.txt").read_text()
    assert stacks in saved and bool(saved) == bool(stacks)
    assert not (tmp_path / "out.ipynb").exists()


def test_progress_starts_the_time_anew(tmp_path):
    code = "import time\nfor i in range(9):\n    time.sleep(0.4)\n    progress.announce(str(i))"
    messages = []
    made(tmp_path, f"from netlab.notebooks import progress\n{code}", messages.append, 3.0)
    assert messages == [str(i) for i in range(9)]
    assert (tmp_path / "out.ipynb").exists()


def test_code_outside_a_notebook_is_bounded_too(monkeypatch):
    monkeypatch.setattr(kernels, "CODE_S", 0.5)
    with Kernel() as kernel, refused(NetlabError, "E-NOTEBOOKS-015"):
        kernel.execute("import time; time.sleep(5)")
