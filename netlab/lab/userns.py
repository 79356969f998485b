"""A lab without root: its namespaces belong to a user namespace of the user who makes it.

Two processes hold them (:mod:`netlab.lab.holder`); every tool that works on the lab enters them
first. What the kernel reserves for root of the whole machine is missing there:

* deferral of interrupts, and the processors of a queue (both written to /sys);
* socket buffers beyond the machine's limits;
* loading of modules and of BPF congestion controls.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from netlab.errors import HostError, Unsupported
from netlab.lab import holder, reaper
from netlab.lab.namespaces import tool

LOGIN = "netlab"
"""The account that a user has on the hosts of his lab, also if the machine lists none for him."""
SESSION = "session"
"""File in a lab's state: the shell of that account, which runs commands as the host's root."""
CHECK_S = 20.0


def is_needed() -> bool:
    """True if this user makes labs in a user namespace: everyone but root."""
    return os.geteuid() != 0


def nameless() -> tuple[str, ...]:
    """Command prefix that runs its arguments as root of nameless namespaces."""
    return (sys.executable, "-I", "-S", holder.__file__, "run")


def reading(directory: Path) -> tuple[str, ...]:
    """Command prefix as of :func:`nameless`, for a program that can only read a directory."""
    return (*nameless()[:-1], "read", str(directory))


def check() -> None:
    if not is_needed():
        return
    done = subprocess.run(
        (*nameless(), "true"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CHECK_S,
        process_group=0,
        check=False,
    )
    if done.returncode != 0:
        cause, remedy = refusal(done.stderr.strip())
        raise Unsupported(
            "the lab makes network namespaces; without root it needs a user namespace, which this "
            f"machine refuses: {cause}. Run netlab with sudo{remedy}",
            code="E-LAB-019",
        )


def refusal(said: str, sysctls: Path = Path("/proc/sys")) -> tuple[str, str]:
    known = (
        ("user/max_user_namespaces", "0", "10000"),
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    )
    for name, forbids, permits in known:
        try:
            value = (sysctls / name).read_text().strip()
        except OSError:
            continue
        if value == forbids:
            name = name.replace("/", ".", 1)
            return f"{name} is {value}", f", or permit it: sudo sysctl {name}={permits}"
    if not (sysctls / "user/max_user_namespaces").exists():
        return "the kernel has none (CONFIG_USER_NS)", ""
    return f"{said}; a container or its seccomp profile may forbid it", ""


def start(state: Path, busy: int) -> None:
    account = f"{LOGIN}:x:{os.geteuid()}:{os.getegid()}:netlab:{state}:{state / SESSION}\n"
    (state / holder.PASSWD).write_text(account + Path("/etc/passwd").read_text())
    tool((sys.executable, "-I", "-S", holder.__file__, "hold", str(state), str(busy)), busy=busy)
    if reaper.holders_of(state.name) is None:
        message = "the processes that hold its namespaces have ended"
        raise HostError("lab", message, code="E-LAB-029")
