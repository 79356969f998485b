"""Fenced blocks of the documentation: commands to run, and files that they take."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
_FENCE = re.compile(r"^```(\S*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its first line, and its lines."""

    language: str
    note: str
    text: str

    @property
    def commands(self) -> list[str]:
        return [line for line in self.text.splitlines() if line and not line.startswith("#")]


def blocks(page: str) -> list[Block]:
    """Fenced blocks of a page of ``docs/``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [Block(*found.groups()) for found in _FENCE.finditer(text)]


def commands(page: str, note: str) -> list[str]:
    """Commands of the ``sh`` blocks with this note: ``lab``, or none."""
    shell = [block for block in blocks(page) if block.language == "sh" and block.note == note]
    return [line for block in shell for line in block.commands]


def files(page: str) -> dict[str, str]:
    """Files that a page gives, by their names: ``yaml`` blocks with a name."""
    return {b.note: b.text for b in blocks(page) if b.language == "yaml" and b.note}


def run(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A command as a user types it, in a directory that is netlab's home."""
    path = (str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin", "/sbin")
    own = {"NETLAB_HOME": str(place), "PATH": os.pathsep.join(path), "COLUMNS": "200"}
    how = {"capture_output": True, "text": True, "timeout": 280, "env": os.environ | own}
    return subprocess.run(("sh", "-c", command), cwd=place, **how)
