"""An SSH connection before its host is reached."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from waiting import until

from netlab.errors import BadInput, HostError
from netlab.hosts.command_output import BEGIN, CommandOutput, command_line
from netlab.hosts.connection import Connection, SshPipe
from netlab.hosts.controls import SOCKET_PATH_BYTES, Controls
from netlab.hosts.ssh import SshHost


def test_a_user_whom_no_account_lists_is_one_sentence():
    """ssh refuses such a user, as containers have them."""
    code = (
        "import os\nos.setuid(61099)\n"
        "from netlab.errors import NetlabError\nfrom netlab.hosts.ssh import SshHost\n"
        "try:\n    SshHost('here', '127.0.0.1', port=1).open()\n"
        "except NetlabError as error:\n    print(error.with_code())\n"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": "/"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd="/"
    )
    assert "E-HOST-052" in done.stdout and "61099" in done.stdout, done.stdout + done.stderr


SHELLS = ("bash", "dash", "fish", "tcsh", "zsh")
ODD = [
    *("plain", "it's", 'say "x"', "$(id) `id` $HOME", "!!", "a\\b\\\\n", "two\nlines\n"),
    *("\ttab\x1b[2J", "é\U0001f980", "", " ", "~", "{a,b}", "%s", "-n"),
]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_login_shell_runs_the_same_command(shell, tmp_path):
    """sshd hands the line to the login shell with -c."""
    line = command_line(("/usr/bin/env", "printf", r"%s\0", *ODD))
    done = subprocess.run(
        [shell, "-c", line.decode("ascii")], capture_output=True, check=True, cwd=tmp_path
    )
    printed, begins, output = done.stdout.partition(BEGIN)
    assert (printed, begins) == (b"", BEGIN), done.stderr
    assert output.decode().split("\0")[:-1] == ODD


@given(st.lists(st.binary(max_size=40).filter(lambda word: b"\0" not in word), min_size=1))
def test_any_words_arrive_as_they_are(words):
    argv = ("/usr/bin/env", "printf", r"%s\0", *(os.fsdecode(word) for word in words))
    output = subprocess.check_output(["sh", "-c", command_line(argv)]).partition(BEGIN)[2]
    assert output.split(b"\0")[:-1] == words


def output_of(*chunks: bytes) -> CommandOutput:
    """Output that arrives in some chunks, then ends."""
    arriving = list(chunks)
    return CommandOutput(lambda size, timeout_s: arriving.pop(0) if arriving else b"")


@pytest.mark.parametrize(
    "chunks",
    [
        (b"Welcome!\n", BEGIN + b"output"),
        (b"Welcome!\n" + BEGIN[:9], BEGIN[9:], b"output"),
        (BEGIN + b"out", b"put"),
        (b"\x1b[2J" + BEGIN + b"output",),
        (*(b"x" * 65536,) * 16, b"x" * 16960 + BEGIN[:9], BEGIN[9:], b"output"),
        (b"x" * 1_000_000 + BEGIN + b"output",),
    ],
    ids=("a line", "two chunks", "nothing", "an escape", "1 MB in chunks", "1 MB"),
)
def test_what_start_up_files_print_is_no_output(chunks):
    output = output_of(*chunks)
    read = iter(lambda: output.read(100, 1.0), b"")
    assert b"".join(read) == b"output"


def test_a_login_that_runs_no_command_shows_what_it_printed():
    output = output_of(b"This account is ", b"closed.\n")
    assert output.read(100, 1.0) == b"This account is closed.\n"
    assert output.read(100, 1.0) == b""


def test_output_that_is_always_there_ends_with_the_timeout():
    reads = iter(range(1000))

    def receive(size: int, timeout_s: float) -> bytes:
        time.sleep(0.01)
        assert next(reads) < 100, "reads on after its timeout"
        return b"y\n" * 1000

    with pytest.raises(TimeoutError):
        CommandOutput(receive).begin(0.1)


@pytest.mark.parametrize("start_up", ["sleep 60", "cat /dev/zero"])
def test_a_start_up_file_without_end_is_named(start_up, tmp_path):
    host = Login(start_up, tmp_path)
    with refused(HostError, "E-HOST-071", match="start-up file"):
        host.run(("true",), timeout_s=0.5)


def test_a_command_without_end_is_not_a_start_up_file(tmp_path):
    host = Login(f"echo '{BEGIN.decode().strip()}'; sleep 60", tmp_path)
    with refused(HostError, "E-HOST-004"):
        host.run(("true",), timeout_s=3)


class Login(SshHost):
    """A host whose login shell is a script of this machine."""

    def __init__(self, script: str, directory: Path):
        super().__init__("a", "a")
        self._argv, self._log = [b"sh", b"-c", script.encode()], str(directory / "log")

    def _spawn(self, argv: tuple[str, ...]) -> SshPipe:
        return SshPipe(self._argv, self._log, Connection("a"))


def test_a_configuration_that_ssh_refuses_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host a\n    NoSuchOption yes\n")
    with pytest.raises(BadInput, match=r"line 2.*nosuchoption"):
        SshHost("a", "a").open()


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a;touch b", "$(id)", "a b", "`id`", "a|b"])
def test_names_that_a_proxy_command_could_execute_are_refused(name):
    """The user's ProxyCommand may have %h and %r in it, and a shell reads it."""
    with refused(BadInput, "E-HOST-051"):
        SshHost("a", name).open()
    with refused(BadInput, "E-HOST-051"):
        SshHost("a", "a", user=name).open()


@pytest.mark.parametrize("variable", ["XDG_RUNTIME_DIR", "TMPDIR"])
def test_a_control_path_is_short_wherever_temporary_files_lie(variable, tmp_path, monkeypatch):
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv(variable, str(long))
    monkeypatch.setattr(tempfile, "tempdir", None)
    controls = Controls()
    assert len(os.fsencode(controls.path())) < SOCKET_PATH_BYTES


def test_masters_end_with_a_killed_controller():
    """Nothing is left of a controller that was killed, neither process nor directory."""
    code = (
        "import subprocess, time\nfrom pathlib import Path\n"
        "from netlab.hosts.controls import CONTROLS\n"
        "path = CONTROLS.path()\nmaster = subprocess.Popen(['sleep', '600'])\n"
        "Path(f'{path}.pid').write_text(str(master.pid))\n"
        "print(path.parent, master.pid, flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as ran:
        directory, master = ran.stdout.readline().split()
        ran.kill()
    until(lambda: not Path(directory).exists())
    until(lambda: not Path(f"/proc/{master}").exists())
