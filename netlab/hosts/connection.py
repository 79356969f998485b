"""One OpenSSH connection of a host, and the commands that run over it."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import fabric
import invoke
import paramiko

from netlab.hosts.command_output import CommandOutput
from netlab.hosts.controls import CONTROLS
from netlab.hosts.line_process import STDERR_KEPT_BYTES
from netlab.hosts.terminal import ASK_TIMEOUT_S, Terminal

CONNECT_TIMEOUT_S = 8
LOGIN_SPARE_S = 30.0
"""Time after the connection for keys, a touch of a security key, or an agent that asks."""
KEEPALIVE_S = 5
SILENCE_S = 15
LOG_BYTES = 1 << 20


# Errors are raised; without a handler paramiko would also print tracebacks into notebooks.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def option_words(options: tuple[str, ...]) -> list[str]:
    return [word for option in options for word in ("-o", option)]


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

    The master has a session or a process group of its own: a Ctrl-C at the terminal does not close
    the connection that clean-up needs.
    """

    def __init__(self, host: str, *, words: Sequence[str] = (), prefix: tuple[str, ...] = ()):
        # fabric reads no configuration
        config = fabric.Config(ssh_config=paramiko.SSHConfig(), lazy=True)
        config.runners.remote = LocalSsh
        super().__init__("netlab", config=config)
        self._set(_target=host, _words=words, _prefix=prefix, _master=None, _path=None)
        self._set(log="", complaint="", _stays=False)

    @classmethod
    def adopted(cls, path: Path) -> Self | None:
        """A login that `ask` has left, in this process or another; None without one."""
        master = SharedMaster(f"{path}.sock")
        if master.poll() is not None:
            return None
        connection = cls(path.name)
        connection._set(_path=path, _master=master, _stays=True)
        return connection

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
        environment = {**os.environ, "SSH_ASKPASS_REQUIRE": "never"}
        environment.pop("SSH_ASKPASS", None)
        self._start(CONTROLS.path(), [], start_new_session=True, env=environment)
        self._wait(timeout_s)

    def ask(self, path: Path, terminal: Terminal) -> None:
        """Log in, with ssh asking at the terminal; the login stays until this process ends.

        KeyboardInterrupt, or as `open`.
        """
        with terminal.lock:
            if terminal.interrupted:
                raise KeyboardInterrupt
            terminal.print(f"netlab: ssh asks for {self._target}")
            self._start(path, option_words(("BatchMode=no",)), process_group=0)
            with terminal.foreground(self.pid):
                self._wait(ASK_TIMEOUT_S, terminal)
            self._set(_stays=True)

    def _start(self, path: Path, words: list[str], **how: Any) -> None:
        # with -v the stderr of a ProxyCommand stays as well
        argv = [*self._prefix, "ssh", *words, "-v", "-M", "-N", "-T", "-S", f"{path}.sock"]
        argv += ["-E", f"{path}.log", *self._words, "--", self._target]
        Path(f"{path}.sock").unlink(missing_ok=True)
        with open(f"{path}.err", "ab") as stderr:
            master = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, **how
            )
        self._set(_master=master, _path=path)
        Path(f"{path}.pid").write_text(str(master.pid))

    def _wait(self, timeout_s: float, terminal: Terminal | None = None) -> None:
        master, path, printed = self._master, self._path, 0
        deadline = time.monotonic() + timeout_s
        while not os.path.exists(f"{path}.sock"):
            if terminal:
                lines = said_by_ssh(_tail(f"{path}.log"))
                for line in lines[printed:]:
                    terminal.print(f"\n{line}")  # the prompt may be first
                printed = len(lines)
            with contextlib.suppress(subprocess.TimeoutExpired):
                interrupted = master.wait(0.005) == -signal.SIGINT
                self._end()
                if terminal and interrupted:
                    terminal.interrupted = True
                    raise KeyboardInterrupt
                raise ConnectionError
            if time.monotonic() > deadline:
                self._end()
                raise TimeoutError
        os.truncate(f"{path}.log", 0)

    def words_of_master(self) -> str:
        """Return what ssh has printed of the connection, without its debug output."""
        return "\n".join(said_by_ssh(_tail(f"{self._path}.log")))

    def has_ended(self, timeout_s: float) -> bool:
        """True if the master has ended, or does within the time."""
        deadline = time.monotonic() + timeout_s
        while self.is_connected:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True

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
        """Disconnect; a login that stays is left to others."""
        if self._master is not None and not self._stays:
            self._end()
        self._set(_master=None)

    def _end(self) -> None:
        master, path = self._master, self._path
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


class SharedMaster:
    """A master by its socket; the process that has started it ends it."""

    def __init__(self, socket_path: str):
        self._socket_path = socket_path

    def poll(self) -> int | None:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(self._socket_path)
            except OSError:
                return 0
        return None


def _tail(file: str) -> str:
    with contextlib.suppress(OSError), open(file, "rb") as opened:
        opened.seek(max(0, os.path.getsize(file) - (1 << 16)))
        return opened.read().decode("utf-8", "replace").replace("\r", "")
    return ""


def said_by_ssh(log: str) -> list[str]:
    own = r"debug\d: |OpenSSH_|Authenticated (to|using) |Transferred: |Bytes per second: |\s*$"
    return [line for line in log.splitlines() if not re.match(own, line)]


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

    @property
    def has_begun(self) -> bool:
        """True once the login shell has started the command, past its start-up files."""
        return self._output.has_begun

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
