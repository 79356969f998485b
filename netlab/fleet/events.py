"""The state of a campaign on disk: its events, what is set aside, and who controls it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from netlab.errors import Unsupported
from netlab.files.json_file import parse_json, read_json
from netlab.files.writing import write_json

# The log of a fleet: one JSON object a line, appended by the controller and by every job.

FILE = "events.jsonl"


def log_event(folder: Path, event: str, **parts: object) -> None:
    at_s = time.time()
    stamp = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")
    line = json.dumps({"at": stamp, "at_s": round(at_s, 3), "event": event, **parts}) + "\n"
    # one write to a file opened for appending: lines of several processes do not mix
    fd = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def read_events(folder: Path) -> Iterator[dict]:
    """Events in their order; a line that a crash cut off is left out."""
    try:
        lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield parse_json(line)
        except ValueError:
            continue


# Hosts that failed several times in a row and are put aside for the rest of a pass.
#
# The state of a host is a file that only jobs of this host change, one at a time.

STATE = "hosts"


def failures(folder: Path, host: str) -> int:
    """Consecutive failures of a host in this pass."""
    try:
        content = read_json(folder / STATE / f"{host}.json")
        return int(content["failures"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def note_failure(folder: Path, host: str) -> int:
    count = failures(folder, host) + 1
    write_json(folder / STATE / f"{host}.json", {"failures": count})
    return count


def forgive(folder: Path, hosts: Iterable[str] | None = None) -> None:
    """Set the failures of hosts to none; of all hosts by default."""
    named = (folder / STATE).glob("*.json")
    files = named if hosts is None else [folder / STATE / f"{host}.json" for host in hosts]
    for file in files:
        file.unlink(missing_ok=True)


# End with the parent: no process of a fleet outlives the one that started it.

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(number: int = signal.SIGTERM, parent: int | None = None) -> None:
    """Ask the kernel for a signal when the process that started this one dies (Linux)."""
    if _libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0):
        reason = os.strerror(ctypes.get_errno())
        raise Unsupported(f"prctl(PR_SET_PDEATHSIG): {reason}", code="E-FLEET-038")
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)
