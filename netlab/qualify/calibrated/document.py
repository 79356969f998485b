"""Output of a calibration: tables, text and one JSON file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from netlab import core
from netlab.analysis import stored_calibrations
from netlab.files.writing import write_json
from netlab.qualify.calibrated.emulator import EmulatorAccuracy
from netlab.qualify.calibrated.part import CalibrationPart
from netlab.qualify.calibrated.rates import Calibration
from netlab.qualify.calibrated.verdicts import WITHIN
from netlab.version import version

SCHEMA = 3


@dataclass(frozen=True, eq=False)
class CalibrationDocument:
    """The calibrations of one command, the ones that were not measured left out."""

    started_at: str
    rates: Calibration | None = None
    emulator: EmulatorAccuracy | None = None

    @property
    def _parts(self) -> list[CalibrationPart]:
        return [part for part in (self.rates, self.emulator) if part is not None]

    @property
    def complaint(self) -> str | None:
        verdicts = [verdict for part in self._parts for verdict in part.verdicts]
        off = Counter(verdict for verdict in verdicts if verdict != WITHIN)
        counts = ", ".join(f"{count} {name}" for name, count in off.items())
        text = f"{off.total()} of {len(verdicts)} cells are not within their bound: {counts}"
        return text if off else None

    def as_json(self) -> dict:
        return {
            "netlab_calibration": SCHEMA,
            "started_at": self.started_at,
            "netlab": version(),
            "agent": core.source_digest(),
            "machine": self._parts[0].machine,
            **({} if self.rates is None else self.rates.as_json()),
            **({} if self.emulator is None else {"emulator": self.emulator.as_json()}),
        }

    def save(self, directory: Path) -> Path:
        for part in self._parts:
            for name, table in part.tables().items():
                table.export(directory / name)
        return write_json(directory / stored_calibrations.FILE, self.as_json(), durable=True)
