"""The kernel's task groups: processes that share a CPU as one unit.

With autogroups every session that is in no control group of its own is a task group: the hosts of
a lab, each logged in to, would be groups, and a processor would pass between their ends in ticks,
whatever these leave to one another. Where sessions have a control group to share, as on a machine
with systemd, they are one group. A lab is one group in either case, where the machine lets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netlab.files.recorded_facts import TaskGroupKind
from netlab.lab.reaper import PREFIX, cpu_hierarchies

SHARED: TaskGroupKind = "shared"
OWN_GROUP: TaskGroupKind = "lab"
APART: TaskGroupKind = "session"
"""`SHARED`: all are in the group that netlab is in. `OWN_GROUP`: the lab has one of its own.
`APART`: each session is one, and this machine permits no change of that."""

IN_WORDS = {
    SHARED: "in one task group, netlab's",
    OWN_GROUP: "in one task group, the lab's own",
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
class OwnTaskGroup:
    kind: TaskGroupKind
    hierarchy: Path | None = None


def own_task_group(proc: Path = Path("/proc")) -> OwnTaskGroup:
    if _read(proc / "sys/kernel/sched_autogroup_enabled") in ("", "0"):
        return OwnTaskGroup(SHARED)
    own = [line.split(":", 2) for line in _read(proc / "self/cgroup").splitlines()]
    for mount, version in cpu_hierarchies(proc / "self/mountinfo"):
        if version == 2:
            there = next((path for _, controllers, path in own if not controllers), "/")
            if "cpu" not in _read(mount / "cgroup.controllers").split():
                continue
            # Only below the top has a control group a type: this one is seen as the top.
            if (mount / "cgroup.type").exists():
                return OwnTaskGroup(SHARED)
            if "cpu" not in _read(mount / "cgroup.subtree_control").split():
                continue
        else:
            there = next((path for _, names, path in own if "cpu" in names.split(",")), "/")
        return OwnTaskGroup(APART, mount) if there == "/" else OwnTaskGroup(SHARED)
    return OwnTaskGroup(APART)


def make_task_group(state: Path, hosts: int) -> None:
    """Create the group of a lab where it needs one; ``join`` in its state then enters it."""
    (state / JOIN_FILE).write_text(JOIN)
    hierarchy = own_task_group().hierarchy
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


def in_task_group(state: Path) -> tuple[str, ...]:
    return ("sh", str(state / JOIN_FILE))


def task_group_kind(state: Path) -> TaskGroupKind:
    return OWN_GROUP if (state / LINK).exists() else own_task_group().kind


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
