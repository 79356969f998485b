"""Remove a lab: the work of ``netlab lab down``, and a process that does it if the owner dies.

Run as a separate file with the standard library only, so that it works whatever happened to the
process, the directory or the environment that made the lab.

    python -I -S reaper.py LAB_ID TOKEN PIDFD

waits until the process of PIDFD dies or standard input ends, then removes the lab with this TOKEN;
the word ``release`` on standard input ends the wait and leaves the lab.
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
from collections.abc import Iterable, Iterator
from pathlib import Path

PREFIX = "nlab-"
NAMESPACES = Path("/run/netns")
HOST_FILES = Path("/run/netlab")
"""Locks and journals of hosts, KIND-INODE.lock and tune-INODE-COOKIE-BOOT.journal."""
PRIVILEGE_SEPARATION = Path("/run/sshd")
BASES = ("/run", "/var/lib", "/var/tmp")
USER_BASES = ("/var/tmp", "/tmp")
SEARCH_PATH = os.pathsep.join(
    (os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin")
)
FOUND = "found.json"
HOLDERS = "holders"
BUSY = "busy"
TOKEN = "token"
TERM_TIMEOUT_S = 3.0
SILENT_S = 1.0
"""A wait for another process is reported after this time."""


def base() -> Path:
    """State of all labs that root made, or this user; the agent in it must be executable."""
    user = os.geteuid()
    # a lab in a user namespace has a /run of its own
    bases, name = (BASES, "netlab") if user == 0 else (USER_BASES, f"netlab-labs-{user}")
    for candidate in bases:
        if os.path.isdir(candidate) and not os.statvfs(candidate).f_flag & os.ST_NOEXEC:
            return Path(candidate) / name
    return Path(bases[-1]) / name


@contextlib.contextmanager
def registry(*, create: bool = False) -> Iterator[Path | None]:
    """Lock all labs of this machine; yield None if there is no lab."""
    where = base()
    while True:
        if create:
            where.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            if create:
                continue
            yield None
            return
        try:
            if os.fstat(lock).st_uid != os.geteuid():
                raise PermissionError(f"{where} belongs to another user")
            _wait_for(lock)
            # the removal of the last lab may have deleted the directory during the wait
            if os.path.isdir(where) and os.path.samestat(os.fstat(lock), os.stat(where)):
                yield where
                return
        finally:
            os.close(lock)


def _wait_for(lock: int) -> None:
    """Lock the labs of this machine; if that takes long, say so once."""
    until = time.monotonic() + SILENT_S
    while time.monotonic() < until:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(0.02)
    print("netlab: waiting for a process that creates or removes a lab", file=sys.stderr)
    fcntl.flock(lock, fcntl.LOCK_EX)


def reserve(lab_id: str, token: str) -> Path | None:
    """Create the state directory of a new lab, marked with a token of its creator."""
    with registry(create=True) as where:
        assert where is not None  # it was created
        _note_machine(where)
        state, fresh = where / lab_id, where / f".{token}"
        if state.exists() or namespaces_of(lab_id):
            return None
        # marked before it gets its name, so that every lab has the token of its creator
        fresh.mkdir(mode=0o700)
        (fresh / TOKEN).write_text(token)
        if os.geteuid() == 0:
            PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
        fresh.rename(state)
        return state


def _note_machine(where: Path) -> None:
    """Record, before the first lab, the state that the removal of the last one restores."""
    note = where / FOUND
    if note.exists() or os.geteuid() != 0:
        return
    machine = {
        "privilege_separation": PRIVILEGE_SEPARATION.is_dir(),
        "namespaces": NAMESPACES.is_dir(),
        "namespaces_mounted": _is_mounted(NAMESPACES),
    }
    partial = where / f"{FOUND}.partial"
    partial.write_text(json.dumps(machine))
    partial.replace(note)


def holders_of(lab_id: str) -> tuple[int, int] | None:
    """The two processes that hold the namespaces of a lab made without root."""
    with contextlib.suppress(OSError, ValueError), open(base() / lab_id / HOLDERS) as holders:
        try:
            fcntl.flock(holders, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            outer, inner = map(int, holders.read().split())
            return outer, inner
    return None


def namespaces_directory(lab_id: str) -> Path:
    """Directory with the names of a lab's network namespaces; it may not exist."""
    if os.geteuid() == 0:
        return NAMESPACES
    holders = holders_of(lab_id)
    return Path(f"/proc/{holders[1]}/root{NAMESPACES}") if holders else base() / lab_id / "netns"


