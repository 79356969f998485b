"""The kernel's task groups: processes that share a CPU as one unit.

With autogroups every session that is in no control group of its own is a task group: the hosts of a
lab, each logged in to, would be groups, and a processor would pass between their ends in ticks,
whatever these leave to one another. Where sessions have a control group to share, as on a machine
with systemd, they are one group. A lab is one group in either case, where the machine lets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from netlab.lab.reaper import PREFIX, cpu_hierarchies

Kind = Literal["shared", "lab", "session"]
SHARED: Kind = "shared"
OWN: Kind = "lab"
APART: Kind = "session"
"""`SHARED`: all are in the group that netlab is in. `OWN`: the lab has one of its own. `APART`:
each session is one, and this machine permits no change of that."""

IN_WORDS = {
    SHARED: "in one task group, netlab's",
    OWN: "in one task group, the lab's own",
    APART: "each session in a task group of its own",
}

LINK, JOIN_FILE = "task_group", "join"
JOIN = r"""
d=$(dirname "$0")
if [ -e "$d/task_group" ]; then echo 0 > "$d/task_group/cgroup.procs"; fi
exec "$@"
"""
"""Runs its arguments in the lab's group; as a file beside the link to it."""

SHARE = {"cpu.shares": 1024, "cpu.weight": 100}
"""Default weight of a task group, by its file in either version of control groups."""


@dataclass(frozen=True)
class Found:
    """Group of this process, and the directory for a new one."""

    kind: Kind
    hierarchy: Path | None = None


def found(proc: Path = Path("/proc")) -> Found:
    """True if processes that netlab starts here share a task group in any session."""
    if _read(proc / "sys/kernel/sched_autogroup_enabled") in ("", "0"):
        return Found(SHARED)
    own = [line.split(":", 2) for line in _read(proc / "self/cgroup").splitlines()]
    for mount, version in cpu_hierarchies(proc / "self/mountinfo"):
        if version == 2:
            there = next((path for _, controllers, path in own if not controllers), "/")
            if "cpu" not in _read(mount / "cgroup.controllers").split():
                continue
            # Only below the top has a control group a type: this one is seen as the top.
            if (mount / "cgroup.type").exists():
                return Found(SHARED)
            if "cpu" not in _read(mount / "cgroup.subtree_control").split():
                continue
        else:
            there = next((path for _, names, path in own if "cpu" in names.split(",")), "/")
        return Found(APART, mount) if there == "/" else Found(SHARED)
    return Found(APART)


def make(state: Path, hosts: int) -> None:
    """Create the group of a lab where it needs one; ``join`` in its state then enters it."""
    (state / JOIN_FILE).write_text(JOIN)
    hierarchy = found().hierarchy
    if hierarchy is None:
        return
    group = hierarchy / f"{PREFIX}{state.name}"
    try:
        group.mkdir(exist_ok=True)
        for name, one in SHARE.items():
            if (group / name).exists():
                (group / name).write_text(str(max(hosts, 1) * one))
    except OSError:
        return
    (state / LINK).symlink_to(group)


def join(state: Path) -> tuple[str, ...]:
    """Command prefix that runs its arguments in the lab's group."""
    return ("sh", str(state / JOIN_FILE))


def kind(state: Path) -> Kind:
    """Return how the scheduler groups the ends of a lab."""
    return OWN if (state / LINK).exists() else found().kind


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
