"""An SSH connection before its host is reached."""

import getpass
import os
import pwd
import subprocess

import paramiko
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import BadInput, HostError
from netlab.hosts.ssh import BEGIN, ChannelPipe, ResolvedConfig, SshHost, aliases, command_line


def test_a_login_without_an_account_is_no_traceback(monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOGNAME", "")  # undone after the test, with what netlab sets

    def missing(uid):
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", missing)
    with pytest.raises(HostError):
        SshHost("here", "127.0.0.1", port=1, connect_timeout_s=1).open()
    assert getpass.getuser() == str(os.getuid())


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


class Channel:
    """A channel that receives some chunks, then nothing more."""

    def __init__(self, *chunks: bytes):
        self.chunks = list(chunks)

    def settimeout(self, seconds: float) -> None:
        return

    def recv(self, size: int) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""


@pytest.mark.parametrize(
    "chunks",
    [
        (b"Welcome!\n", BEGIN + b"output"),
        (b"Welcome!\n" + BEGIN[:9], BEGIN[9:], b"output"),
        (BEGIN + b"out", b"put"),
        (b"\x1b[2J" + BEGIN + b"output",),
    ],
)
def test_what_start_up_files_print_is_no_output(chunks):
    pipe = ChannelPipe(Channel(*chunks))
    read = iter(lambda: pipe.read(100, 1.0), b"")
    assert b"".join(read) == b"output"


def test_a_login_that_runs_no_command_shows_what_it_printed():
    pipe = ChannelPipe(Channel(b"This account is ", b"closed.\n"))
    assert pipe.read(100, 1.0) == b"This account is closed.\n"
    assert pipe.read(100, 1.0) == b""


CONFIG = """
Include {place}/more
Match originalhost gate user ops
    IdentityFile {place}/key
Host *.lab
    ProxyJump hop
"""
MORE = """
Host gate
    HostName 198.18.0.7
    HostKeyAlias the-gate
    UserKnownHostsFile ~/.ssh/kept
"""


def test_the_configuration_is_what_ssh_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(CONFIG.format(place=tmp_path))
    (tmp_path / "more").write_text(MORE)
    (tmp_path / "key").touch()
    said = ResolvedConfig("gate", "ops", 2022).lookup("gate")
    assert (said["hostname"], said["user"], said["port"]) == ("198.18.0.7", "ops", "2022")
    assert said["hostkeyalias"] == "the-gate"
    assert said["userknownhostsfile"] == f"{tmp_path}/.ssh/kept"
    assert said["identityfile"] == [f"{tmp_path}/key"]
    jumped = ResolvedConfig("gate", "ops", 2022).lookup("a.lab")
    assert jumped["proxyjump"] == "hop" and jumped["user"] != "ops"
    gateway = SshHost("a", "a.lab")._made().get_gateway()
    assert (gateway.host, gateway.original_host) == ("hop", "hop")


def test_a_configuration_that_ssh_refuses_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host a\n    NoSuchOption yes\n")
    with pytest.raises(BadInput, match=r"line 2.*nosuchoption"):
        SshHost("a", "a").open()


@pytest.mark.parametrize(
    "line",
    [b"identityfile ~a\0b", b"userknownhostsfile a\0b", b'globalknownhostsfile "a', b"port x"],
)
def test_output_of_ssh_that_has_no_meaning_is_one_error(line, tmp_path, monkeypatch):
    (tmp_path / "said").write_bytes(b"hostname a\n" + line + b"\n")
    (tmp_path / "ssh").write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with refused(BadInput, "E-HOST-048"):
        SshHost("a", "a").open()


@pytest.mark.parametrize(
    "line",
    [
        *("Match exec '{}'", "  match host a EXEC '{}'", "Match=\"exec\" '{}'"),
        *("Match ex\"\"ec '{}'", "Match !ex\\ec '{}'"),
    ],
)
def test_an_inventory_that_would_run_a_command_is_refused(tmp_path, line):
    ran = tmp_path / "ran"
    (tmp_path / "config").write_text(f"Host a\n{line.format(f'touch {ran}')}\n    User x\n")
    with refused(BadInput, "E-HOST-045"):
        aliases(tmp_path / "config")
    assert not ran.exists()


@pytest.mark.parametrize("line", ["", "CanonicalDomains x.invalid\nCanonicalizeFallbackLocal no"])
def test_an_alias_without_a_canonical_name_is_one_error(tmp_path, line):
    (tmp_path / "config").write_text(f"Host a\nCanonicalizeHostname yes\n{line}\n")
    with refused(BadInput, "E-HOST-047"):
        aliases(tmp_path / "config")


HOST_LINES = st.lists(
    st.sampled_from(["a", "b", "c.d", "x1", "*", "!a", "?", "c.*", "[ab]"]), min_size=1, max_size=3
).map(lambda names: "Host " + " ".join(names))
KEYS = st.sampled_from(["HostName h", "User u", "User v", "Port 1", "Port 2", "IdentityFile k"])


@given(lines=st.lists(HOST_LINES | KEYS, max_size=12))
def test_aliases_are_what_paramiko_finds(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("aliases") / "config"
    path.write_text("\n".join(lines))
    config = paramiko.SSHConfig.from_path(path)
    for name, alias in aliases(path).items():
        said = config.lookup(name)
        port, user = said.get("port"), said.get("user")
        assert (alias.said["address"], alias.said.get("user")) == (said["hostname"], user)
        assert alias.said.get("port") == (None if port is None else int(port))
