"""Events of a fleet's campaign, a line each, as its jobs note them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from netlab.files.bounded_json import parse_json
from netlab.files.reading import open_regular, read_text
from netlab.files.writing import names_file

EVENTS = "events.jsonl"


def log_event(folder: Path, event: str, **parts: object) -> None:
    """Append a line to the log of a fleet, as its controller and every job do."""
    at_s = time.time()
    stamp = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")
    line = json.dumps({"at": stamp, "at_s": round(at_s, 3), "event": event, **parts}) + "\n"
    with names_file(folder / EVENTS), open_regular(folder / EVENTS, "a+b", buffering=0) as log:
        log.seek(-1 if log.seek(0, os.SEEK_END) else 0, os.SEEK_END)
        # a line that a full disk cut off would take the next one with it
        start = "" if log.read(1) in (b"", b"\n") else "\n"
        content = (start + line).encode()
        # one write to a file opened for appending: lines of several processes do not mix
        if (written := log.write(content)) < len(content):
            log.write(content[written:])  # raises: the disk is full


def read_events(folder: Path) -> Iterator[dict]:
    """Events in their order; a line that a crash cut off is left out."""
    with suppress(FileNotFoundError):
        for line in read_text(folder / EVENTS).splitlines():
            with suppress(ValueError):
                yield parse_json(line)
