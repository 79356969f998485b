"""A notebook takes the parameters it has, of the kinds it asks for, and no other."""

from __future__ import annotations

import nbformat
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from netlab.errors import BadInput
from netlab.notebooks.execution import declared, names_checked
from netlab.notebooks.parameters import check

DEFAULTS = 'study = "openlab"\nrepeats = 3\nseconds = 1.0\nquick = False\nseed: int | None = None'
CHECK = (
    "from netlab.notebooks.parameters import check\n"
    "check(globals(), study=str, repeats=int, seconds=float, quick=bool, seed=(int, type(None)))"
)


@pytest.fixture
def notebook(tmp_path):
    """A small notebook with five parameters, and a cell after the check that uses them."""
    path = tmp_path / "small.ipynb"
    cells = [
        new_markdown_cell("A small notebook."),
        new_code_cell(DEFAULTS, metadata={"tags": ["parameters"]}),
        new_code_cell(CHECK),
        new_code_cell("from pathlib import Path\nstudent = 1  # near a parameter, and none"),
        new_code_cell(CHECK),
        new_code_cell("repeats = 7  # changed by hand, then the check is run again"),
        new_code_cell(CHECK),
        new_code_cell("print(study, repeats, seconds, quick, seed)"),
    ]
    nbformat.write(new_notebook(cells=cells), path)
    return path


def run(notebook, **parameters):
    """Execute with papermill itself; what it returns is the executed notebook."""
    return papermill.execute_notebook(
        str(notebook),
        str(notebook.with_name("out.ipynb")),
        parameters=parameters,
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


def test_a_value_of_another_type_fails_the_notebook(notebook):
    with pytest.raises(papermill.PapermillExecutionError) as caught:
        run(notebook, repeats="5")
    assert caught.value.evalue == "parameters: repeats: must be int (found '5')"


# The check, over namespaces as a kernel has them.


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, 1),
        (float, 1.5),
        (float, 1),
        (bool, True),
        (str, ""),
        ((str, type(None)), None),
        ((float, type(None)), 2),
        ((int, bool), True),
        (list, [1]),
    ],
)
def test_a_value_of_its_kind_is_taken(kind, value):
    check({"a": value}, a=kind)


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (int, True, "int"),
        (int, 1.0, "int"),
        (int, "1", "int"),
        (int, None, "int"),
        (float, True, "float"),
        (float, "1.5", "float"),
        (str, 5, "str"),
        (bool, 1, "bool"),
        ((str, type(None)), 5, "str or None"),
        ((float, type(None)), False, "float or None"),
    ],
)
def test_a_value_of_another_kind_is_refused(kind, value, wanted):
    with pytest.raises(BadInput, match=f"parameters: a: must be {wanted}") as caught:
        check({"a": value}, a=kind)
    assert caught.value.value is value


def test_a_parameter_that_is_gone_is_refused():
    with pytest.raises(BadInput, match="parameters: a: the parameter is missing"):
        check({}, a=int)


def test_only_the_cell_of_papermill_is_validated():
    history = ["", "b = 2", "# Parameters\na = 1\n"]
    check({"In": history, "a": 1, "b": 2}, a=int)
    with pytest.raises(BadInput, match="parameters: b: the notebook has no such parameter"):
        check({"In": [*history, "# Parameters\na = 1\nb = 2\n"], "a": 1, "b": 2}, a=int)


def test_a_cell_of_ones_own_with_a_magic_is_not_papermills():
    check({"In": ["# Parameters of the plot\n%matplotlib inline"], "a": 1}, a=int)


# Names, before papermill sees them.


def test_names_are_read_from_the_tagged_cell(notebook):
    assert declared(notebook) == {"study", "repeats", "seconds", "quick", "seed"}


def test_names_assigned_together_are_all_declared(tmp_path):
    path = tmp_path / "n.ipynb"
    source = "a, (b, *c) = 1, (2, 3)\nd = e = 4\nf.g = 5\nh[i] = 6\nif True:\n    j = 7"
    cell = new_code_cell(source, metadata={"tags": ["other", "parameters"]})
    nbformat.write(new_notebook(cells=[cell]), path)
    assert declared(path) == {"a", "b", "c", "d", "e"}


def test_a_notebook_without_a_tagged_cell_declares_no_parameter(tmp_path):
    path = tmp_path / "n.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("a = 1")]), path)
    assert declared(path) == frozenset()
    with pytest.raises(BadInput, match="it has none"):
        names_checked(path, {"a": 1})


def test_known_names_pass_as_they_are(notebook):
    assert names_checked(notebook, {"repeats": 1, "study": "x"}) == {"repeats": 1, "study": "x"}
    assert names_checked(notebook, {}) == {}


EVIL = ["__import__", "", "1a", "a=1;import os", "repeats\nimport os", "repeats ", "In", None, 5]


@pytest.mark.parametrize("name", EVIL, ids=repr)
def test_an_unknown_parameter_never_reaches_papermill(notebook, name):
    with pytest.raises(BadInput) as caught:
        names_checked(notebook, {name: 1})
    assert str(notebook) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "text",
        "[]",
        '{"nbformat": 99, "cells": []}',
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]}',
        "\xff",
    ],
)
def test_an_invalid_notebook_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "n.ipynb"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(BadInput, match="is not a notebook") as caught:
        declared(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_notebook_or_a_directory_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.ipynb"):
        with pytest.raises(BadInput, match="cannot be read"):
            declared(path)


def test_a_parameters_cell_that_is_not_python_is_refused(tmp_path):
    path = tmp_path / "n.ipynb"
    cell = new_code_cell("%time a = 1", metadata={"tags": ["parameters"]})
    nbformat.write(new_notebook(cells=[cell]), path)
    with pytest.raises(BadInput, match="is not plain Python"):
        declared(path)
