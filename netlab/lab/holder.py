"""User and mount namespaces of a lab that is made without root, and the processes that hold them.

Run as a separate file with the standard library only: a process must have a single thread to enter
a new user namespace, and a notebook's kernel has many.

    python -I -S holder.py hold STATE BUSY
    python -I -S holder.py run PROGRAM [ARGUMENT]...
    python -I -S holder.py read DIRECTORY PROGRAM [ARGUMENT]...

`hold` starts two processes and returns when both are ready:

* the outer one has a user namespace in which the user keeps his number, and a mount namespace with
  an account of the lab in /etc/passwd. The sshd of a lab host runs there: as root it would want the
  account of its privilege separation, and a user may map only his own.
* the inner one has a user namespace below it, in which the user is root. The network namespaces are
  created there, so they belong to it, and all that a lab host does runs there as root.

The file `holders` in STATE gets their process ids, and is locked as long as they live. BUSY is a
locked descriptor, closed when both are ready. The inner process ends with the outer one, and the
namespaces with the last process inside.

`run` runs a program as root of nameless namespaces of the same kind, which end with it; `read` as
well, and it can only read DIRECTORY. They have no network.

A failure is printed on standard error as ``STEP: ERROR``, with exit status 3.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

HOLDERS = "holders"
"""File in a lab's state: process ids of the outer and the inner process, locked while they live."""
PASSWD = "passwd"
FAILED = 3

# from <linux/sched.h>, <sys/mount.h> and <linux/prctl.h>
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG = 1


def _failure(step: str, number: int) -> OSError:
    return OSError(number, f"{step}: {os.strerror(number)}")


def _call(step: str, function: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        raise _failure(step, ctypes.get_errno())


def _write(step: str, path: str, text: str) -> None:
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise _failure(step, error.errno or 0) from None


def _mount(step: str, source: str, target: str, kind: str | None, flags: int) -> None:
    words = (source.encode(), target.encode(), None if kind is None else kind.encode())
    _call(step, "mount", *words, ctypes.c_ulong(flags), b"mode=755" if kind == "tmpfs" else None)


def _enter(user: int, group: int, more: int = 0) -> None:
    """Enter a new user and a new mount namespace, in which this process has these numbers."""
    outside_user, outside_group = os.geteuid(), os.getegid()
    _call("user namespace", "unshare", CLONE_NEWUSER)
    _write("user namespace", "/proc/self/setgroups", "deny")
    _write("user namespace", "/proc/self/uid_map", f"{user} {outside_user} 1\n")
    _write("user namespace", "/proc/self/gid_map", f"{group} {outside_group} 1\n")
    _call("namespaces", "unshare", CLONE_NEWNS | more)
    _mount("mount", "none", "/", None, MS_REC | MS_PRIVATE)


def _enter_outer(passwd: str | None) -> None:
    _enter(os.geteuid(), os.getegid())
    # the place of `ip netns`; sockets of the machine's name services are not below it any more
    _mount("mount", "tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV)
    os.mkdir("/run/netns", 0o755)
    if passwd is not None:
        _mount("mount", passwd, "/etc/passwd", None, MS_BIND)


def _fork_inner(*others: int) -> tuple[int, int]:
    """Fork a process that enters the inner namespaces, without the `others`; its id and a pipe."""
    reading, writing = os.pipe()
    outer, pid = os.getpid(), os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    for descriptor in (reading, *others):
        os.close(descriptor)
    _call("death signal", "prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != outer:
        os._exit(FAILED)
    _reporting(writing, lambda: _enter(0, 0, CLONE_NEWNET))
    while True:
        signal.pause()


def _reporting(writing: int, work: Callable[[], None]) -> None:
    """Do some work and write its error, or nothing, to a pipe; end the process on an error."""
    try:
        work()
    except OSError as error:
        os.write(writing, str(error.strerror or error).encode())
        os._exit(FAILED)
    os.close(writing)


def _read(reading: int) -> str:
    with os.fdopen(reading, "rb") as report:
        return report.read().decode()


def _hold(state: Path, busy: int, writing: int) -> None:
    """Enter the outer namespaces, start the inner process, write the ids of both."""
    _enter_outer(str(state / PASSWD))
    inner, reading = _fork_inner(busy, writing)
    error = _read(reading)
    if error:
        os.write(writing, error.encode())
        os._exit(FAILED)
    partial = state / f"{HOLDERS}.partial"
    holders = os.open(partial, os.O_WRONLY | os.O_CREAT, 0o600)  # stays open, for the lock
    fcntl.flock(holders, fcntl.LOCK_EX)
    os.write(holders, f"{os.getpid()} {inner}\n".encode())
    partial.replace(state / HOLDERS)


def hold(state: Path, busy: int) -> int:
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        os.close(busy)
        error = _read(reading)
        sys.stderr.write(error)
        return FAILED if error else 0
    os.close(reading)
    os.setsid()
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    _reporting(writing, lambda: _hold(state, busy, writing))
    os.close(busy)
    os.wait()
    os._exit(0)


def run(argv: list[str], read_only: str = "") -> None:
    """Run a program as root of nameless namespaces; its exit status is this process's."""
    _enter_outer(None)
    if read_only:
        # the namespaces below may not undo it; what is forbidden already has to stay so
        kept = os.statvfs(read_only).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
        _mount("mount", read_only, read_only, None, MS_BIND)
        _mount("mount", "none", read_only, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)
    _enter(0, 0, CLONE_NEWNET | CLONE_NEWUTS)
    os.execvp(argv[0], argv)


def main(argv: list[str]) -> int:
    try:
        if argv[0] == "hold":
            return hold(Path(argv[1]), int(argv[2]))
        if argv[0] == "read":
            run(argv[2:], argv[1])
        run(argv[1:])
    except OSError as error:
        sys.stderr.write(str(error.strerror or error))
    return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
