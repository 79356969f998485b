"""A process forked from this one while it has a single thread, from which kernels are forked.

They have imported already what this process has, which takes a new interpreter some seconds.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import select
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

from netlab.errors import NetlabError
from netlab.files.interrupts import interrupts_wait

REPLY_S = 120.0
"""Longest time for an answer, which includes a call for all kernels."""

_HANDLED = (signal.SIGHUP, signal.SIGTERM)


@dataclass(frozen=True)
class Call:
    """A function to call with some arguments, such as one that loads results.

    Parameters
    ----------
    module, function : str
        Where it is.
    arguments : tuple of str
        What it is given.
    """

    module: str
    function: str
    arguments: tuple[str, ...] = ()

    def make(self) -> None:
        """Call it here."""
        getattr(importlib.import_module(self.module), self.function)(*self.arguments)

    @property
    def code(self) -> str:
        """The same as code for a kernel."""
        return f"import {self.module}\n{self.module}.{self.function}{self._given}\n"

    @property
    def _given(self) -> str:
        return f"({', '.join(map(repr, self.arguments))})"


class ForkServer:
    """The server, as the process sees it that forked it.

    Parameters
    ----------
    connection : Connection
        The pipe to it; closing it ends the server.
    pid : int
        Its process.
    """

    def __init__(self, connection: Connection, pid: int):
        self._connection, self._pid = connection, pid
        self._lock = threading.Lock()
        self._called: set[Call] = set()

    def call(self, call: Call) -> None:
        """Call a function once for all kernels that are forked later.

        Raises
        ------
        NetlabError
            It failed, or the server does not answer.
        """
        with interrupts_wait(), self._lock:
            if call in self._called:
                return
            self._ask(("call", call))
            self._called.add(call)

    def fork(self, arguments: list[str], log: Path) -> ForkedProcess:
        """Fork a kernel with the working directory and the environment of this process.

        Parameters
        ----------
        arguments : list of str
            Those of ``ipykernel_launcher``.
        log : Path
            Takes the kernel's own standard error.

        Raises
        ------
        NetlabError
            The server does not answer, or the kernel ended at once.
        """
        with interrupts_wait(), self._lock:
            pid = self._ask(("fork", arguments, str(log), os.getcwd(), dict(os.environ)))
            try:
                return ForkedProcess(int(pid))
            except ProcessLookupError:
                raise NetlabError("a kernel ended at once", code="E-NOTEBOOKS-017") from None

    def close(self) -> None:
        """End the server; kernels that still run end within a second."""
        self._connection.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _ask(self, request: tuple[object, ...]) -> Any:
        try:
            self._connection.send(request)
            if not self._connection.poll(REPLY_S):
                raise EOFError
            done, value = self._connection.recv()
        except (EOFError, OSError):
            raise NetlabError(
                "the process that starts kernels does not answer", code="E-NOTEBOOKS-018"
            ) from None
        if not done:
            raise NetlabError(f"what kernels share failed: {value}", code="E-NOTEBOOKS-019")
        return value


class ForkedProcess:
    """A forked kernel; what jupyter_client calls of a ``subprocess.Popen``.

    Raises
    ------
    ProcessLookupError
        It has ended already.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """0 once it has ended, else None: only its parent learns how."""
        if self.returncode is None and select.select([self._pidfd], [], [], 0)[0]:
            os.close(self._pidfd)
            self.returncode = 0
        return self.returncode

    def wait(self) -> int:
        """Wait until it has ended."""
        if self.poll() is None:
            select.select([self._pidfd], [], [])
        return self.poll() or 0

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)


class ForkProvisioner(LocalProvisioner):
    """Starts a kernel from the server instead of an interpreter of its own."""

    server: ForkServer
    log_file: Path

    async def launch_kernel(self, cmd: list[str], **_settings: object) -> KernelConnectionInfo:
        """Fork the kernel; of its command only what follows the module counts."""
        started = self.server.fork(cmd[cmd.index("-f") :], self.log_file)
        self.process = cast("Any", started)
        self.pid = self.pgid = started.pid
        return self.connection_info


_running: ForkServer | None = None


def running() -> ForkServer | None:
    """The server of this process; None without one."""
    return _running


@contextmanager
def fork_server(*modules: str) -> Iterator[None]:
    """Start kernels by a fork inside the block, with these modules imported.

    Without effect where a fork is not safe or not possible: in a process with several threads, or
    on a kernel before Linux 5.3. Kernels then start as a new interpreter.

    Parameters
    ----------
    *modules : str
        Their full names.
    """
    global _running
    for module in modules:
        importlib.import_module(module)
    if _running is not None or threading.active_count() > 1 or not _has_pidfd():
        yield
        return
    with interrupts_wait():
        _running = _started()
    try:
        yield
    finally:
        with interrupts_wait():
            server, _running = _running, None
            server.close()


def _has_pidfd() -> bool:
    try:
        pidfd = os.pidfd_open(os.getpid())
        try:
            signal.pidfd_send_signal(pidfd, 0)
        finally:
            os.close(pidfd)
    except (AttributeError, OSError):
        return False
    return True


def _started() -> ForkServer:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # else both processes write what is in the buffer
    ours, theirs = Pipe()
    pid = _fork()
    if pid == 0:
        try:
            ours.close()
            serve(theirs)
        finally:
            os._exit(1)
    theirs.close()
    return ForkServer(ours, pid)


def _fork() -> int:
    with warnings.catch_warnings():
        # threads of numpy and pyarrow count; both are made for it
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def serve(connection: Connection) -> NoReturn:
    """Answer requests until the other end of the pipe is closed; the process ends then.

    Parameters
    ----------
    connection : Connection
        The other end has the :class:`ForkServer`.
    """
    global _running
    _running = None
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in _HANDLED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel
    warnings.showwarning = warnings._showwarning_orig  # type: ignore[attr-defined]
    atexit._clear()
    gc.freeze()
    while True:
        try:
            request = connection.recv()
        except (EOFError, OSError):
            os._exit(0)
        try:
            value = 0
            if request[0] == "call":
                request[1].make()
                gc.freeze()
            elif (value := _fork()) == 0:
                connection.close()
                _become_kernel(*request[1:])
            answer: tuple[bool, object] = (True, value)
        except Exception as error:
            answer = (False, str(error) or type(error).__name__)
        with suppress(OSError):  # the next request finds the pipe closed
            connection.send(answer)


def _become_kernel(
    arguments: list[str], log: str, directory: str, environment: Mapping[str, str]
) -> NoReturn:
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _redirect(os.devnull, os.O_RDONLY, 0)
        _redirect(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 2)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["ipykernel_launcher", *arguments]
        from ipykernel.kernelapp import IPKernelApp

        _do_without_debugger()
        with suppress(SystemExit):
            IPKernelApp.launch_instance(
                argv=[*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
            )
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _do_without_debugger() -> None:
    """Let ipykernel find none: no editor debugs this kernel, and it takes long to import."""
    sys.modules["debugpy"] = None  # type: ignore[assignment]
    importlib.import_module("ipykernel.debugger")
    del sys.modules["debugpy"]


def _redirect(path: str, flags: int, target: int) -> None:
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, target)
    os.close(opened)
