"""A kernel that sends no progress is ended, and leaves its stacks; one that sends some goes on."""

import nbformat
import pytest

from netlab.errors import NetlabError
from netlab.notebooks import kernel as kernels
from netlab.notebooks.execution import execute
from netlab.notebooks.kernel import Kernel
from netlab.notebooks.progress import SilentNotebook

LISTEN = "from netlab.notebooks import progress; progress.listen()"
ASLEEP = "import time\ndef asleep():\n    time.sleep(600)\nasleep()"
DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
STOPPED = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"


def notebook(tmp_path, code):
    path = tmp_path / "visit.ipynb"
    parameters = nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["parameters"]})
    cells = [parameters, nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def made(tmp_path, code, on_progress=None, silence_s=1.0):
    output = tmp_path / "out.ipynb"
    with Kernel(LISTEN) as kernel:
        how = {"kernel": kernel, "on_progress": on_progress, "silence_s": silence_s}
        execute(notebook(tmp_path, code), output, {}, **how)


@pytest.mark.parametrize(
    ("code", "stacks"),
    [(ASLEEP, "in asleep"), (DEAF + ASLEEP, "in asleep"), (STOPPED, "")],
    ids=["interrupted", "killed", "stopped"],
)
def test_a_silent_notebook_is_ended_and_its_stacks_are_saved(tmp_path, monkeypatch, code, stacks):
    """A stopped process can write none."""
    monkeypatch.setattr(kernels, "INTERRUPT_S", 1.0)
    with pytest.raises(SilentNotebook) as caught:
        made(tmp_path, code)
    assert caught.value.code == "E-NOTEBOOKS-016"
    assert "no progress for 1 s" in str(caught.value)
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
    with Kernel() as kernel, pytest.raises(NetlabError) as caught:
        kernel.execute("import time; time.sleep(5)")
    assert caught.value.code == "E-NOTEBOOKS-015"
