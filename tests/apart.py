"""A network, /run and task groups of its own for a worker, so that labs beside it do not meet it.

Tests that make labs compare the whole machine before and after. Workers that run such tests side
by side each move into namespaces: what one makes, the other cannot see.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from waiting import until

from netlab.lab.reaper import NAMESPACES, cpu_hierarchies

WANTED = "NETLAB_TESTS_APART"
"""Environment variable that has the workers of pytest move apart."""
# from <linux/sched.h>
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWNET = 0x40000000


def is_wanted() -> bool:
    """True in a worker that is to move; only root can."""
    return WANTED in os.environ and "PYTEST_XDIST_WORKER" in os.environ and os.geteuid() == 0


@dataclass(frozen=True)
class TaskGroup:
    """A group below the top of a hierarchy, which cannot be seen any more from inside it."""

    top: int
    procs: int
    name: str

    @classmethod
    def enter(cls, mount: Path, name: str) -> TaskGroup:
        """Create a group and move this process into it."""
        top = os.open(mount, os.O_RDONLY | os.O_DIRECTORY)
        os.mkdir(name, dir_fd=top)
        group = cls(top, os.open(mount / "cgroup.procs", os.O_WRONLY), name)
        (mount / name / "cgroup.procs").write_text(str(os.getpid()))
        return group

    def leave(self) -> None:
        """Move this process back to the top, and remove the group."""
        os.write(self.procs, b"%d" % os.getpid())
        until(self._is_removed)

    def _is_removed(self) -> bool:
        """Remove the group; false while a process of the last test is about to end."""
        try:
            os.rmdir(self.name, dir_fd=self.top)
        except OSError:
            return False
        return True


def move() -> list[TaskGroup]:
    """Move this process, and all that it starts from this thread, into new namespaces.

    Returns
    -------
    list of TaskGroup
        To be left at the end.
    """
    groups, mounts = [], cpu_hierarchies()
    for mount, _ in mounts:
        # where no group can be made, labs make none either
        with contextlib.suppress(PermissionError):
            groups.append(TaskGroup.enter(mount, f"tests-{os.getpid()}"))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWCGROUP) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    _run("mount", "--make-rprivate", "/")
    # a mount that the new /run hides would count as one of this namespace
    hidden = ("umount", "--quiet", "--lazy", str(NAMESPACES))
    while subprocess.run(hidden, stderr=subprocess.DEVNULL).returncode == 0:
        pass
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    os.mkdir("/run/sshd", 0o755)  # sshd's package has made it
    for mount, version in mounts:
        # mounted anew, a hierarchy begins at the group of this namespace
        _run("umount", str(mount))
        kind = ("cgroup2",) if version == 2 else ("cgroup", "-o", "cpu")
        _run("mount", "-t", *kind, "cgroup", str(mount))
    _run("ip", "link", "set", "lo", "up")
    return groups


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)
