"""The sshd of a lab host: one process per connection, on its streams, with no port.

In a lab made without root sshd itself runs as the user, outside the host's namespaces; the shell of
its account enters them for each command.
"""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

from netlab.lab import rootless
from netlab.lab.namespaces import as_account, tool
from netlab.lab.reaper import PREFIX, SEARCH_PATH
from netlab.lab.task_group import in_task_group

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
    if rootless.rootless():
        return rootless.LOGIN
    return pwd.getpwuid(os.geteuid()).pw_name


def prepare(state: Path, hosts: tuple[str, ...], busy: int | None = None) -> None:
    _make_key(state.name, state / "user_key", busy)
    (state / "hosts").mkdir(mode=0o700)
    (state / "serve").write_text(SERVE_AS_USER if rootless.rootless() else SERVE)
    (state / rootless.SESSION).write_text(SESSION)
    (state / rootless.SESSION).chmod(0o700)
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
    if not rootless.rootless():
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
