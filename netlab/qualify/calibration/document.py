"""Output of a calibration: tables, text and one JSON file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netlab import core
from netlab.analysis.calibrated import FILE
from netlab.files.json_file import write_json
from netlab.qualify.calibration.emulator import EmulatorAccuracy
from netlab.qualify.calibration.rate_run import Calibration
from netlab.qualify.calibration.verdicts import WITHIN
from netlab.version import version

SCHEMA = 3


@dataclass(frozen=True, eq=False)
class CalibrationDocument:
    """The calibrations of one command, the ones that were not measured left out."""

    started_at: str
    rates: Calibration | None = None
    emulator: EmulatorAccuracy | None = None

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every cell."""
        return [verdict for part in self._parts for verdict in part.verdicts]

    @property
    def complaint(self) -> str | None:
        """Number and verdicts of the cells off their bound; None if all are within."""
        off = [verdict for verdict in self.verdicts if verdict != WITHIN]
        if not off:
            return None
        counts = ", ".join(f"{off.count(name)} {name}" for name in dict.fromkeys(off))
        return f"{len(off)} of {len(self.verdicts)} cells are not within their bound: {counts}"

    @property
    def _parts(self) -> list[Calibration | EmulatorAccuracy]:
        return [part for part in (self.rates, self.emulator) if part is not None]

    def as_json(self) -> dict:
        """The document as JSON values, with every run; unmeasured parts are left out."""
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
        """Write ``calibration.json`` and the tables as CSV and LaTeX; return the JSON path."""
        for part in self._parts:
            for name, table in part.tables().items():
                table.export(directory / name)
        return write_json(directory / FILE, self.as_json(), durable=True)
