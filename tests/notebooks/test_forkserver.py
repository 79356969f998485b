"""Kernels forked from a server: in processes of their own, as pytest's has threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from netlab.errors import NetlabError
from netlab.notebooks import forkserver
from netlab.notebooks.forkserver import ForkedProcess, fork_server, running

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins without one, that of the worker neither."""
    monkeypatch.setattr(forkserver, "_running", None)


BEGIN = """
import os, signal, sys, time
from pathlib import Path
import nbformat
from netlab.errors import NetlabError
from netlab.notebooks.execution import execute
from netlab.notebooks.forkserver import Call, fork_server, running
from netlab.notebooks.kernel import Kernel

def outputs(kernel, *cells):
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "", "language": "python"}},
    )
    nbformat.write(book, "in.ipynb")
    execute(Path("in.ipynb"), Path("out.ipynb"), {}, kernel=kernel)
    made = nbformat.read("out.ipynb", as_version=4).cells
    return [output for cell in made for output in cell.get("outputs", [])]

def text(kernel, *cells):
    return "".join(output.get("text", "") for output in outputs(kernel, *cells))
"""

COUNTED = """
from pathlib import Path

given = ""

def count(text):
    global given
    given = text
    with Path(__file__).with_name("ran").open("a") as ran:
        ran.write("x")
"""


def script(code: str, directory: Path) -> list[str]:
    path = directory / "script.py"
    (directory / "counted.py").write_text(COUNTED)
    path.write_text(BEGIN + textwrap.dedent(code))
    return [sys.executable, str(path)]


def run(code: str, directory: Path) -> str:
    done = subprocess.run(
        script(code, directory), cwd=directory, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def ended(pid: int, within_s: float = 10.0) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


SHARED = "Call('counted', 'count', ('41',))"


def test_a_forked_kernel_is_as_one_of_its_own(tmp_path: Path) -> None:
    """Shared code ran once, directory and environment are of its start, figures are shown."""
    (tmp_path / "later").mkdir()
    out = run(
        f"""
        with fork_server("matplotlib.pyplot"):
            os.chdir("later")
            os.environ["GIVEN_LATER"] = "yes"
            for number in range(2):
                with Kernel("first = 1", shared={SHARED}) as kernel:
                    print(text(
                        kernel,
                        "import os, subprocess, counted; print(counted.given, end=' ')",
                        "print(os.path.basename(os.getcwd()), os.environ['GIVEN_LATER'], end=' ')",
                        "print(subprocess.call(['sh', '-c', 'exit 7']))",
                    ), end="")
                    if number:
                        plot = "import matplotlib.pyplot as plt; plt.plot([1, 2]); None"
                        shown = outputs(kernel, plot)
                        print([kind for output in shown for kind in output["data"]])
        print(running())
        """,
        tmp_path,
    )
    first, second, figure, none = out.splitlines()
    assert first == second == "41 later yes 7"
    assert "image/png" in figure and none == "None"
    assert (tmp_path / "ran").read_text() == "x"


def test_a_forked_kernel_loads_no_debugger_and_a_notebook_may(tmp_path: Path) -> None:
    out = run(
        """
        with fork_server(), Kernel() as kernel:
            seen = "[name for name in ('debugpy', 'pydevd') if name in sys.modules]"
            print(text(kernel, f"import sys; print({seen})", f"import debugpy; print({seen})"))
        """,
        tmp_path,
    )
    assert out.splitlines()[:2] == ["[]", "['debugpy']"]


def test_without_a_server_each_kernel_runs_the_code(tmp_path: Path) -> None:
    out = run(
        f"""
        for _ in range(2):
            with Kernel(shared={SHARED}) as kernel:
                print(text(kernel, "import counted", "print(counted.given)"), end="")
        """,
        tmp_path,
    )
    assert out == "41\n41\n"
    assert (tmp_path / "ran").read_text() == "xx"


def test_faults_of_a_server_and_its_kernels(tmp_path: Path) -> None:
    """Failing code, an interrupt, a killed kernel, a killed server; each but the last goes on."""
    out = run(
        """
        from jupyter_core.utils import run_sync
        import threading
        with fork_server():
            try:
                with Kernel(shared=Call("importlib", "import_module", ("no_such_thing",))):
                    print("started")
            except NetlabError as error:
                print(error.with_code())
            with Kernel() as kernel:
                threading.Timer(1.0, run_sync(kernel.manager.interrupt_kernel)).start()
                wait = "try:\\n    time.sleep(30)\\nexcept KeyboardInterrupt: print('stopped')"
                begun = time.monotonic()
                print(text(kernel, "import time", wait), time.monotonic() - begun < 20)
            try:
                with Kernel() as kernel:
                    outputs(kernel, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
            except NetlabError as error:
                print(error.with_code())
            os.kill(running()._pid, signal.SIGKILL)
            try:
                with Kernel():
                    print("started")
            except NetlabError as error:
                print(error.with_code())
        """,
        tmp_path,
    )
    failing, stopped, in_time, killed, lost = out.replace("stopped\n ", "stopped\n").splitlines()
    assert "no_such_thing" in failing and "E-NOTEBOOKS-019" in failing
    assert (stopped, in_time) == ("stopped", "True")
    assert "E-NOTEBOOKS-002" in killed and "E-NOTEBOOKS-018" in lost


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_the_process(tmp_path: Path, number: signal.Signals) -> None:
    command = script(
        """
        with fork_server(), Kernel() as kernel:
            print(running()._pid, kernel.manager.provisioner.pid, flush=True)
            outputs(kernel, "import time; time.sleep(60)")
        """,
        tmp_path,
    )
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        server, kernel = map(int, process.stdout.readline().split())
        time.sleep(0.3)
        process.send_signal(number)
        process.wait(30)
        assert ended(server) and ended(kernel)


def test_no_fork_beside_other_threads() -> None:
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    other.start()
    try:
        with fork_server("json"):
            assert running() is None
    finally:
        release.set()
        other.join()


def test_no_fork_without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refused)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with fork_server():
        assert running() is None


def test_process_that_ended_before(monkeypatch: pytest.MonkeyPatch) -> None:
    server = forkserver.ForkServer.__new__(forkserver.ForkServer)
    server._lock = threading.Lock()
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setattr(server, "_ask", lambda request: gone.pid)
    with pytest.raises(NetlabError) as refused:
        server.fork([], Path("log"))
    assert refused.value.code == "E-NOTEBOOKS-017"


def test_forked_process_ends_by_a_signal() -> None:
    child = subprocess.Popen(["sleep", "60"])
    process = ForkedProcess(child.pid)
    assert process.poll() is None
    process.terminate()
    assert process.wait() == 0 and process.poll() == 0
    process.kill()  # says nothing of a process that has ended
    assert child.wait() == -signal.SIGTERM
