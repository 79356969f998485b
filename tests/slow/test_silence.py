"""A kernel that sends no progress is ended, and leaves its stacks; one that sends some goes on."""

import time

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


@pytest.mark.parametrize("code", [ASLEEP, DEAF + ASLEEP], ids=["interrupted", "killed"])
def test_a_silent_notebook_is_ended_and_its_stacks_are_saved(tmp_path, monkeypatch, code):
    monkeypatch.setattr(kernels, "INTERRUPT_S", 1.0)
    output = tmp_path / "out.ipynb"
    started = time.monotonic()
    with Kernel(LISTEN) as kernel, pytest.raises(SilentNotebook) as caught:
        execute(notebook(tmp_path, code), output, {}, kernel=kernel, silence_s=1.0)
    assert time.monotonic() - started < 60
    assert caught.value.code == "E-NOTEBOOKS-016"
    assert "no progress for 1 s" in str(caught.value)
    assert "in asleep" in (tmp_path / "out.silent.txt").read_text()
    assert not output.exists()


def test_a_stopped_kernel_is_killed_though_it_can_write_no_stacks(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "INTERRUPT_S", 1.0)
    with Kernel(LISTEN) as kernel, pytest.raises(SilentNotebook):
        execute(
            notebook(tmp_path, STOPPED), tmp_path / "out.ipynb", {}, kernel=kernel, silence_s=1.0
        )
    assert (tmp_path / "out.silent.txt").read_text() == ""


def test_progress_starts_the_time_anew(tmp_path):
    code = "import time\nfor i in range(8):\n    time.sleep(0.25)\n    progress.announce(str(i))"
    code = f"from netlab.notebooks import progress\n{code}"
    messages = []
    with Kernel(LISTEN) as kernel:
        execute(
            notebook(tmp_path, code),
            tmp_path / "out.ipynb",
            {},
            kernel=kernel,
            on_progress=messages.append,
            silence_s=1.0,
        )
    assert messages == [str(i) for i in range(8)]
    assert (tmp_path / "out.ipynb").exists()


def test_code_outside_a_notebook_is_bounded_too(monkeypatch):
    monkeypatch.setattr(kernels, "CODE_S", 0.5)
    with Kernel() as kernel, pytest.raises(NetlabError) as caught:
        kernel.execute("import time; time.sleep(5)")
    assert caught.value.code == "E-NOTEBOOKS-015"
