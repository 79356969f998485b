"""Results of commands that keep every run: a directory for each run, named by its date.

``calibration/2026-01-05T100000Z/calibration.json``. A later run makes a directory of its own, so it
changes no earlier result. A file right in ``calibration`` is of an older version, and is read too.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}Z)(?:-(\d{1,9}))?")


@dataclass(frozen=True)
class DatedDocument:
    """A JSON document of one run."""

    file: Path
    started_at: str
    content: dict


def new_directory(parent: Path, started_at: str) -> Path:
    """Make the directory of a run."""
    parent.mkdir(parents=True, exist_ok=True)
    stamp = started_at.replace(":", "")
    number = 1
    while True:
        place = parent / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            place.mkdir()
        except FileExistsError:
            number += 1
        else:
            return place


def documents(parent: Path, name: str) -> tuple[list[DatedDocument], list[Path]]:
    """All documents of a name, the latest first, and the damaged ones."""
    found: list[tuple[tuple[str, int], DatedDocument]] = []
    damaged = []
    for file, number in _files(parent, name):
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError):
            content = None
        started_at = content.get("started_at") if isinstance(content, dict) else None
        if not isinstance(started_at, str):
            damaged.append(file)
            continue
        found.append(((started_at, number), DatedDocument(file, started_at, content)))
    found.sort(key=lambda one: one[0], reverse=True)
    return [document for _, document in found], damaged


def _files(parent: Path, name: str) -> list[tuple[Path, int]]:
    """Possible files of all runs, each with the run's number within its second."""
    files = [(parent / name, 0)]
    try:
        entries = sorted(parent.iterdir())
    except OSError:
        return files
    for entry in entries:
        if matched := _NAME.fullmatch(entry.name):
            files.append((entry / name, int(matched[2] or 1)))
    return files
