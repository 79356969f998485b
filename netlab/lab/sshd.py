"""The sshd of a lab host: one process per connection, on its streams, with no port.

In a lab made without root sshd itself runs as the user, outside the host's namespaces; the shell of
its account enters them for each command.
"""

from __future__ import annotations

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from netlab.lab import namespaces
from netlab.lab.namespaces import as_account, tool
from netlab.lab.reaper import PREFIX, SEARCH_PATH, cpu_hierarchies

# The kernel's task groups: processes that share a CPU as one unit.
#
# With autogroups every session that is in no control group of its own is a task group: the hosts of
# a lab, each logged in to, would be groups, and a processor would pass between their ends in ticks,
# whatever these leave to one another. Where sessions have a control group to share, as on a machine
# with systemd, they are one group. A lab is one group in either case, where the machine lets it.

TaskGroupKind = Literal["shared", "lab", "session"]
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


# Arguments: the host's name, the sshd to run. The hostname is that of a UTS namespace of its own.
SERVE = r"""
set -e
printf %s "$1" > /proc/sys/kernel/hostname
d=$(dirname "$0")/hosts/$1
exec "$2" -i -f "$d/sshd_config" -E "$d/sshd.log"
"""
# The client of ssh, which runs this, is in the namespaces of the account already.
SERVE_AS_USER = r"""
set -e
d=$(dirname "$0")
exec "$2" -i -f "$d/hosts/$1/sshd_config" -E "$d/hosts/$1/sshd.log"
"""
# The account's shell, called as `-c COMMAND`; sshd sets HOME to STATE/hosts/HOST/home.
SESSION = r"""#!/bin/sh
host=${HOME%/home}
d=${host%/hosts/*}
host=${host##*/}
read -r outer inner < "$d/holders"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
exec nsenter --target "$inner" --user --mount --net --preserve-credentials -- \
  ip netns exec "PREFIX${d##*/}-$host" unshare --uts -- \
  sh -c 'hostname "$1"; shift; cd "$HOME"; exec sh "$@"' session "$host" "$@"
""".replace("PREFIX", PREFIX)
# Key exchanges made to outlast quantum computers take 0.1 s of CPU time of each login.
CONFIG = """\
HostKey {host}/host_key
AuthorizedKeysFile {state}/user_key.pub
AllowUsers {user}
AuthenticationMethods publickey
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM {pam}
PidFile none
UseDNS no
PrintMotd no
PrintLastLog no
LogLevel ERROR
MaxSessions 64
LoginGraceTime 20
KexAlgorithms -sntrup*,mlkem*
AllowTcpForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
PermitUserRC no
SetEnv HOME={host}/home
"""


def login() -> str:
    """Return the login of lab hosts: the account that creates the lab, or without root its own."""
    if namespaces.rootless():
        return namespaces.LOGIN
    return pwd.getpwuid(os.geteuid()).pw_name


def prepare(state: Path, hosts: tuple[str, ...], busy: int | None = None) -> None:
    _make_key(state.name, state / "user_key", busy)
    (state / "hosts").mkdir(mode=0o700)
    (state / "serve").write_text(SERVE_AS_USER if namespaces.rootless() else SERVE)
    (state / namespaces.SESSION).write_text(SESSION)
    (state / namespaces.SESSION).chmod(0o700)
    lines = []
    for host in hosts:
        directory = state / "hosts" / host
        directory.mkdir(mode=0o700)
        # a home of its own: no start-up files of the user run, and no cache is left there
        (directory / "home").mkdir(mode=0o700)
        _make_key(state.name, directory / "host_key", busy)
        lines.append(f"{host} {(directory / 'host_key.pub').read_text().strip()}\n")
        (directory / "sshd_config").write_text(
            CONFIG.format(
                host=directory,
                state=state,
                user=login(),
                # without PAM sshd refuses an account with a locked password
                pam="yes" if _locked(login()) else "no",
            )
        )
    (state / "known_hosts").write_text("".join(lines))


def proxy_command(state: Path, lab_id: str, host: str) -> str:
    """Return the command whose streams are those of the host's sshd; no word has a blank."""
    sshd = shutil.which("sshd", path=SEARCH_PATH) or "/usr/sbin/sshd"
    ip = shutil.which("ip", path=SEARCH_PATH) or "ip"
    words = [*in_task_group(state)]
    if not namespaces.rootless():
        words += [ip, "netns", "exec", f"{PREFIX}{lab_id}-{host}", "unshare", "--uts", "--"]
    return " ".join([*words, "sh", str(state / "serve"), host, sshd])


def _make_key(lab_id: str, path: Path, busy: int | None) -> None:
    # ssh-keygen refuses a user whom no account lists
    words = ("-q", "-t", "ed25519", "-N", "", "-C", "netlab", "-f", str(path))
    tool((*as_account(lab_id), "ssh-keygen", *words), busy=busy)


def _locked(user: str) -> bool:
    try:
        with open("/etc/shadow") as shadow:
            entries = (line.split(":") for line in shadow)
            return any(entry[0] == user and entry[1].startswith("!") for entry in entries)
    except OSError:
        return False
