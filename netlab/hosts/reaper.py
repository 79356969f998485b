"""Remove a lab: what ``netlab lab down`` does, and a process that does it when the owner dies.

Run as a file of its own, with the standard library and nothing else, so that it works whatever has
happened to the process, the directory or the environment that made the lab.

    python -I -S reaper.py LAB_ID PIDFD

waits until the process behind PIDFD dies or standard input ends, and removes the lab; the word
``release`` on standard input lets the lab live.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "nlab-"
NAMESPACES = Path("/run/netns")
PRIVILEGE_SEPARATION = Path("/run/sshd")
BASES = ("/run", "/var/lib", "/var/tmp")
SEARCH_PATH = os.pathsep.join(
    (os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin")
)
FOUND = "found.json"
BUSY = "busy"
PATIENCE_S = 3.0


def base() -> Path:
    """Directory under which all labs of this machine keep their state.

    It must be one from which programs can be executed: hosts of the lab keep the agent there.
    """
    for candidate in BASES:
        if os.path.isdir(candidate) and not os.statvfs(candidate).f_flag & os.ST_NOEXEC:
            return Path(candidate) / "netlab"
    return Path(BASES[-1]) / "netlab"


@contextlib.contextmanager
def registry(*, create: bool = False) -> Iterator[Path | None]:
    """Hold the one lock over all labs of this machine; None if there is no lab at all."""
    where = base()
    while True:
        if create:
            where.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            if create:
                continue
            yield None
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # The last lab may have taken the directory with it while we waited.
            if os.path.isdir(where) and os.path.samestat(os.fstat(lock), os.stat(where)):
                yield where
                return
        finally:
            os.close(lock)


def note_machine(where: Path) -> None:
    """Write down, before the first lab, what the last one has to put back. Registry held."""
    note = where / FOUND
    if note.exists():
        return
    found = {
        "privilege_separation": PRIVILEGE_SEPARATION.is_dir(),
        "namespaces": NAMESPACES.is_dir(),
        "namespaces_mounted": os.path.ismount(NAMESPACES) or _is_bind(NAMESPACES),
    }
    note.write_text(json.dumps(found))


def namespaces_of(lab_id: str) -> list[str]:
    """Names of the network namespaces that belong to a lab."""
    if not NAMESPACES.is_dir():
        return []
    return sorted(name for name in os.listdir(NAMESPACES) if name.startswith(f"{PREFIX}{lab_id}-"))


def processes_in(namespaces: list[str]) -> list[int]:
    """Process ids that run in any of the namespaces."""
    inside = _identities(namespaces)
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and _runs_in(pid, inside)]


def _identities(namespaces: list[str]) -> set[tuple[int, int]]:
    found = set()
    for name in namespaces:
        with contextlib.suppress(OSError):
            status = os.stat(NAMESPACES / name)
            found.add((status.st_dev, status.st_ino))
    return found


def _runs_in(pid: int, inside: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(f"/proc/{pid}/ns/net")
    except OSError:
        return False
    return (status.st_dev, status.st_ino) in inside


def remove(lab_id: str) -> None:
    """End a lab's processes, delete its namespaces and state, and leave the machine as found.

    Nothing happens where nothing is left; another lab is not disturbed.
    """
    with registry() as where:
        state = None if where is None else where / lab_id
        if state is not None and state.is_dir():
            _wait_until_idle(state)
        names = namespaces_of(lab_id)
        _end_processes(names)
        for name in names:
            subprocess.run(
                ("ip", "netns", "delete", name),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PATH": SEARCH_PATH},
                process_group=0,
                check=False,
            )
            # One that was cut short while it was made is a plain file.
            with contextlib.suppress(OSError):
                os.unlink(NAMESPACES / name)
        if where is None or state is None:
            return
        shutil.rmtree(state, ignore_errors=True)
        if not any(entry.is_dir() for entry in where.iterdir()):
            _restore_machine(where)
            shutil.rmtree(where, ignore_errors=True)


def _wait_until_idle(state: Path) -> None:
    # A maker that was killed may have left a child at work; it holds this lock until it is done.
    with open(state / BUSY, "w") as busy:
        deadline = time.monotonic() + 10.0
        while time.monotonic() < deadline:
            try:
                fcntl.flock(busy, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                time.sleep(0.02)


def _end_processes(names: list[str]) -> None:
    begun = time.monotonic()
    inside = _identities(names)
    while names and time.monotonic() - begun < 2 * PATIENCE_S:
        gentle = time.monotonic() - begun < PATIENCE_S / 10
        pids = processes_in(names)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
                try:
                    if _runs_in(pid, inside):
                        signal.pidfd_send_signal(
                            handle, signal.SIGTERM if gentle else signal.SIGKILL
                        )
                finally:
                    os.close(handle)
        time.sleep(0.02)


def _restore_machine(where: Path) -> None:
    try:
        found = json.loads((where / FOUND).read_text())
    except (OSError, ValueError):
        return
    if not found["privilege_separation"] and not _sshd_runs():
        with contextlib.suppress(OSError):
            PRIVILEGE_SEPARATION.rmdir()
    if not NAMESPACES.is_dir() or os.listdir(NAMESPACES):
        return
    if not found["namespaces_mounted"] and _is_bind(NAMESPACES):
        subprocess.run(
            ("umount", str(NAMESPACES)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
            check=False,
        )
    if not found["namespaces"]:
        with contextlib.suppress(OSError):
            NAMESPACES.rmdir()


def _sshd_runs() -> bool:
    for entry in os.listdir("/proc"):
        # A process that has ended but is not yet waited for has no exe.
        with contextlib.suppress(OSError):
            if os.path.basename(os.readlink(f"/proc/{entry}/exe")).startswith("sshd"):
                return True
    return False


def _is_bind(path: Path) -> bool:
    # os.path.ismount does not see a directory that is mounted on itself.
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == str(path) for line in mounts)


def main(argv: list[str]) -> int:
    """Wait for the owner's end, then remove the lab."""
    lab_id, owner = argv[0], int(argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    watched = select.poll()
    watched.register(owner, select.POLLIN)
    watched.register(0, select.POLLIN | select.POLLHUP)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    ready = dict(watched.poll())
    if 0 in ready and os.read(0, 64).startswith(b"release"):
        return 0
    remove(lab_id)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
