"""Run a command as a user without root and without an account, from a test that runs as root."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USER = 61100 + os.getpid() % 4000
"""One for each worker of pytest: labs and processes are a user's."""
# Arguments: directories that others may not enter, `--`, directories below them that the user
# needs, `--`, mode of the TUN device or -, `--`, the command. In a mount namespace of its own.
SCRIPT = r"""
set -e
mount --make-rprivate /
stage=$(mktemp -d)
mount -t tmpfs tmpfs "$stage"
closed=
while [ "$1" != -- ]; do closed="$closed $1"; shift; done
shift
n=0
opened=
while [ "$1" != -- ]; do
  mkdir "$stage/$n"
  mount --rbind "$1" "$stage/$n"
  opened="$opened $1"
  n=$((n + 1))
  shift
done
for directory in $closed; do mount -t tmpfs -o mode=755 tmpfs "$directory"; done
n=0
for directory in $opened; do
  mkdir -p "$directory"
  mount --rbind "$stage/$n" "$directory"
  n=$((n + 1))
done
if [ "$2" != - ]; then
  mknod -m "$2" "$stage/tun" c 10 200
  mount --bind "$stage/tun" /dev/net/tun
fi
umount --lazy "$stage"
rmdir "$stage"
shift 3
exec "$@"
"""


def _closed(path: Path) -> Path | None:
    """The topmost directory above a path that other users may not enter."""
    for directory in reversed((path, *path.parents)):
        if not directory.stat().st_mode & 0o001:
            return directory
    return None


def command(argv: Sequence[str], *, tun: str = "-") -> tuple[str, ...]:
    """The argv that runs `argv` as the user.

    Parameters
    ----------
    argv : sequence of str
        The command.
    tun : str
        Mode of /dev/net/tun that the user finds, for example ``0666``.
    """
    needed = {Path(sys.base_prefix), Path(sys.prefix), ROOT}
    closed = {path: found for path in needed if (found := _closed(path))}
    return (
        *("unshare", "--mount", "--", "sh", "-c", SCRIPT, "unprivileged"),
        *map(str, sorted(set(closed.values()))),
        "--",
        *map(str, sorted(closed)),
        *("--", tun, "--", "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
        "--bounding-set=-all",
        *argv,
    )


def environment(home: Path) -> dict[str, str]:
    """Environment of the user: no directory for root's programs in PATH, no session."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    own = {"HOME": str(home), "USER": "someone", "LOGNAME": "someone"}
    return {**kept, **own, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}


def run(
    argv: Sequence[str], home: Path, *, tun: str = "-", timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a command as the user, in his home, to its end."""
    return subprocess.run(
        command(argv, tun=tun),
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def processes() -> list[str]:
    """Command lines of the processes that the user has."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == USER and (words := (entry / "cmdline").read_bytes()):
                found.append(words.replace(b"\0", b" ").decode())
    return found


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """A directory of the user that is removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="netlab-user-"))
    try:
        os.chown(directory, USER, USER)
        yield directory
    finally:
        shutil.rmtree(directory)
