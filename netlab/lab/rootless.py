"""A lab without root: its namespaces belong to a user namespace of the user who makes it.

Two processes hold them (:mod:`netlab.lab.holder`); every tool that works on the lab enters them
first. What the kernel reserves for root of the whole machine is missing there:

* deferral of interrupts, and the processors of a queue (both written to /sys);
* socket buffers beyond the machine's limits;
* loading of modules and of BPF congestion controls.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from netlab.errors import HostError
from netlab.lab import holder, reaper
from netlab.lab.namespaces import tool

LOGIN = "netlab"
"""The account that a user has on the hosts of his lab, also if the machine lists none for him."""
SESSION = "session"
"""File in a lab's state: the shell of that account, which runs commands as the host's root."""


def rootless() -> bool:
    """True if this user makes labs in a user namespace: everyone but root."""
    return os.geteuid() != 0


def nameless() -> tuple[str, ...]:
    """Command prefix that runs its arguments as root of nameless namespaces."""
    return (sys.executable, "-I", "-S", holder.__file__, "run")


def reading(directory: Path) -> tuple[str, ...]:
    """Command prefix as of :func:`nameless`, for a program that can only read a directory."""
    return (*nameless()[:-1], "read", str(directory))


def hold_namespaces(state: Path, busy: int) -> None:
    account = f"{LOGIN}:x:{os.geteuid()}:{os.getegid()}:netlab:{state}:{state / SESSION}\n"
    (state / holder.PASSWD).write_text(account + Path("/etc/passwd").read_text())
    tool((sys.executable, "-I", "-S", holder.__file__, "hold", str(state), str(busy)), busy=busy)
    if reaper.holders_of(state.name) is None:
        message = "the processes that hold its namespaces have ended"
        raise HostError("lab", message, code="E-LAB-029")
