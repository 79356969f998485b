"""A limit, a full disk or a signal ends a command with one sentence and without a traceback."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import tempfile

import click
import pytest
from click.testing import CliRunner

from netlab import wings
from netlab.cli import main
from netlab.cli.guard import explained, guarded

SLEEPER = """
import signal, sys, tempfile, time
from netlab.cli.guard import end_on_signals, guarded
# tests may run under nohup or in the background, where these are ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
@guarded
def command():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]):
        print("ready", flush=True)
        time.sleep(60)
end_on_signals()
command()
"""


def limited(limit: str, command: str = "check") -> subprocess.CompletedProcess[str]:
    """Run a command under a limit of the shell."""
    script = f"ulimit {limit} && exec {sys.executable} -m netlab {command} openlab-2003"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("limit", "code", "words"),
    [
        ("-n 32", "E-CLI-014", "only 32 open files are allowed, 256 are needed"),
        ("-v 600000", "E-CLI-015", "limited to 585 MiB, 2048 MiB are needed"),
    ],
)
def test_a_low_limit_is_one_sentence_that_names_it(limit, code, words):
    done = limited(limit)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr and f"[{code}]" in done.stderr


@pytest.mark.parametrize("command", sorted(wings.commands()))
def test_a_low_limit_is_named_before_a_command_of_a_wing_is_imported(command):
    done = limited("-v 600000", command)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "[E-CLI-015]" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_command_with_a_sentence_and_no_temporary_files(tmp_path, number):
    words = (sys.executable, "-c", SLEEPER, str(tmp_path))
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, complaint = process.communicate(timeout=60)
    by = "" if number == signal.SIGINT else f" by {number.name}"
    assert complaint == f"netlab: interrupted{by}; what was changed is reverted\n"
    assert process.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_a_library_makes_a_class_is_a_sentence_too(capsys):
    """Python 3.11 makes an error of it."""

    @guarded
    def command() -> None:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    with pytest.raises(SystemExit) as caught:
        command()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "netlab: interrupted; what was changed is reverted\n"


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (MemoryError(), 1)])
def test_a_command_of_a_wing_that_is_any_of_click_ends_with_a_sentence(monkeypatch, error, code):
    def fail() -> None:
        raise error

    monkeypatch.setattr(main.table, "_loaded", {"other": click.Command("other", callback=fail)})
    done = CliRunner().invoke(main, ["other"])
    assert done.exit_code == code and re.fullmatch(r"netlab: .+\n", done.stderr)


def test_ctrl_c_while_the_command_of_a_wing_is_found_is_a_sentence(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(wings, "commands", interrupted)
    monkeypatch.setattr(main.table, "_loaded", {})
    done = CliRunner().invoke(main, ["of-a-wing"])
    assert (done.exit_code, done.stderr) == (
        130,
        "netlab: interrupted; what was changed is reverted\n",
    )


@pytest.mark.parametrize(
    "words",
    [("guide", "study"), ("--help",), ("--version",), ("run", "--help"), ("lab", "--help"), ()],
)
def test_a_reader_that_has_gone_ends_a_command_without_a_word_as_sigpipe_does(words):
    reader, writer = os.pipe()
    os.close(reader)
    code = f"import sys; sys.argv = ['netlab', *{words}]; import netlab.__main__ as m; m.main()"
    # without words, the script for completion in a shell
    env = {**os.environ, **({} if words else {"_NETLAB_COMPLETE": "bash_source"})}
    argv = (sys.executable, "-c", code)
    done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, text=True, env=env)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BrokenPipeError(errno.EPIPE, ""), "Broken pipe"),  # of a connection
        (OSError(errno.EROFS, "", "/data/x"), "/data/x: Read-only file system; choose a directory"),
        (OSError(errno.ENOSPC, "", "/data/x"), "/data/x: No space left on device; the records so"),
        (
            OSError(errno.ENOSPC, "", f"{tempfile.gettempdir()}/netlab-verify-x"),
            f"{tempfile.gettempdir()}/netlab-verify-x: No space left on device; free some space "
            "there, or name another directory in TMPDIR",
        ),
        (OSError(errno.EMFILE, ""), "Too many open files; "),
        (OSError(errno.EIO, "", "/data/x"), "/data/x: Input/output error"),
        (OSError("no number"), "no number"),
        (MemoryError(), "not enough memory"),
        (RuntimeError("can't start new thread"), "no thread can be started: raise the limit"),
    ],
)
def test_an_error_of_the_system_is_one_sentence(error, words, capsys):
    assert str(explained(error)).startswith(words)

    @guarded
    def command() -> None:
        raise error

    with pytest.raises(SystemExit) as caught:
        command()
    assert caught.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"netlab: {words}")
    assert re.search(r"\[E-CLI-0(1\d|80)\]$", line)


NO_THREADS = """
import resource, threading
from netlab.cli.guard import guarded
@guarded
def command():
    threading.stack_size(1 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    for _ in range(8):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
command()
"""


def test_a_thread_that_cannot_be_started_is_one_sentence():
    """Each takes address space for its stack."""
    done = subprocess.run([sys.executable, "-c", NO_THREADS], capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert "no thread can be started" in done.stderr and "[E-CLI-080]" in done.stderr
