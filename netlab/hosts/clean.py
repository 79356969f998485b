"""Remove what netlab leaves on a host: the agent, its cache, journals, locks and leases."""

from __future__ import annotations

from dataclasses import dataclass

from netlab.errors import HostError
from netlab.hosts.host import Host

# Prints the cache directory, then each file and its size.
LIST = r"""
d=${XDG_CACHE_HOME:-$HOME/.cache}/netlab
if [ -L "$d" ] || { [ -e "$d" ] && ! [ -O "$d" ]; }; then
  echo "$d is a link or belongs to another user" >&2; exit 1
fi
printf 'directory %s\n' "$d"
if [ -d "$d" ]; then
  cd "$d" && find . -type f | while IFS= read -r f; do
    printf 'file %s %s\n' "$(wc -c <"$f")" "${f#./}"
  done
fi
"""
# Prints the journal of root's tune in this network namespace.
JOURNALS = r"""
for f in /run/netlab/tune-"$(stat -Lc %i /proc/self/ns/net)"-*.journal; do
  if [ -e "$f" ]; then echo "$f"; fi
done
"""
# Arguments: the cache directory, journals. Locks that a process has stay.
REMOVE = r"""
rm -rf -- "$@" || exit 1
for f in /run/netlab/*.lock "/run/user/$(id -u)"/agent-*.lock; do
  [ -O "$f" ] || continue
  if command -v flock >/dev/null 2>&1; then flock -n "$f" rm -f -- "$f"; fi
done
rmdir /run/netlab 2>/dev/null
exit 0
"""


@dataclass(frozen=True)
class Cleaned:
    """Files removed from a host."""

    directory: str
    files: dict[str, int]
    journals: tuple[str, ...]

    def text(self) -> str:
        """One sentence."""
        noted = "".join(f"; removed {path}" for path in self.journals)
        if not self.files:
            return f"no files of netlab in {self.directory}{noted}"
        size_kB = sum(self.files.values()) / 1000
        return f"removed {self.directory}: {len(self.files)} files, {size_kB:.0f} kB{noted}"


def clean_host(host: Host, *, journals: bool = False) -> Cleaned:
    """Remove netlab's files from an open host."""
    privileged = host.can_sudo
    listed = host.run(("sh", "-c", LIST), check=False)
    if listed.exit_status != 0:
        raise HostError(
            host.name, "its cache cannot be listed", output=listed.stderr, code="E-HOST-032"
        )
    directory, files = "", {}
    for line in listed.stdout.splitlines():
        key, _, rest = line.partition(" ")
        if key == "directory":
            directory = rest
        elif key == "file":
            size, _, name = rest.partition(" ")
            files[name] = int(size)
    if not directory.startswith("/") or not directory.endswith("/netlab"):
        raise HostError(
            host.name,
            "a start-up file of the shell prints text or changes the output of commands",
            code="E-HOST-033",
        )
    listed = host.run(("sh", "-c", JOURNALS), check=False, sudo=privileged)
    left = tuple(listed.stdout.splitlines())
    if left and not journals:
        raise HostError(
            host.name,
            f"{left[0]} names settings that are not reverted, or a netlab is at work: run "
            "`netlab tune recover` first, or remove it too with --journals",
            code="E-HOST-034",
        )
    done = host.run(("sh", "-c", REMOVE, "clean", directory, *left), check=False, sudo=privileged)
    if done.exit_status != 0:
        raise HostError(
            host.name, f"{directory} cannot be removed", output=done.stderr, code="E-HOST-035"
        )
    return Cleaned(directory, files, left)
