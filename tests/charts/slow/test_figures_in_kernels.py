"""One's own figures beside netlab's in one kernel: each is shown, whoever drew before it."""

from __future__ import annotations

import nbclient
import nbformat
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from netlab.notebooks.execution import execute

NETLAB = 'import netlab\nr = netlab.Results("openlab-2003")\nr.plot()'
SEABORN = """\
import seaborn as sns
sns.relplot(r.runs.dropna(subset="goodput_MBps"), x="streams", y="goodput_MBps", hue="tuning")"""
PYPLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])"
CELLS = [NETLAB, SEABORN, "r.plot()", PYPLOT, "r.plot()", SEABORN]


def by_nbclient(path, out):
    book = nbformat.read(path, 4)
    nbclient.NotebookClient(book, timeout=240).execute()
    return book


def by_papermill(path, out):
    return papermill.execute_notebook(
        str(path), str(out), progress_bar=False, kernel_name="python3", language="python"
    )


def by_the_kernel_of_reports(path, out):
    return nbformat.read(execute(path, out, {}), 4)


HOW = [by_nbclient, by_papermill, by_the_kernel_of_reports]


@pytest.mark.parametrize("how", HOW, ids=lambda how: how.__name__)
def test_every_figure_is_seen(how, tmp_path):
    path = tmp_path / "mine.ipynb"
    cells = [new_code_cell(code) for code in CELLS]
    nbformat.write(new_notebook(cells=cells), path)
    book = how(path, tmp_path / "out.ipynb")
    shown = [cell for cell in book.cells if cell.source in CELLS]
    assert len(shown) == len(CELLS)
    for at, cell in enumerate(shown):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        assert kinds & {"image/png", "image/svg+xml"}, (at, cell.source, cell.outputs)


def test_start_up_files_of_the_user_do_not_run_in_a_report(tmp_path, monkeypatch):
    startup = tmp_path / "home" / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nmine = 1\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IPYTHONDIR", raising=False)
    monkeypatch.setenv("PYTHONSTARTUP", str(startup / "00.py"))
    path = tmp_path / "n.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("print('mine' in globals())")]), path)
    book = nbformat.read(execute(path, tmp_path / "out.ipynb", {}), 4)
    assert book.cells[-1].outputs[0]["text"] == "False\n"
    assert not (tmp_path / "ran").exists()
