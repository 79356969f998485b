"""The agent on a host: pushed once, with its digest checked, into a cache of the user there."""

from __future__ import annotations

import contextlib
import hashlib
import io
import secrets
import shlex
import struct
import tarfile
from pathlib import Path

from netlab.errors import HostError
from netlab.hosts.host import Host
from netlab.hosts.host_facts import whole_number

# e_machine of an ELF file -> output of uname -m. 32-bit names vary; these are the usual ones.
ELF_MACHINES = {
    3: ("i386", "i486", "i586", "i686"),
    21: ("ppc64", "ppc64le"),
    22: ("s390x",),
    40: ("armv6l", "armv7l", "armv8l"),
    62: ("x86_64",),
    183: ("aarch64",),
    243: ("riscv64",),
    258: ("loongarch64",),
}
COMPILE_TIMEOUT_S = 300.0
ELSEWHERE = "name a directory for it by `agent_directory` of the host in the study"

# The directory that the study names, or the cache; and where the agent lies if the cache cannot be
# written, or its file system runs no programs. First argument: the named directory, or nothing.
PLACES = r"""
u=$(id -u)
own=$1
shift
[ -n "$HOME" ] || eval "HOME=~$(id -un)"
each() {
  if [ -n "$own" ]; then "$1" "$own/netlab"; return; fi
  "$1" "${XDG_CACHE_HOME:-$HOME/.cache}/netlab" ||
    "$1" "${XDG_RUNTIME_DIR:-/run/user/$u}/netlab-cache" ||
    "$1" "/var/tmp/netlab-$u"
}
"""
# Arguments: names of files in the cache. Prints the cache directory and the digest of each file.
LOOK = (
    PLACES
    + r"""
umask 077
use() {
  [ -z "$tried" ] || ! [ -L "$1" ] || return 1
  tried=yes
  mkdir -p "$1" || return 1
  if ! [ -O "$1" ]; then
    echo "$1 belongs to another user" >&2
    return 1
  fi
  chmod 700 "$1" && cd "$1" || return 1
  first=${first:-$1}
  t=.runs-$$
  (: >"$t") 2>/dev/null || return 0
  chmod 700 "$t"
  [ -x "$t" ]
  s=$?
  rm -f "$t"
  return $s
}
tried=
first=
each use || cd "${first:-/none}" 2>/dev/null || exit 1
printf 'directory %s\n' "$PWD"
printf 'machine %s\n' "$(uname -m)"
for c in cc gcc clang; do
  if command -v $c >/dev/null 2>&1; then printf 'compiler %s\n' $c; break; fi
done
if command -v sha256sum >/dev/null 2>&1; then echo 'sha256sum yes'; fi
for f do
  if [ -f "$f" ] && [ -x "$f" ]; then
    printf 'file %s %s\n' "$f" "$(sha256sum "$f" 2>/dev/null | cut -c 1-64)"
  fi
  if [ -f "$f.sha256" ]; then printf 'noted %s %s\n' "$f" "$(cut -c 1-64 "$f.sha256")"; fi
done
set -- $(df -Pk . 2>/dev/null | tail -n 1)
printf 'free_kB %s\n' "$4"
set -- $(df -Pi . 2>/dev/null | tail -n 1)
if [ "${2:-0}" -gt 0 ] 2>/dev/null; then printf 'free_inodes %s\n' "$4"; fi
"""
)
# Arguments: directory, partial name, final name.
INSTALL = r"""
set -e
cd "$1"
chmod 700 "$2"
if ! [ -x "$2" ]; then echo "$1 is mounted so that no program can be run from it" >&2; exit 1; fi
mv -f "$2" "$3"
"""
# Arguments: directory, a word for the work, final name, then the compiler's argv, which makes
# `gensink` in the current directory. Reads a tar of the sources.
COMPILE = r"""
set -e
umask 077
d=$1
w=$1/.build-$2
name=$3
shift 3
trap 'rm -rf "$w"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$w"
cd "$w"
tar -xf -
# A processor of 32 bits may lack the instructions for counters of 64.
printf '%s\n' 'static _Atomic unsigned long long n; int main(void) { return (int)n++; }' > atomic.c
"$1" -std=c11 -o atomic atomic.c 2>atomic.log || set -- "$@" -latomic
# A C library without its static half still makes an agent for this very host.
"$@" -static 2>static.log || "$@"
sha256sum gensink | cut -c 1-64 > gensink.sha256
chmod 700 gensink
mv -f gensink "$d/$name"
mv -f gensink.sha256 "$d/$name.sha256"
"""


