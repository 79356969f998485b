"""Tables of a calibration as text, and the results that have one table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pandas as pd

from netlab.files.tables import Table


def rows_of(table: Table) -> str:
    """The rows of a table as text, its index as well, numbers in its formats."""
    frame, formatters = table.frame.reset_index(), {}
    if isinstance(table.formats, Mapping):
        formatters = {
            table.heads.get(name, name): _shown(form)
            for name, form in table.formats.items()
            if name in frame and isinstance(form, str)
        }
    return frame.rename(columns=dict(table.heads)).to_string(
        index=False, na_rep="-", formatters=formatters
    )


def _shown(form: str) -> Callable[[float], str]:
    return lambda value: "-" if pd.isna(value) else format(value, form)


@dataclass(frozen=True, eq=False)
class OneTable(ABC):
    """Base of the results of a calibration that has one table."""

    plan: Any
    cells: pd.DataFrame
    samples: list[dict]
    machine: dict

    NAME: ClassVar[str]
    """Name of the table's file."""

    ROWS: ClassVar[str]
    """Key of the rows in the JSON document."""

    @abstractmethod
    def table(self) -> Table:
        """The table for readers."""

    def tables(self) -> dict[str, Table]:
        """The table, by the name of its file."""
        return {self.NAME: self.table()}

    def settings(self) -> dict:
        """The plan as JSON values."""
        return asdict(self.plan)

    def to_text(self) -> str:
        """The table for a terminal: caption, rows, note."""
        table = self.table()
        return f"{table.caption}\n{rows_of(table)}\n{table.note}"

    def as_json(self) -> dict:
        """Settings, rows and every run as JSON values."""
        return {
            "settings": self.settings(),
            self.ROWS: self.cells.to_dict("records"),
            "samples": self.samples,
        }