def namespaces_of(lab_id: str) -> list[str]:
    where = namespaces_directory(lab_id)
    if not where.is_dir():
        return []
    return sorted(name for name in os.listdir(where) if name.startswith(f"{PREFIX}{lab_id}-"))


def lab_of(namespace: str) -> str:
    return namespace.removeprefix(PREFIX).partition("-")[0]


def processes_in(namespaces: list[str]) -> list[int]:
    return _processes(_identities(namespaces), "net")


def _processes(inside: set[tuple[int, int]], kind: str) -> list[int]:
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and _runs_in(pid, inside, kind)]


def cpu_hierarchies(mountinfo: Path = Path("/proc/self/mountinfo")) -> list[tuple[Path, int]]:
    """Return mount points of the control groups of the CPU, with their version."""
    hierarchies = []
    with contextlib.suppress(OSError):
        for line in mountinfo.read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
                where = before.split(" ")[4].encode().decode("unicode_escape")
                hierarchies.append((Path(where), 2 if kind == "cgroup2" else 1))
    return hierarchies


def task_groups_of(lab_id: str) -> list[Path]:
    directories = (mount / f"{PREFIX}{lab_id}" for mount, _ in cpu_hierarchies())
    return [group for group in directories if group.is_dir()]


def _identities(namespaces: list[str]) -> set[tuple[int, int]]:
    return _identities_at(namespaces_directory(lab_of(name)) / name for name in namespaces)


def _identities_at(files: Iterable[Path]) -> set[tuple[int, int]]:
    identities = set()
    for file in files:
        with contextlib.suppress(OSError):
            status = os.stat(file)
            identities.add((status.st_dev, status.st_ino))
    return identities


def _runs_in(pid: int, inside: set[tuple[int, int]], kind: str = "net") -> bool:
    return bool(_identities_at([Path(f"/proc/{pid}/ns/{kind}")]) & inside)


def remove(lab_id: str) -> None:
    """End a lab's processes, delete its namespaces and state; leave the machine as found."""
    with registry() as where:
        _remove(where, lab_id)


def remove_own(lab_id: str, token: str) -> None:
    """Remove a lab, complete or not, if it was created under this token."""
    with registry() as where:
        if where is None:
            return
        try:
            owned = (where / lab_id / TOKEN).read_text() == token
        except OSError:
            owned = False
        if owned:
            _remove(where, lab_id)
        else:
            _leave_if_last(where)


def _remove(where: Path | None, lab_id: str) -> None:
    with contextlib.ExitStack() as locks:
        if where is not None and (where / lab_id).is_dir():
            locks.enter_context(_idle(where / lab_id))
        if os.geteuid() != 0:
            _end_user_namespaces(lab_id)
        names = namespaces_of(lab_id)
        identities = _identities(names)
        _end_processes(identities, "net")
        if where is not None:
            _end_strays(where / lab_id)
        for name in names:
            _quietly("ip", "netns", "delete", name)
            # a namespace whose creation was interrupted is a plain file
            with contextlib.suppress(OSError):
                os.unlink(NAMESPACES / name)
        for _, inode in identities:
            for file in HOST_FILES.glob(f"*-{inode}[-.]*"):
                file.unlink(missing_ok=True)
        _remove_task_groups(lab_id)
        if where is not None:
            shutil.rmtree(where / lab_id, ignore_errors=True)
            _leave_if_last(where)


def _leave_if_last(where: Path) -> None:
    directories = [entry for entry in where.iterdir() if entry.is_dir()]
    for entry in directories:
        # its creator would hold the registry: it died between creating and naming it
        if entry.name.startswith("."):
            shutil.rmtree(entry, ignore_errors=True)
    if all(entry.name.startswith(".") for entry in directories):
        _restore_machine(where)
        for entry in where.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            elif not entry.match("*.lock") and not entry.match("tune-*.journal*"):
                entry.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # files of this machine as a host are in it
            where.rmdir()


