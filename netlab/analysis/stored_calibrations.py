"""The stored calibrations of this machine: the latest measurement of each part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from netlab.files import dated, paths

FILE = "calibration.json"
RATES, EMULATOR = "rates", "emulator"


class CalibratedTable(NamedTuple):
    """A table of a part: the stem of its files, its caption, and the columns that name a row."""

    file: str
    caption: str
    keys: tuple[str, ...]


TABLES = {
    RATES: {
        "cells": CalibratedTable(
            "calibration",
            "Goodput on paths of known rates, beside what TCP can carry there",
            ("rate_Mbps", "mtu_B"),
        )
    },
    EMULATOR: {
        "round_trips": CalibratedTable(
            "calibration-round-trips",
            "Round trips of the emulator, idle and loaded, beside those asked for",
            ("rtt_ms", "load"),
        ),
        "rates": CalibratedTable(
            "calibration-emulated-rates",
            "Goodput of one stream through the emulator, beside what TCP can carry",
            ("rate_Mbps", "rtt_ms", "mtu_B"),
        ),
    },
}
"""Part of a calibration -> its tables; each row of them has a verdict, or an empty one."""

_COLUMNS = {
    "rate_Mbps": ("rate, Mb/s", "g"),
    "mtu_B": ("MTU, B", "g"),
    "rtt_ms": ("RTT asked, ms", "g"),
    "expected_MBps": ("TCP can carry, MB/s", ".3f"),
    "goodput_MBps": ("measured, MB/s", ".3f"),
    "error_percent": ("error, %", "+.2f"),
    "least_percent": ("least, %", "+.2f"),
    "greatest_percent": ("greatest, %", "+.2f"),
    "within_percent": ("bound, %", ".1f"),
    "goodput_Mbps": ("load, Mb/s", ".0f"),
    "mean_ms": ("median, ms", ".3f"),
    "deviation_us": ("off by, µs", "+.0f"),
    "least_us": ("least, µs", "+.0f"),
    "greatest_us": ("greatest, µs", "+.0f"),
    "bound_us": ("bound, µs", ".0f"),
    "late_us": ("late, µs", ".0f"),
}
HEADS = {name: head for name, (head, _) in _COLUMNS.items()}
FORMATS = {name: form for name, (_, form) in _COLUMNS.items()}


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

    @property
    def made_with(self) -> str:
        """``netlab 0.1.0, Linux 6.1, Intel Xeon``; what is unknown is left out."""
        names = {"kernel": "Linux {}", "cpu_model": "{}"}
        known = [form.format(self.machine[n]) for n, form in names.items() if self.machine.get(n)]
        return ", ".join([f"netlab {self.version}", *known])

    def table(self, name: str) -> pd.DataFrame:
        return pd.DataFrame.from_records(self.content[name])


@dataclass(frozen=True)
class Calibrated:
    """All that is stored of a machine's calibrations."""

    parts: dict[str, CalibratedPart]
    damaged: tuple[Path, ...] = ()


def stored(directory: Path | None = None) -> Calibrated:
    documents, damaged = dated.documents(directory or paths.results_dir("calibration"), FILE)
    parts = [part for name in TABLES for one in reversed(documents) if (part := _part(name, one))]
    return Calibrated({part.name: part for part in parts}, tuple(damaged))


def _part(name: str, document: dated.DatedDocument) -> CalibratedPart | None:
    """A part of a document; None if it was not measured, or cannot be read."""
    whole = document.content
    content = whole if name == RATES else whole.get(name)
    if not isinstance(content, dict):
        return None
    tables: list[Any] = [content.get(table) for table in TABLES[name]]
    if not all(isinstance(table, list) for table in tables) or not any(tables):
        return None
    rows = [row for table in tables for row in table]
    if not all(isinstance(row, dict) and isinstance(row.get("verdict"), str) for row in rows):
        return None
    machine, version = whole.get("machine"), str(whole.get("netlab", ""))
    machine = machine if isinstance(machine, dict) else {}
    return CalibratedPart(name, content, document.started_at, version, machine, document.file)
