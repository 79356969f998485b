"""Remove what netlab leaves on a host: the agent, its cache, journals, locks and leases."""

from __future__ import annotations

import re

from netlab.errors import HostError
from netlab.hosts.agent import PLACES
from netlab.hosts.host import Host
from netlab.hosts.host_facts import whole_number

# Prints each directory of netlab, then each file and its size.
LIST = (
    PLACES
    + r"""
list() {
  if [ -L "$1" ] || { [ -e "$1" ] && ! [ -O "$1" ]; }; then
    echo "$1 is a link or belongs to another user" >&2
    [ -n "$later" ] || exit 1
  elif [ -z "$later" ] || [ -d "$1" ]; then
    printf 'directory %s\n' "$1"
    [ -d "$1" ] && cd "$1" && find . -type f | while IFS= read -r f; do
      printf 'file %s %s\n' "$(wc -c <"$f")" "${f#./}"
    done
  fi
  later=yes
  return 1
}
later=
each list || exit 0
"""
)
DIRECTORY = re.compile(r"/.*/netlab(-cache|-\d+)?")
# The part of a journal's name that is of this boot.
BOOT = r"""
b=$(cut -c 1-8 /proc/sys/kernel/random/boot_id 2>/dev/null)
"""
# Prints the journal of root's tune in this network namespace, and the record of its state.
JOURNALS = (
    BOOT
    + r"""
n=/run/netlab/tune-$(stat -Lc %i /proc/self/ns/net)
for f in "$n"-*-"${b:-0}".journal "$n"-*-"${b:-0}".state; do
  if [ -e "$f" ]; then echo "$f"; fi
done
"""
)
# Arguments: netlab's directories, journals. Locks that a process has stay.
REMOVE = (
    BOOT
    + r"""
rm -rf -- "$@" || exit 1
for f in /run/netlab/tune-*-*-*.journal /run/netlab/tune-*-*-*.state; do
  case $f in *-"${b:-0}".*) ;; *) rm -f -- "$f" ;; esac
done
for f in /run/netlab/*.lock "/run/user/$(id -u)"/agent-*.lock; do
  [ -O "$f" ] || continue
  if command -v flock >/dev/null 2>&1; then flock -n "$f" rm -f -- "$f"; fi
done
rmdir /run/netlab 2>/dev/null
exit 0
"""
)


def clean_host(host: Host, *, journals: bool = False) -> str:
    """Remove netlab's files from a host; return in a sentence what was removed."""
    privileged = host.can_sudo
    listed = host.run(("sh", "-c", LIST, "list", host.agent_directory), check=False)
    if listed.exit_status != 0:
        message = "its cache cannot be listed"
        raise HostError(host.name, message, output=listed.stderr, code="E-HOST-032")
    lines = [line.partition(" ") for line in listed.stdout.splitlines()]
    directories = [rest for key, _, rest in lines if key == "directory"]
    sizes_B = [whole_number(rest.partition(" ")[0]) for key, _, rest in lines if key == "file"]
    if not directories or not all(DIRECTORY.fullmatch(each) for each in directories):
        message = "a start-up file of the shell prints text or changes the output of commands"
        raise HostError(host.name, message, code="E-HOST-033")
    listed = host.run(("sh", "-c", JOURNALS), check=False, sudo=privileged)
    left = listed.stdout.splitlines()
    if left and not journals:
        message = (
            f"{left[0]} names settings that are not reverted, or a netlab is at work: run "
            "`netlab tune recover` first, or remove it too with --journals"
        )
        raise HostError(host.name, message, code="E-HOST-034")
    words = ("sh", "-c", REMOVE, "clean", *directories, *left)
    done = host.run(words, check=False, sudo=privileged)
    if done.exit_status != 0:
        message = f"{' or '.join(directories)} cannot be removed"
        raise HostError(host.name, message, output=done.stderr, code="E-HOST-035")
    where = " and ".join(directories)
    text = f"no files of netlab in {where}"
    if sizes_B:
        text = f"removed {where}: {len(sizes_B)} files, {sum(filter(None, sizes_B)) / 1000:.0f} kB"
    return "; ".join([text, *(f"removed {path}" for path in left)])
