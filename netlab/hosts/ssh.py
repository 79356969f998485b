"""A host over SSH: one OpenSSH connection a host, which all of its commands share."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import pwd
import re
import selectors
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fabric
import invoke
import paramiko

from netlab.errors import BadInput, HostError, why
from netlab.hosts.host import STDERR_KEPT_BYTES, Host, Pipe

CONNECT_TIMEOUT_S = 8
LOGIN_SPARE_S = 30.0
"""Time after the connection for keys, a touch of a security key, or an agent that asks."""
KEEPALIVE_S = 5
SILENCE_S = 15
LOG_BYTES = 1 << 20
SOCKET_PATH_BYTES = 80
"""Of the 108 that the kernel allows ssh needs 17 for a temporary name."""

# Errors are raised; without a handler paramiko would also print tracebacks into notebooks.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

# The control sockets of this process, and what ends its masters when it is killed.

# Argument: the directory. Its standard input ends with the controller.
REAP = r"""
while read -r _; do :; done
for f in "$1"/*.pid; do
  [ -e "$f" ] && kill "$(cat "$f")" 2>/dev/null
done
rm -rf -- "$1"
"""


class Controls:
    """A private directory, short enough for sockets, that is removed when this process ends."""

    def __init__(self) -> None:
        self._lock, self._owner = threading.Lock(), 0
        self._numbers = itertools.count()

    def path(self) -> Path:
        """Return a new path, to which suffixes are appended."""
        with self._lock:
            if self._owner != os.getpid():
                self._directory, self._owner = _short_directory(), os.getpid()
                self._reaper = subprocess.Popen(
                    ("sh", "-c", REAP, "netlab-ssh", self._directory),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd="/",
                )
            return self._directory / str(next(self._numbers))


CONTROLS = Controls()


def _short_directory() -> Path:
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp", "/var/tmp")
    for place in places:
        # ssh expands % and ${} in a control path
        short = place.startswith("/") and len(os.fsencode(place)) < SOCKET_PATH_BYTES - 32
        if short and not set(place) & set("%${}"):
            with contextlib.suppress(OSError):
                return Path(tempfile.mkdtemp(prefix="netlab-ssh-", dir=place))
    message = f"no directory for SSH connections can be made in {', '.join(filter(None, places))}"
    raise BadInput(message, code="E-HOST-049")


# Options of ssh.

OWN_OPTIONS = (
    *("BatchMode=yes", "ControlPersist=no", "RemoteCommand=none", "ForkAfterAuthentication=no"),
    *("ClearAllForwardings=yes", "Tunnel=no", "ForwardAgent=no", "ForwardX11=no"),
)
"""Parts of a user's configuration that are for other uses of `ssh HOST` than commands."""
UNSAFE_NAME = re.compile(r"[^!-~\x80-\U0010ffff]|['`\"$\\;&<>|(){}]|^-")
"""What a shell could execute in a ProxyCommand with %h or %r; ssh itself refuses it since 9.6."""


def option_words(options: tuple[str, ...]) -> list[str]:
    return [word for option in options for word in ("-o", option)]


class Resolved:
    """What `ssh -G` says of a host, and the options for a home that is not the account's.

    ssh asks the account for the home, not the environment.
    """

    def __init__(self, address: str, words: list[str]):
        home, account = os.path.expanduser("~"), account_home()
        self.words: list[str] = []
        if home != account:
            # a file, since ssh passes it on to the ssh of a jump host
            file = f"{CONTROLS.path()}.config"
            Path(file).write_text(_config_of(home))
            self.words += ["-F", file]
        done = subprocess.run(
            ["ssh", "-G", *self.words, *words, "--", address],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[:1] or [f"exit code {done.returncode}"]
            raise BadInput(reason[0], where=f"ssh -G {address}", code="E-HOST-043")
        self.values: dict[str, str] = {}
        keys = []
        for line in done.stdout.splitlines():
            key, _, value = line.partition(" ")
            self.values[key] = value
            if key == "identityfile":
                keys.append(value)

        def moved(path: str) -> str:
            return re.sub(rf"^(~|{re.escape(account)})(?=/)", home, path)

        if home != account:
            known = self.values.get("userknownhostsfile", "").split()
            files = " ".join(f'"{moved(file)}"' for file in known)
            self.words += ["-o", f"UserKnownHostsFile={files}"] if files else []
            there = [file for key in keys if os.path.exists(file := moved(key))]
            for file in there or ["none"]:
                self.words += ["-o", f'IdentityFile="{file.replace("%", "%%")}"']


KEY_FILES = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_dsa")


def _config_of(home: str) -> str:
    """The configuration of a home, with its default keys and known_hosts."""
    place = f"{home}/.ssh"
    keys = [f"{place}/{name}" for name in KEY_FILES if os.path.exists(f"{place}/{name}")]
    lines = [f'Include "{place}/config"'] if os.path.exists(f"{place}/config") else []
    lines += ["Match all", f'UserKnownHostsFile "{place}/known_hosts" "{place}/known_hosts2"']
    lines += [f'IdentityFile "{key.replace("%", "%%")}"' for key in keys]
    return "".join(f"{line}\n" for line in lines)


def account_home() -> str:
    """Home directory of the account; that of the environment without an account."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.path.expanduser("~")


class LocalSsh(invoke.runners.Local):
    """Runner of fabric that runs a command by the local ssh, over the connection of its host."""

    def __init__(self, context: Connection, inline_env: bool = True):
        super().__init__(context)  # sshd decides on the environment

    def start(self, command: str, shell: str, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            self.context.argv(command.encode()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def should_use_pty(self, pty: bool = False, fallback: bool = True) -> bool:
        return False

    def generate_result(self, **kwargs: Any) -> fabric.Result:
        return fabric.Result(**kwargs, connection=self.context)


class Connection(fabric.Connection):
    """A fabric connection that is a master of OpenSSH; its commands are sessions of that.

    The master has a session of its own: a Ctrl-C at the terminal does not close the connection
    that clean-up needs.
    """

    def __init__(self, host: str, *, words: list[str], prefix: tuple[str, ...] = ()):
        # fabric reads no configuration
        config = fabric.Config(ssh_config=paramiko.SSHConfig(), lazy=True)
        config.runners.remote = LocalSsh
        super().__init__("netlab", config=config)
        self._set(_target=host, _words=words, _prefix=prefix, _master=None, _path=None)
        self._set(log="", complaint="")

    @property
    def is_connected(self) -> bool:
        return self._master is not None and self._master.poll() is None

    @property
    def pid(self) -> int:
        return self._master.pid

    def open(self, timeout_s: float = CONNECT_TIMEOUT_S + LOGIN_SPARE_S) -> None:
        """Log in; TimeoutError, or ConnectionError when ssh has ended."""
        if self.is_connected:
            return
        path = CONTROLS.path()
        self._set(_path=path)
        environment = {**os.environ, "SSH_ASKPASS_REQUIRE": "never"}
        environment.pop("SSH_ASKPASS", None)
        # with -v the stderr of a ProxyCommand stays as well
        argv = [*self._prefix, "ssh", "-v", "-M", "-N", "-T", "-S", f"{path}.sock"]
        argv += ["-E", f"{path}.log", *self._words, "--", self._target]
        with open(f"{path}.err", "ab") as stderr:
            master = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
                env=environment,
            )
        self._set(_master=master)
        Path(f"{path}.pid").write_text(str(master.pid))
        deadline = time.monotonic() + timeout_s
        while not os.path.exists(f"{path}.sock"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                master.wait(0.005)
                self.close()
                raise ConnectionError
            if time.monotonic() > deadline:
                self.close()
                raise TimeoutError
        os.truncate(f"{path}.log", 0)

    def words_of_master(self) -> str:
        """Return what ssh has printed of the connection, without its debug output."""
        return "\n".join(said_by_ssh(_tail(f"{self._path}.log")))

    def has_ended(self, timeout_s: float) -> bool:
        """True if the master has ended, or does within the time."""
        if self._master is None:
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._master.wait(timeout_s)
            return True
        return False

    def argv(self, line: bytes, log: str = os.devnull) -> list[bytes]:
        """Return the command that runs a line of the login shell over this connection.

        It reads no configuration, and without the master it cannot connect.
        """
        options = option_words(("ControlMaster=no", "ProxyCommand=false", "LogLevel=DEBUG2"))
        words = ["ssh", "-F", "none", "-S", f"{self._path}.sock", "-T", "-e", "none", "-E", log]
        return [*map(os.fsencode, (*self._prefix, *words, *options, "--", "netlab")), line]

    def start(self, line: bytes) -> SshPipe:
        for file in (f"{self._path}.log", f"{self._path}.err"):
            with contextlib.suppress(OSError):
                if os.path.getsize(file) > LOG_BYTES:
                    os.truncate(file, 0)
        log = f"{CONTROLS.path()}.log"
        return SshPipe(self.argv(line, log), log, self)

    def close(self) -> None:
        master, path = self._master, self._path
        if master is None:
            return
        self._set(log=_tail(f"{path}.log"), complaint=_tail(f"{path}.err"))
        for suffix in ("pid", "err", "log"):
            Path(f"{path}.{suffix}").unlink(missing_ok=True)
        master.terminate()
        try:
            master.wait(2.0)
        except subprocess.TimeoutExpired:
            master.kill()
            master.wait()
        Path(f"{path}.sock").unlink(missing_ok=True)
        self._set(_master=None)


def _tail(file: str) -> str:
    with contextlib.suppress(OSError), open(file, "rb") as opened:
        opened.seek(max(0, os.path.getsize(file) - (1 << 16)))
        return opened.read().decode("utf-8", "replace").replace("\r", "")
    return ""


def said_by_ssh(log: str) -> list[str]:
    own = r"debug\d: |OpenSSH_|Authenticated to |Transferred: |Bytes per second: |\s*$"
    return [line for line in log.splitlines() if not re.match(own, line)]


BEGIN = b"netlab: what follows is of the command\n"
UNSAFE = re.compile(rb"[^ -~]|[\\'!]")
"""What a login shell may read in another way than sh within single quotes."""

PRINTED_BYTES = 1 << 16


def command_line(argv: tuple[str, ...]) -> bytes:
    """An argv as a line of one meaning to any login shell; start-up files print before `BEGIN`."""
    words = f"exec {shlex.join(argv)}".encode("utf-8", "surrogateescape")
    encoded = UNSAFE.sub(lambda byte: b"\\0%03o" % byte[0][0], words)
    return b"""sh -c 'echo "%s"; eval "$(printf %%b "$1")"' sh '%s'""" % (BEGIN.strip(), encoded)


class CommandOutput:
    """Standard output of a command, after what start-up files print."""

    def __init__(self, receive: Callable[[int, float], bytes]):
        self._receive = receive
        self._before: bytes | None = b""  # None once the command has begun
        self._kept = b""

    def begin(self, timeout_s: float) -> bool:
        """Read until the command has begun, or has not and will not; False at the end."""
        deadline = time.monotonic() + timeout_s
        while self._before is not None:
            chunk = self._receive(65536, max(0.0, deadline - time.monotonic()))
            printed, begins, output = (self._before + chunk).partition(BEGIN)
            if begins or not chunk or len(printed) > PRINTED_BYTES:
                self._before, self._kept = None, output if begins else printed
                return bool(chunk)
            self._before = printed
        return True

    def read(self, size: int, timeout_s: float) -> bytes:
        self.begin(timeout_s)
        if self._kept:
            chunk, self._kept = self._kept[:size], self._kept[size:]
            return chunk
        return self._receive(size, timeout_s)


class SshPipe:
    """The streams of a session; ssh's own words go to a file, apart from the command's."""

    def __init__(self, argv: list[bytes], log: str, connection: Connection):
        self._log, self._connection = log, connection
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._stderr_pipe = self._process.stderr
        # Closing a descriptor under a writer could lead its bytes into the next file opened.
        self._input = threading.Lock()
        self._stderr = bytearray()
        self._closed = False
        self._ended_as: int | None = None
        self._lost = ""
        self._output = CommandOutput(self._receive)
        for stream in (self._stdout, self._stderr_pipe):
            os.set_blocking(stream.fileno(), False)
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._stdout, selectors.EVENT_READ)
        self._ready.register(self._stderr_pipe, selectors.EVENT_READ)

    def begin(self, timeout_s: float) -> str:
        """Wait until the command begins; the reason of ssh if there is no session for it."""
        with contextlib.suppress(TimeoutError):
            if not self._output.begin(timeout_s):
                self.exit_status(1.0)
                log = _tail(self._log)
                if self._process.returncode == 255 and "master session id" not in log:
                    refusal = re.search(r"session request failed: (.*)", log)
                    said = said_by_ssh(log)
                    return refusal[1] if refusal else (said or ["the connection is gone"])[0]
        return ""

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._input:
            while view:
                view = view[self._stdin.write(view) :]

    def close_input(self) -> None:
        with self._input:
            self._stdin.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        return self._output.read(size, timeout_s)

    def _receive(self, size: int, timeout_s: float) -> bytes:
        # a process blocked on a full stderr would never write to stdout
        deadline = time.monotonic() + timeout_s
        while True:
            events = self._ready.select(max(0.0, deadline - time.monotonic()))
            streams = [key.fileobj for key, _ in events]
            if self._stderr_pipe in streams and not self._drain_stderr():
                self._ready.unregister(self._stderr_pipe)
            if self._stdout in streams:
                return os.read(self._stdout.fileno(), size)
            if time.monotonic() >= deadline:
                raise TimeoutError

    def _drain_stderr(self) -> bool:
        """Read what there is of standard error; False at its end."""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._stderr_pipe.fileno(), 65536):
                self._stderr += chunk
                del self._stderr[:-STDERR_KEPT_BYTES]
            return False
        return True

    def stderr_text(self) -> str:
        if not self._closed:
            self._drain_stderr()
        return bytes(self._stderr).decode("utf-8", "replace")

    def exit_status(self, timeout_s: float) -> int | None:
        deadline = time.monotonic() + timeout_s
        while self._ended_as is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
                self._ended_as = self._process.returncode
            if self._closed:
                break
            self._drain_stderr()
            if self._ended_as is None and time.monotonic() >= deadline:
                return None
        # ssh itself ends with 255, also for a command that a signal ended
        if self._ended_as == 255 and "Received exit status" not in _tail(self._log):
            if self._connection.has_ended(0.5):
                self._lost = "the SSH connection was lost"
            self._ended_as = -1
        return self._ended_as

    def lost(self) -> str:
        self.exit_status(0.0)
        return self._lost

    def kill(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._ready.close()
        with contextlib.suppress(BlockingIOError, OSError):
            self._drain_stderr()
        # A thread may be writing; the master has closed its end, which wakes it.
        if self._input.acquire(timeout=1.0):
            with contextlib.suppress(OSError):
                self._stdin.close()
            self._input.release()
        self._stdout.close()
        self._stderr_pipe.close()
        Path(self._log).unlink(missing_ok=True)


class SshHost(Host):
    def __init__(
        self,
        name: str,
        address: str,
        *,
        user: str | None = None,
        port: int | None = None,
        identity_file: str | None = None,
        proxy_command: str | None = None,
        known_hosts: Path | None = None,
        prefix: tuple[str, ...] = (),
        connect_timeout_s: float | None = None,
        keepalive_s: float = KEEPALIVE_S,
        silence_s: float = SILENCE_S,
    ):
        super().__init__(name)
        self.address, self.user, self.port = address, user, port
        self.identity_file, self.known_hosts = identity_file, known_hosts
        self.proxy_command, self.prefix = proxy_command, prefix
        self.connect_timeout_s = connect_timeout_s
        self.keepalive_s, self.silence_s = keepalive_s, silence_s
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            raise HostError(self.name, "is not connected", code="E-HOST-019")
        return self._connection

    def open(self) -> None:
        if self._connection is not None:
            return
        if not shutil.which("ssh"):
            message = "there is no `ssh` program on this machine: install OpenSSH's client"
            raise HostError(self.name, message, code="E-HOST-050")
        if not self.prefix:
            try:
                pwd.getpwuid(os.getuid())
            except KeyError:
                message = (
                    f"ssh refuses this user: no account has the user id {os.getuid()}; add one to "
                    "/etc/passwd, or run the container as a user that is listed there"
                )
                raise HostError(self.name, message, code="E-HOST-052") from None
        words, self._said, timeout_s = self._options()
        connection = Connection(self.address, words=words, prefix=self.prefix)
        try:
            connection.open(timeout_s + LOGIN_SPARE_S)
        except (TimeoutError, ConnectionError) as problem:
            log, complaint = connection.log, connection.complaint
            # a jump host is another ssh, and the connection through it has not begun
            through_jump = "debug1: " in complaint and "debug1: Server host key" not in log
            reason, code = self._explained(problem, complaint if through_jump else log, timeout_s)
            said = "\n".join([*said_by_ssh(complaint), *said_by_ssh(log)])
            raise HostError(self.name, reason, output=said, code=code) from None
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _spawn(self, argv: tuple[str, ...]) -> Pipe:
        connection = self.connection
        problem = connection.words_of_master() if connection.has_ended(0.0) else None
        if problem is None:
            pipe = connection.start(command_line(argv))
            problem = pipe.begin(CONNECT_TIMEOUT_S)
            if not problem:
                return pipe
            pipe.kill()
        if connection.has_ended(0.5):
            problem = connection.words_of_master() or problem
            reason = f"is no longer connected: {problem}"
        else:
            reason = (
                "cannot start a command; it may limit the sessions of a connection (MaxSessions "
                f"in its sshd_config; netlab uses up to 6 at a time): {problem}"
            )
        raise self._error(argv, reason, code="E-HOST-023")

    def _options(self) -> tuple[list[str], dict[str, str], float]:
        """Words for ssh, what its configuration says of the host, and the timeout to connect."""
        for key, value in (("address", self.address), ("user", self.user or "x")):
            if not value or UNSAFE_NAME.search(value):
                raise BadInput(f"is not a {key} for SSH", key=key, value=value, code="E-HOST-051")
        named = {"-l": self.user, "-p": self.port}
        words = [str(word) for item in named.items() if item[1] for word in item]
        if self.identity_file is not None:
            key = os.path.expanduser(self.identity_file)
            if not os.path.exists(key) and not os.path.exists(f"{key}.pub"):
                raise HostError(self.name, f"{key} does not exist", code="E-HOST-031")
            words += ["-i", key.replace("%", "%%"), "-o", "IdentitiesOnly=yes"]
        if self.known_hosts is not None:
            words += option_words(
                (f'UserKnownHostsFile="{self.known_hosts}"', "GlobalKnownHostsFile=/dev/null")
            )
        timeout_s = self.connect_timeout_s
        said = {"hostname": self.address, "port": str(self.port or 22), "user": self.user or ""}
        if self.proxy_command is not None:
            words = ["-F", "none", "-o", f"ProxyCommand={self.proxy_command}", *words]
            words += option_words(("UpdateHostKeys=no", "StrictHostKeyChecking=yes"))
        else:
            resolved = Resolved(self.address, words)
            said |= resolved.values
            words += resolved.words
            configured = said.get("connecttimeout", "")
            if timeout_s is None and configured.isdecimal() and int(configured):
                timeout_s = int(configured)
        timeout_s = CONNECT_TIMEOUT_S if timeout_s is None else timeout_s
        every_s = max(1, round(self.keepalive_s))
        alive = (
            f"ConnectTimeout={max(1, round(timeout_s))}",
            f"ServerAliveInterval={every_s}",
            f"ServerAliveCountMax={max(1, round(self.silence_s / every_s))}",
        )
        return [*words, *option_words((*OWN_OPTIONS, *alive))], said, timeout_s

    def _explained(self, problem: Exception, log: str, timeout_s: float) -> tuple[str, str]:
        """Return what went wrong, with the remedy, and the code of the error."""
        address, port, user = (self._said[key] for key in ("hostname", "port", "user"))
        if reached := re.search(r"^debug1: Authenticating to (\S+):(\d+) as '(.*)'$", log, re.M):
            address, port, user = reached.groups()
        place = address if port == "22" else f"{address}:{port}"
        said = said_by_ssh(log)

        def found(pattern: str) -> re.Match[str] | None:
            return re.search(pattern, log, re.MULTILINE)

        shown = found(r"^debug1: Server host key: (.*)$")
        key = f" ({shown[1]})" if shown else ""
        option = "" if port == "22" else f" -p {port}"
        if found(r"REVOKED HOST KEY DETECTED|was revoked and you|revoked by"):
            return f"the host key of {address} is revoked{key}", "E-HOST-044"
        if found(r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed"):
            name = address if port == "22" else f"[{address}]:{port}"
            return (
                f"the host key of {address} has changed{key}; if the host was reinstalled, remove "
                f"the old key with `ssh-keygen -R {shlex.quote(name)}`"
            ), "E-HOST-025"
        if found(r"^Host key verification failed|No .* host key is known for"):
            return (
                f"the host key of {address} is not known{key}; log in once with "
                f"`ssh{option} {address}` and check it there, or accept it unchecked with "
                f"`ssh-keyscan{option} {address} >> ~/.ssh/known_hosts`"
            ), "E-HOST-024"
        if found(r"Permission denied|Too many authentication failures|No more authentication"):
            return self._refused(log, user, place)
        if match := found(r"Could not resolve hostname (\S+): (.*)"):
            return f"{match[1]} does not resolve: {match[2]}", "E-HOST-028"
        if match := found(r"connect to host (\S+) port (\d+): (.*)"):
            target = match[1] if match[2] == "22" else f"{match[1]}:{match[2]}"
            if "timed out" not in match[3]:
                return f"{target} cannot be reached: {match[3]}", "E-HOST-029"
            return f"{target} did not answer within {timeout_s:g} s", "E-HOST-030"
        if found(r"timed out during banner exchange"):
            return (
                f"{place} sent no SSH banner within {timeout_s:g} s; allow more with "
                "`ConnectTimeout` in ~/.ssh/config"
            ), "E-HOST-053"
        if isinstance(problem, TimeoutError):
            seconds = timeout_s + LOGIN_SPARE_S
            return f"{place} did not complete the login within {seconds:g} s", "E-HOST-054"
        message = f"no SSH session with {place}: {said[0] if said else 'ssh has ended'}"
        if found(r"MaxStartups|kex_exchange_identification"):
            message += "; its sshd may refuse logins at one time (MaxStartups in its sshd_config)"
        return message, "E-HOST-020"

    def _refused(self, log: str, user: str, place: str) -> tuple[str, str]:
        if "with partial success" in log:
            asked = re.search(r"Permission denied \((.*)\)", log)
            return (
                f"the key was accepted for user {user} at {place}, and {asked[1] if asked else ''} "
                "is asked as a second factor, which netlab cannot answer"
            ), "E-HOST-055"
        if "debug1: Server accepts key" in log:
            if "sign_and_send_pubkey" not in log:
                return "the key needs a passphrase; unlock it with `ssh-add`", "E-HOST-026"
        elif "debug1: Offering public key" not in log and "Trying private key" not in log:
            # the protocol of agents does not tell a locked one from an empty one
            locked = " (an agent that is locked shows none: `ssh-add -X`)"
            return (
                "this user has no SSH key, and no agent has one"
                f"{locked if 'SSH_AUTH_SOCK' in os.environ else ''}: make one with "
                "`ssh-keygen -t ed25519` and install it with "
                f"`ssh-copy-id {user}@{place}`"
            ), "E-HOST-036"
        return (
            f"no key or agent was accepted for user {user} at {place} "
            "(netlab uses no passwords); try `ssh-copy-id`"
        ), "E-HOST-027"


# Names of hosts in an SSH configuration, and what it says of each.

_HOST = re.compile(r"\s*host[\s=]+(?P<names>.*)", re.IGNORECASE)


@dataclass(frozen=True)
class SshAlias:
    line: int
    said: dict[str, str | int]
    """Address, user, port and key, where they are named."""
    needs_proxy: bool


def aliases(path: Path) -> dict[str, SshAlias]:
    try:
        text = path.expanduser().read_text(encoding="utf-8")
        config = paramiko.SSHConfig.from_text(text)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise BadInput(message, where=str(path), code="E-HOST-040") from None
    except (paramiko.ConfigParseError, UnicodeDecodeError, ValueError) as error:
        message = f"is not an SSH configuration: {error}"
        raise BadInput(message, where=str(path), code="E-HOST-041") from None
    # as paramiko has read them: a pattern would miss a word with quotes inside, such as ex""ec
    kinds = [match["type"] for block in config._config for match in block.get("matches", ())]
    if "exec" in map(str.lower, kinds):
        message = "`Match exec` runs a command, and an inventory is data: take it out"
        raise BadInput(message, where=str(path), code="E-HOST-045")
    resolved: dict[str, SshAlias] = {}
    blocks_of = _blocks_by_name(config._config)
    for number, line in enumerate(text.splitlines(), start=1):
        match = _HOST.fullmatch(line)
        for name in match["names"].replace('"', " ").split() if match else ():
            if not set(name) & set("*?!") and name not in resolved:
                config._config = blocks_of(name)
                try:
                    resolved[name] = _alias(config.lookup(name), number)
                except (ValueError, KeyError, paramiko.SSHException) as error:
                    at = f"{path}:{number}"
                    message = f"cannot be looked up: {why(error)}"
                    raise BadInput(message, where=at, key=name, code="E-HOST-047") from None
    return resolved


def _blocks_by_name(blocks: list[dict]) -> Callable[[str], list[dict]]:
    """Select the blocks that can match a name; paramiko tries each pattern: minutes for 10,000."""
    literal: dict[str, dict[int, dict]] = defaultdict(dict)
    others = {}
    # which tries the blocks again with another name
    canonical = any("canonicalizehostname" in block["config"] for block in blocks)
    for at, block in enumerate(blocks):
        patterns = block.get("host", ())
        if canonical or not patterns or set("".join(patterns)) & set("*?!["):
            others[at] = block
        else:
            for name in patterns:
                literal[name][at] = {**block, "host": [name]}
    return lambda name: [block for _, block in sorted((others | literal[name]).items())]


def _alias(said: dict, line: int) -> SshAlias:
    named = {"address": said["hostname"], "user": said.get("user")}
    named |= {"port": int(said["port"])} if "port" in said else {}
    named |= {"identity_file": next(iter(said.get("identityfile", ())), None)}
    named = {key: value for key, value in named.items() if value is not None}
    return SshAlias(line, named, "proxycommand" in said or "proxyjump" in said)
