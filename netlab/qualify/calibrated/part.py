"""A calibrated part: tables, text and JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import pandas as pd

from netlab.analysis import stored_calibrations
from netlab.files.frame_text import frame_text
from netlab.files.recorded_facts import StableFacts
from netlab.files.tables import Table
from netlab.qualify.calibrated.verdicts import CellTable


@dataclass(frozen=True, eq=False)
class CalibrationPart(ABC):
    plan: Any
    samples: list[dict]
    machine: StableFacts

    NAME: ClassVar[str]
    TABLES: ClassVar[tuple[CellTable, ...]]
    """Each has the plan's cells of its name."""

    CONGESTION: ClassVar[str]

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Lines below the tables in a terminal, one a table, and one of all."""

    @cached_property
    def frames(self) -> dict[str, pd.DataFrame]:
        return {
            table.name: table.frame(getattr(self.plan, table.name), self.samples)
            for table in self.TABLES
        }

    def tables(self) -> dict[str, Table]:
        *own, common = self.notes
        named = zip(stored_calibrations.TABLES[self.NAME].items(), own, strict=True)
        return {
            about.file: Table(
                self.frames[name].set_index(list(about.keys)),
                about.caption,
                stored_calibrations.HEADS,
                stored_calibrations.FORMATS,
                f"{note} {common}",
            )
            for (name, about), note in named
        }

    @property
    def verdicts(self) -> list[str]:
        return [verdict for frame in self.frames.values() for verdict in frame["verdict"]]

    def to_text(self) -> str:
        tables = [table for table in self.tables().values() if len(table.frame)]
        return "\n".join([*(f"{t.caption}\n{_text(t)}\n" for t in tables), *self.notes])

    def as_json(self) -> dict:
        return {
            "settings": {**asdict(self.plan), "congestion": self.CONGESTION},
            **{name: frame.to_dict("records") for name, frame in self.frames.items()},
            "samples": self.samples,
        }


def _text(table: Table) -> str:
    frame = table.frame.reset_index()
    for name, form in stored_calibrations.FORMATS.items():
        if name in frame:
            frame[name] = [None if pd.isna(value) else format(value, form) for value in frame[name]]
    return frame_text(frame.rename(columns=dict(table.heads)), missing="-")
