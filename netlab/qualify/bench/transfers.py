"""Every transfer of a benchmark on disk as it ends, so that one that is ended early keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from netlab.files import dated
from netlab.files.json_file import json_line

NAME = "transfers.jsonl"


class TransferLog:
    """A file with a line of JSON for each transfer, heats and failed ones included."""

    def __init__(self, parent: Path, started_at: str):
        self._parent, self._started_at = parent, started_at
        self._directory: Path | None = None
        self.count = 0
        """Transfers written."""

    @property
    def directory(self) -> Path:
        """Directory of this benchmark; made when it is first needed."""
        if self._directory is None:
            self._directory = dated.new_directory(self._parent, self._started_at)
        return self._directory

    @property
    def path(self) -> Path:
        """The file."""
        return self.directory / NAME

    def write(self, sample: Mapping[str, object]) -> None:
        """Add a transfer."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json_line(sample))
        self.count += 1
