"""The stored calibrations of this machine: the latest measurement of each part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.files import dated, paths

FILE = "calibration.json"
RATES, EMULATOR = "rates", "emulator"

TABLES = {
    RATES: ("cells",),
    EMULATOR: ("round_trips", "rates"),
}
"""Part of a calibration -> its tables; each row of them has a verdict, or an empty one."""


@dataclass(frozen=True)
class CalibratedPart:
    """The latest measurement of one part."""

    name: str
    content: dict
    started_at: str
    version: str
    machine: dict
    file: Path

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every cell that has one."""
        rows = [row for table in TABLES[self.name] for row in self.content[table]]
        return [row["verdict"] for row in rows if row["verdict"]]

    @property
    def date(self) -> str:
        """Day of the run, UTC."""
        return self.started_at[:10]

    def table(self, name: str) -> pd.DataFrame:
        """One of its tables."""
        return pd.DataFrame.from_records(self.content[name])


@dataclass(frozen=True)
class Calibrated:
    """All that is stored of a machine's calibrations."""

    parts: dict[str, CalibratedPart]
    damaged: tuple[Path, ...] = ()


def stored(directory: Path | None = None) -> Calibrated:
    """Read the latest measurement of each part."""
    found, damaged = dated.documents(directory or paths.results_dir("calibration"), FILE)
    parts: dict[str, CalibratedPart] = {}
    for name in TABLES:
        of_name = (part for one in found if (part := _part(name, one)) is not None)
        latest = next(of_name, None)
        if latest is not None:
            parts[name] = latest
    return Calibrated(parts, tuple(damaged))


def _part(name: str, document: dated.DatedDocument) -> CalibratedPart | None:
    """A part of a document; None if it was not measured, or cannot be read."""
    whole = document.content
    content = whole if name == RATES else whole.get(name)
    if not isinstance(content, dict):
        return None
    tables = [content.get(table) for table in TABLES[name]]
    if not all(isinstance(table, list) for table in tables) or not any(tables):
        return None
    rows = [row for table in tables for row in table or ()]
    if not all(isinstance(row, dict) and isinstance(row.get("verdict"), str) for row in rows):
        return None
    machine = whole.get("machine")
    return CalibratedPart(
        name,
        content,
        document.started_at,
        str(whole.get("netlab", "")),
        machine if isinstance(machine, dict) else {},
        document.file,
    )
