"""Machines of a run: which ends share one, and what of netlab runs there beside its agents.

Containers, namespaces and a host with itself are several hosts on one kernel. Counters of CPUs,
interrupts and the softnet backlog are the kernel's, so that both ends report the same ones.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

from netlab.files.recorded_facts import HostFacts

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""Random at each boot, and one for all containers and namespaces of a kernel."""


def one_machine(facts: Mapping[str, HostFacts]) -> bool:
    boots = {host["boot_id"] for host in facts.values()}
    return len(facts) > 1 and len(boots) == 1 and None not in boots


def with_controller(facts: Mapping[str, HostFacts]) -> frozenset[str]:
    """Those of the hosts that run on the same kernel as this process."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            own = file.read().strip()
    except OSError:
        return frozenset()
    return frozenset(name for name, host in facts.items() if host["boot_id"] == own)


def controller_processes() -> Counter[tuple[str, int]]:
    """Name and start, in ticks since boot, of this process and of those of netlab it descends from.

    A notebook's kernel is a child of the command that runs it, in the same Python. Start times are
    the same in every PID namespace, process ids are not.
    """
    own: Counter[tuple[str, int]] = Counter()
    pid, python = os.getpid(), _program(os.getpid())
    while python and _program(pid) == python:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                head, _, rest = file.read().rpartition(") ")
        except OSError:
            break
        fields = rest.split()
        own[head.partition("(")[2], int(fields[19])] += 1
        pid = int(fields[1])
    return own


def _program(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""
