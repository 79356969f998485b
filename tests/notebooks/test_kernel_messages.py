"""A message for the user leaves a notebook's kernel, or goes to standard error without one."""

from __future__ import annotations

import nbformat

from netlab.notebooks import progress
from netlab.notebooks.execution import execute

PYTHON = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def test_without_an_executor_a_note_goes_to_standard_error(capsys):
    progress.note("waiting for process 1")
    assert capsys.readouterr().err == "netlab: waiting for process 1\n"


def test_a_note_reaches_the_executor_and_not_the_notebook(tmp_path):
    cell = nbformat.v4.new_code_cell(
        "from netlab.notebooks import progress\n"
        "progress.listen()\n"
        "progress.note('waiting for process 1')\n"
        "progress.announce('a-run')"
    )
    parameters = nbformat.v4.new_code_cell("number = 1", metadata={"tags": ["parameters"]})
    source = tmp_path / "in.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[parameters, cell], metadata=PYTHON), source)
    said: list[str] = []
    done = execute(source, tmp_path / "out.ipynb", {"number": 2}, on_progress=said.append)
    assert said == [progress.NOTE + "waiting for process 1", "a-run"]
    assert "waiting" not in "".join(
        str(output) for each in nbformat.read(done, 4).cells for output in each.get("outputs", [])
    )
