"""The log of a fleet: one JSON object a line, appended by the controller and by every job."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

FILE = "events.jsonl"


def log_event(folder: Path, event: str, **parts: object) -> None:
    """Append one event."""
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
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
