"""Hosts that failed several times in a row and are put aside for the rest of a pass.

The state of a host is a file that only jobs of this host change, one at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from netlab.files.json_file import write_json

STATE = "hosts"


def failures(folder: Path, host: str) -> int:
    """Consecutive failures of a host in this pass."""
    try:
        content = json.loads((folder / STATE / f"{host}.json").read_text(encoding="utf-8"))
        return int(content["failures"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def note_failure(folder: Path, host: str) -> int:
    """Count a failure of a host; return how many there are in a row."""
    count = failures(folder, host) + 1
    write_json(folder / STATE / f"{host}.json", {"failures": count})
    return count


def forgive(folder: Path, hosts: Iterable[str] | None = None) -> None:
    """Set the failures of hosts to none; of all hosts by default."""
    named = (folder / STATE).glob("*.json")
    files = named if hosts is None else [folder / STATE / f"{host}.json" for host in hosts]
    for file in files:
        file.unlink(missing_ok=True)
