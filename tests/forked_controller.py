"""Controllers forked from a process that has imported netlab: a new interpreter takes 1.5 s of CPU.

They are processes of their own all the same, which tests may kill.
"""

from __future__ import annotations

import atexit
import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from apart import CLONE_NEWNET, CLONE_NEWNS

from netlab.lab.reaper import NAMESPACES

ROOT = Path(__file__).resolve().parents[1]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("netlab.cli", "netlab.experiment.campaign", "netlab.face.block"),
        *("ipykernel.kernelapp", "ipykernel.zmqshell", "pandas.io.formats.style", "scipy.special"),
    ]
)
LOCK = threading.Lock()
"""Two threads that ask for exit codes could both read that of one process."""
# from <linux/mount.h> and <sys/mount.h>
MS_REC, MS_SLAVE, MNT_DETACH = 0x4000, 0x80000, 2


class Controller:
    """What tests use of a ``subprocess.Popen``; the process is the first of a session."""

    def __init__(self, words: Sequence[str], *, home: Path, cwd: Path, namespace: str):
        with LOCK:
            number = len(list(cwd.glob("controller-*.out")))
            outputs = [cwd / f"controller-{number}.{name}" for name in ("out", "err")]
            for path in outputs:
                path.touch(mode=0o600)
            arguments = (words, home, cwd, namespace, outputs)
            self._process = FORKS.Process(target=command, args=arguments)
            self._process.start()
        self.pid = self._process.pid
        self.stdout, self.stderr = (path.open() for path in outputs)

    @property
    def returncode(self) -> int | None:
        """Its exit code, the negative number of a signal, or None while it runs."""
        with LOCK:
            return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.returncode) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("netlab", timeout)
            time.sleep(0.02)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; its standard output and error."""
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def start_controller(argv: Sequence[str], *, home: Path, cwd: Path) -> subprocess.Popen[str]:
    """Start a command in a session of its own, by a new interpreter."""
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    env = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    how = {"stdin": subprocess.DEVNULL, "text": True, "start_new_session": True}
    return subprocess.Popen(list(argv), env=env, cwd=cwd, **pipes, **how)


def command(
    words: Sequence[str], home: Path, cwd: Path, namespace: str, outputs: Sequence[Path]
) -> None:
    """Be netlab's command, in a network namespace as ``ip netns exec`` enters it."""
    os.setsid()
    for number, path in enumerate((Path(os.devnull), *outputs)):
        os.dup2(os.open(path, os.O_RDWR), number)
    os.environ["HOME"] = str(home)
    enter(namespace)
    os.chdir(cwd)
    sys.argv = ["netlab", *words]
    from netlab.__main__ import main

    code = None
    try:
        main()
    except SystemExit as end:
        code = end.code
    # as an interpreter ends, which multiprocessing leaves out
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


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