def push_agent(
    host: Host, binary: Path, *, source_dir: Path | None = None, force_compile: bool = False
) -> str:
    """Deploy the agent if the host lacks it, and return its path.

    The agent lies below the directory that the study names, else in ``$XDG_CACHE_HOME/netlab`` or
    ``~/.cache/netlab`` of the login there, or in ``$XDG_RUNTIME_DIR`` or ``/var/tmp`` if that
    cannot be written or runs no programs, under its SHA-256. One that is there and intact is not
    sent again; a damaged one is replaced. A host of another machine type compiles it from the
    sources, if it has a compiler.
    """
    content = binary.read_bytes()
    wanted = hashlib.sha256(content).hexdigest()
    pushed = f"gensink-{wanted[:32]}"
    seen = _look(host, pushed)
    machines = machine_of(content)
    if force_compile or (machines is not None and seen["machine"] not in machines):
        return _compile(host, seen, machines, source_dir)
    target = f"{seen['directory']}/{pushed}"
    if _digest_there(host, seen, pushed) == wanted:
        return target
    partial = f".{pushed}.{secrets.token_hex(4)}"
    path = f"{seen['directory']}/{partial}"
    try:
        try:
            host.put(binary, path, 0o700)
        except HostError:
            _check_space(host, seen, path, len(content))
            raise
        arrived = _look(host, partial)
        if _digest_there(host, arrived, partial) not in {wanted, None}:
            message = f"the copy at {path} differs from the file that was sent"
            raise HostError(host.name, message, code="E-HOST-012")
        host.run(("sh", "-c", INSTALL, "install", seen["directory"], partial, pushed))
    except BaseException:
        _forget(host, path)
        raise
    return target


def machine_of(content: bytes) -> tuple[str, ...] | None:
    """Return ``uname -m`` of the machines that run an ELF program; None for another file."""
    if content[:4] != b"\x7fELF" or len(content) < 20:
        return None
    order = "<" if content[5] == 1 else ">"
    (number,) = struct.unpack_from(f"{order}H", content, 18)
    return ELF_MACHINES.get(number, (f"ELF machine {number}",))


def _look(host: Host, *names: str) -> dict[str, str]:
    seen: dict[str, str] = {}
    done = host.run(("sh", "-c", LOOK, "look", host.agent_directory, *names), check=False)
    if done.exit_status != 0:
        message = f"no directory for the agent can be used; {ELSEWHERE}"
        raise HostError(host.name, message, output=done.stderr, code="E-HOST-013")
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        if key in {"file", "noted"}:
            name, _, rest = value.partition(" ")
            key, value = f"{key} {name}", rest
        seen[key] = value
    if not seen.get("directory", "").startswith("/") or not seen.get("machine"):
        message = "a start-up file of the shell prints text or changes the output of commands"
        raise HostError(host.name, message, code="E-HOST-014")
    return seen


def _digest_there(host: Host, seen: dict[str, str], name: str) -> str | None:
    """Return the SHA-256 of an executable in the cache, computed there if possible, or None."""
    if f"file {name}" not in seen:
        return None
    if "sha256sum" in seen:
        return seen[f"file {name}"]
    return hashlib.sha256(host.read_bytes(f"{seen['directory']}/{name}")).hexdigest()


def _check_space(host: Host, seen: dict[str, str], path: str, size: int) -> None:
    _forget(host, path)
    seen = _look(host)
    free_kB = whole_number(seen.get("free_kB", ""))
    if seen.get("free_inodes") == "0":
        message = (
            f"no inode for the agent: the file system of {seen['directory']} has none left; remove "
            f"files there, or {ELSEWHERE}"
        )
        raise HostError(host.name, message, code="E-HOST-037") from None
    if free_kB is not None and free_kB * 1024 < size:
        message = (
            f"no space for the agent: {seen['directory']} has {free_kB} kB free, "
            f"{-(-size // 1024)} kB are needed; make space, or {ELSEWHERE}"
        )
        raise HostError(host.name, message, code="E-HOST-015") from None


def _forget(host: Host, path: str) -> None:
    # if the host is gone, the error that led here is already on its way to the caller
    with contextlib.suppress(HostError):
        host.run(("rm", "-f", "--", path), check=False)


def _compile(
    host: Host, seen: dict[str, str], machines: tuple[str, ...] | None, source_dir: Path | None
) -> str:
    why = (
        f"is {seen['machine']}, the agent is built for {' or '.join(machines or ('any machine',))}"
    )
    if source_dir is None or not (source_dir / "BUILD").is_file():
        message = f"{why}, and its sources are not available to build it there"
        raise HostError(host.name, message, code="E-HOST-016")
    packed = packed_sources(source_dir)
    name = f"gensink-{hashlib.sha256(packed).hexdigest()[:32]}-{seen['machine']}"
    seen = _look(host, name)
    target = f"{seen['directory']}/{name}"
    digest = _digest_there(host, seen, name)
    if digest is not None and digest == seen.get(f"noted {name}"):
        return target
    if "compiler" not in seen:
        message = f"{why}, and the host has none of cc, gcc and clang to build it: install one"
        raise HostError(host.name, message, code="E-HOST-017")
    _, *rest = shlex.split((source_dir / "BUILD").read_text())
    words = (seen["directory"], secrets.token_hex(4), name, seen["compiler"], *rest)
    built = host.run(
        ("sh", "-c", COMPILE, "compile", *words),
        check=False,
        input=packed,
        timeout_s=COMPILE_TIMEOUT_S,
    )
    if built.exit_status != 0:
        message = "the compiler failed to build the agent"
        raise HostError(host.name, message, output=built.stderr, code="E-HOST-018")
    return target


def packed_sources(source_dir: Path) -> bytes:
    """Pack the sources in a tar whose bytes depend on their names and content only."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for folder in ("include", "src"):
            for path in sorted((source_dir / folder).rglob("*.[ch]")):
                entry = tarfile.TarInfo(path.relative_to(source_dir).as_posix())
                entry.size, entry.mode = path.stat().st_size, 0o600
                archive.addfile(entry, io.BytesIO(path.read_bytes()))
    return packed.getvalue()
