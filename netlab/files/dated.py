"""Results of commands that keep every run: a directory for each run, named by its date.

``calibration/2026-01-05T100000Z/calibration.json``. A later run makes a directory of its own, so
it changes no earlier result. A file right in ``calibration`` is of an older version, and is read
too.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from netlab.files.bounded_json import read_json

_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}Z)(?:-(\d{1,9}))?")


@dataclass(frozen=True)
class DatedDocument:
    file: Path
    started_at: str
    content: dict


def new_directory(parent: Path, started_at: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    stamp = started_at.replace(":", "")
    for ending in chain(("",), (f"-{number}" for number in count(2))):
        with contextlib.suppress(FileExistsError):
            (place := parent / f"{stamp}{ending}").mkdir()
            break
    return place


def documents(parent: Path, name: str) -> tuple[list[DatedDocument], list[Path]]:
    """All documents of a name, the latest first, and the damaged ones."""
    dated: list[tuple[tuple[str, int], DatedDocument]] = []
    damaged = []
    for file in (parent / name, *sorted(parent.glob(f"*/{name}"))):
        run = _NAME.fullmatch(file.parent.name)
        if file.parent != parent and not run:
            continue
        try:
            content = read_json(file)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            content = {}
        started_at = content.get("started_at")
        if not isinstance(started_at, str):
            damaged.append(file)
            continue
        number = int(run[2] or 1) if run and file.parent != parent else 0
        dated.append(((started_at, number), DatedDocument(file, started_at, content)))
    dated.sort(key=lambda one: one[0], reverse=True)
    return [document for _, document in dated], damaged