def _quietly(*argv: str) -> None:
    subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PATH": SEARCH_PATH},
        process_group=0,
        check=False,
    )


@contextlib.contextmanager
def _idle(state: Path) -> Iterator[None]:
    """Hold the lock of a lab; a child of a killed creator keeps it until it is done."""
    with open(state / BUSY, "w") as busy:
        deadline = time.monotonic() + 10.0
        while time.monotonic() < deadline:
            try:
                fcntl.flock(busy, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.02)
        yield


def _end_processes(inside: set[tuple[int, int]], kind: str, spared: tuple[int, ...] = ()) -> None:
    """End the processes in namespaces of a kind, known by device and inode, except those spared."""
    begun = time.monotonic()
    while inside and time.monotonic() - begun < 2 * TERM_TIMEOUT_S:
        gentle = time.monotonic() - begun < TERM_TIMEOUT_S / 10
        pids = [pid for pid in _processes(inside, kind) if pid not in spared]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
                try:
                    if _runs_in(pid, inside, kind):
                        signal.pidfd_send_signal(
                            handle, signal.SIGTERM if gentle else signal.SIGKILL
                        )
                finally:
                    os.close(handle)
        time.sleep(0.02)


def _end_strays(state: Path) -> None:
    """End emulators and agents of a lab whose namespace was deleted under them: it has no name."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(int(entry))
            try:
                if _is_of_lab(Path("/proc") / entry, f"{state}/"):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


def _is_of_lab(process: Path, place: str) -> bool:
    """True if a process is netlab's C core with a file of the lab open."""
    program = os.readlink(process / "exe")
    if not Path(program).name.startswith("gensink"):
        return False
    opened = (os.readlink(process / "fd" / name) for name in os.listdir(process / "fd"))
    return program.startswith(place) or any(file.startswith(place) for file in opened)


def _end_user_namespaces(lab_id: str) -> None:
    """End all processes in the user namespaces of a lab; its network namespaces end with them."""
    holders = holders_of(lab_id)
    if holders is None:
        return
    users = _identities_at(Path(f"/proc/{pid}/ns/user") for pid in holders)
    # the holders last: as long as they live no other namespace gets these inodes
    _end_processes(users, "user", spared=holders)
    deadline = time.monotonic() + TERM_TIMEOUT_S
    while holders_of(lab_id) == holders and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            os.kill(holders[0], signal.SIGKILL)
        time.sleep(0.005)


def _remove_task_groups(lab_id: str) -> None:
    deadline = time.monotonic() + TERM_TIMEOUT_S
    while (groups := task_groups_of(lab_id)) and time.monotonic() < deadline:
        for group in groups:
            try:
                group.rmdir()
            except OSError:  # a killed process has not exited yet
                time.sleep(0.02)


def _restore_machine(where: Path) -> None:
    try:
        machine = json.loads((where / FOUND).read_text())
    except (OSError, ValueError):
        return
    if not machine["privilege_separation"] and not _sshd_runs():
        with contextlib.suppress(OSError):
            PRIVILEGE_SEPARATION.rmdir()
    if not NAMESPACES.is_dir() or os.listdir(NAMESPACES):
        return
    if not machine["namespaces_mounted"] and _is_mounted(NAMESPACES):
        _quietly("umount", str(NAMESPACES))
    if not machine["namespaces"]:
        with contextlib.suppress(OSError):
            NAMESPACES.rmdir()


def _sshd_runs() -> bool:
    for entry in os.listdir("/proc"):
        # a zombie has no exe
        with contextlib.suppress(OSError):
            if os.path.basename(os.readlink(f"/proc/{entry}/exe")).startswith("sshd"):
                return True
    return False


def _is_mounted(path: Path) -> bool:
    # os.path.ismount does not see a directory that is mounted on itself, as ip mounts this one.
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == str(path) for line in mounts)


def main(argv: list[str]) -> int:
    lab_id, token, owner = argv[0], argv[1], int(argv[2])
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
    remove_own(lab_id, token)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
