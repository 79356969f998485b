"""A tool on a host has a timeout, returns its output, and never outlives its controller."""

import contextlib
import os
import socket
import time
from pathlib import Path

import pytest
from waiting import WAIT_S, until

from netlab.errors import RunError
from netlab.generators import remote_process
from netlab.generators.remote_process import MAX_OUTPUT_B, RemoteProcess


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The host's temporary directory; empty at the end."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    yield directory
    until(lambda: not list(directory.iterdir()))


def started(host, script: str, *words: str, limit_s: float = 20.0, **how) -> RemoteProcess:
    argv = ("sh", "-c", script, "tool", *words)
    return RemoteProcess(host, "a tool", argv, limit_s=limit_s, **how)


def is_running(pid_file: Path) -> bool:
    """True if the tool whose id is in the file runs, and not one that got the id after it."""
    try:
        environment = Path(f"/proc/{int(pid_file.read_text())}/environ").read_bytes()
    except (OSError, ValueError):
        return False
    return os.fsencode(pid_file.parent) in environment


WAITS = 'echo $$ >"$1"; sleep 60'


@pytest.fixture
def pid(tmp_path) -> Path:
    return tmp_path / "pid"


@contextlib.contextmanager
def running(host, pid: Path, script: str = WAITS, **how):
    """A tool that is ended when the block is left."""
    with started(host, script, str(pid), **how) as tool:
        until(lambda: is_running(pid))
        yield tool
    until(lambda: not is_running(pid))


def test_output_and_cpu_time_of_both_ends_are_returned(host, temporary):
    busy = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo one; echo two >&2"
    with started(host, busy) as tool:
        ended = tool.result()
    assert (ended.status, ended.text) == (0, "one\ntwo\n")
    assert 0.01 < ended.cpu_s < 20


def test_a_block_is_left_as_soon_as_its_tool_has_ended(host, temporary, pid, monkeypatch):
    monkeypatch.setattr(remote_process, "KILL_S", 2 * int(WAIT_S))
    with running(host, pid) as tool:
        assert tool.wait(0.1) is None
        began = time.monotonic()
    assert time.monotonic() - began < WAIT_S


def test_a_tool_that_will_not_end_is_killed(host, temporary, pid):
    stubborn = "trap '' TERM; " + WAITS.replace("sleep 60", "while :; do sleep 0.2; done")
    with running(host, pid, stubborn):
        pass


def test_a_tool_does_not_outlive_its_controller(host, temporary, pid):
    """As when the controller is killed: its end of the pipes closes."""
    tool = started(host, WAITS, str(pid))
    until(lambda: is_running(pid))
    tool._process._pipe.kill()
    until(lambda: not is_running(pid))


@pytest.mark.parametrize("goes", [True, False])
def test_a_held_tool_starts_on_request_only_and_leaves_no_process(host, temporary, pid, goes):
    with started(host, WAITS, str(pid), hold=True) as tool:
        tool.wait_ready()
        assert tool.wait(0.2) is None and not pid.exists()
        if goes:
            tool.go()
            until(lambda: is_running(pid))
    until(lambda: not is_running(pid))
    assert pid.exists() == goes


def test_a_tool_that_takes_too_long_is_ended_by_its_limit(host, temporary, pid):
    with started(host, WAITS, str(pid), limit_s=0.5) as tool:
        with pytest.raises(RunError, match=r"a tool on here: did not end within 0.5 s"):
            tool.result()
        assert not is_running(pid)


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("kill -KILL $$", "was ended by signal 9"),
        ("echo first; echo last words >&2; exit 3", "exit status 3: first: last words"),
        ("no-such-program-there-is", "exit status 127"),
        (f"head -c {MAX_OUTPUT_B + 1} /dev/zero", "printed over 8 MiB"),
    ],
)
def test_a_tool_that_fails_is_a_failed_run_with_its_output(host, temporary, script, how):
    with started(host, script) as tool, pytest.raises(RunError, match=how):
        tool.result()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


SERVES = (
    "import socket, sys\n"
    "with socket.create_server(('127.0.0.1', int(sys.argv[1]))) as server:\n"
    "    server.accept()[0].close()\n"
)


def test_a_server_is_waited_for_until_it_listens(host, temporary):
    port = free_port()
    argv = ("python3", "-c", SERVES, str(port))
    with RemoteProcess(host, "a server", argv, limit_s=20.0, port=port) as server:
        assert server.wait_listening()
        socket.create_connection(("127.0.0.1", port)).close()
        assert server.result().status == 0


def test_a_port_that_somebody_has_is_left_alone_and_no_failure_but_another_try(
    host, temporary, pid
):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with started(host, WAITS, str(pid), port=port) as server:
            assert server.wait_listening() is False
    assert not pid.exists()
    script = "echo 'unable to bind: Address already in use' >&2; exit 1"
    with started(host, script, port=free_port()) as server:
        assert server.wait_listening() is False


def test_a_server_that_ends_in_place_of_listening_is_a_failed_run(host, temporary):
    with (
        started(host, "echo no server today", port=free_port()) as server,
        pytest.raises(RunError, match="does not listen: no server today"),
    ):
        server.wait_listening()


def test_a_server_that_stays_is_ended_after_its_complete_output(host, temporary):
    with started(host, "echo half; sleep 0.3; echo whole; sleep 60") as server:
        server.wait_output(lambda text: text.endswith("whole\n"), WAIT_S)
        server.terminate()
        assert server.result().text == "half\nwhole\n"
    with started(host, "echo half; sleep 60") as server:
        server.wait_output(bool, WAIT_S)
        server.wait_output(lambda text: False, 0.2)
        server.terminate()
        assert server.result().text == "half\n"


@pytest.mark.parametrize("status", [0, 3])
def test_a_server_that_ends_by_itself_is_not_a_lost_host(host, temporary, tmp_path, status):
    """Its script has gone by the next request, and its last answer is still to be read."""
    with started(host, f'echo >"$1"; echo done; exit {status}', str(tmp_path / "ran")) as server:
        until((tmp_path / "ran").exists)
        until(lambda: not list(temporary.iterdir()))  # its script has ended, too
        time.sleep(0.1)
        server.wait_output(lambda text: False, WAIT_S)
        assert server.output == "done\n"
        server.terminate()
        if status:
            with pytest.raises(RunError, match="exit status 3: done"):
                server.result()
        else:
            assert server.result().text == "done\n"
