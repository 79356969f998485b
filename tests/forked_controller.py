"""Controllers forked from a process that has imported netlab: a new interpreter takes 1.5 s of CPU.

They are processes of their own all the same, which tests may kill. Run as a program, this file is
the process that forks them."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from apart import CLONE_NEWNET, CLONE_NEWNS

from netlab.lab.reaper import NAMESPACES

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = (
    *("netlab.cli", "netlab.experiment.campaign", "netlab.face.block"),
    *("ipykernel.kernelapp", "ipykernel.zmqshell", "pandas.io.formats.style", "scipy.special"),
)
REQUEST_B = 65536
# from <linux/mount.h> and <sys/mount.h>
MS_REC, MS_SLAVE, MNT_DETACH = 0x4000, 0x80000, 2
START_S = 60.0


class Controller:
    """A controller; what tests use of a ``subprocess.Popen``.

    Parameters
    ----------
    pid : int
        Its process, the first of a session.
    ended : int
        A pipe with its exit code, once it has ended; empty if the process that forked it was
        killed, which happens with all of the controller's processes only.
    outputs : sequence of Path
        Files of its standard output and error.
    """

    def __init__(self, pid: int, ended: int, outputs: Sequence[Path]):
        self.pid = pid
        self.returncode: int | None = None
        self.stdout, self.stderr = (path.open() for path in outputs)
        self._ended = ended

    def poll(self) -> int | None:
        """Its exit code, the negative number of a signal, or None while it runs."""
        return self._waited(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code."""
        code = self._waited(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("netlab", timeout or 0.0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; its standard output and error."""
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _waited(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            self.returncode = int(os.read(self._ended, 16) or -signal.SIGKILL)
            os.close(self._ended)
        return self.returncode


class Controllers:
    """Starts controllers; the process that forks them is started again if it was killed.

    Parameters
    ----------
    state : Path
        Directory of their log.
    prefix : sequence of str
        Words before a command that run it on the controllers' machine.
    """

    def __init__(self, state: Path, prefix: Sequence[str] = ()):
        self._state, self._prefix = state, prefix
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._number = 0
        self._lock = threading.Lock()

    def start(
        self, words: Sequence[str], *, home: Path, cwd: Path, namespace: str = ""
    ) -> Controller:
        """Start netlab in a session of its own.

        Parameters
        ----------
        words : sequence of str
            Its arguments.
        home, cwd : Path
            Home directory of its user, and the working directory.
        namespace : str
            Network namespace to enter as ``ip netns exec`` does.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self.close()
                self._begin()
            self._number += 1
            outputs = [cwd / f"controller-{self._number}.{name}" for name in ("out", "err")]
            ended, end = os.pipe()
            given = [*(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600) for path in outputs), end]
            request = json.dumps([str(home), str(cwd), namespace, *words]).encode()
            socket.send_fds(self._channel, [request], given)
            for descriptor in given:
                os.close(descriptor)
            return Controller(int(self._channel.recv(REQUEST_B)), ended, outputs)

    def _begin(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START_S)
        with theirs, (self._state / "controllers.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, sys.executable, __file__, str(theirs.fileno())],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def close(self) -> None:
        """End the process that forks."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._channel.close()
            self._process = None


def forked(channel: socket.socket) -> list[str] | None:
    """Answer requests until the channel is closed: None. In each forked process: its arguments."""
    wakeup, signalled = os.pipe()
    for descriptor in (wakeup, signalled):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(signalled)
    running: dict[int, int] = {}
    while True:
        readable, _, _ = select.select([channel, wakeup], [], [])
        if wakeup in readable:
            os.read(wakeup, REQUEST_B)
            report(running)
        if channel not in readable:
            continue
        request, given, _, _ = socket.recv_fds(channel, REQUEST_B, 3)
        if not request:
            return None
        out, error, end = given
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            os.dup2(out, 1)
            os.dup2(error, 2)
            for descriptor in (*given, *running.values(), wakeup, signalled):
                os.close(descriptor)
            channel.close()
            os.environ["HOME"], directory, namespace, *words = json.loads(request)
            if namespace:
                enter(namespace)
            os.chdir(directory)
            return words
        os.close(out)
        os.close(error)
        running[pid] = end
        channel.send(str(pid).encode())


def enter(namespace: str) -> None:
    """Move into a network namespace, with a mount namespace that shows its devices in /sys."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(NAMESPACES / namespace) as place:
        done = [libc.setns(place.fileno(), CLONE_NEWNET)]
    done += [
        libc.unshare(CLONE_NEWNS),
        libc.mount(b"", b"/", b"none", MS_REC | MS_SLAVE, None),
        libc.umount2(b"/sys", MNT_DETACH),
        libc.mount(namespace.encode(), b"/sys", b"sysfs", 0, None),
    ]
    if any(done):
        raise OSError(ctypes.get_errno(), "cannot enter a network namespace", namespace)


def report(running: dict[int, int]) -> None:
    """Write the exit code of each process that has ended into its pipe."""
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            end = running.pop(pid)
            os.write(end, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(end)


def main() -> None:
    """Import netlab, fork, and be netlab's command in each fork."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()
    words = forked(socket.socket(fileno=int(sys.argv[1])))
    if words is not None:
        from netlab.__main__ import main as command

        sys.argv = ["netlab", *words]
        command()


if __name__ == "__main__":
    main()
