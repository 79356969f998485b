"""The files of one study, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS, TABLES
from netlab.results.files import read, write_atomically
from netlab.results.frames import frame_of


@dataclass(frozen=True)
class Store:
    """The results of one study, in one directory."""

    directory: Path

    def _file(self, kind: str, block_id: str) -> Path:
        return self.directory / kind / f"{block_id}.parquet"

    def write_block(
        self,
        block_id: str,
        runs: pd.DataFrame,
        intervals: pd.DataFrame,
        **samples: pd.DataFrame,
    ) -> None:
        """Write the samples of a block before its runs, so that a run never lacks its samples.

        Parameters
        ----------
        block_id : str
        runs, intervals : DataFrame
        **samples : DataFrame
            By its name in :data:`TABLES`: an optional table, not written when empty.
        """
        for table, frame in samples.items():
            path = self._file(table, block_id)
            if len(frame) or path.exists():
                write_atomically(frame, path, TABLES[table])
        write_atomically(intervals, self._file("intervals", block_id), INTERVAL_COLUMNS)
        write_atomically(runs, self._file("runs", block_id), RUN_COLUMNS)

    def block(self, table: str, block_id: str) -> pd.DataFrame:
        """Rows of one block in one of :data:`TABLES`; empty when it has none."""
        path, columns = self._file(table, block_id), TABLES[table]
        return read(path, columns) if path.exists() else frame_of([], columns)

    def block_runs(self, block_id: str) -> pd.DataFrame:
        """Runs of one block; empty when it has none."""
        return self.block("runs", block_id)

    def rows(self, table: str) -> pd.DataFrame:
        """All rows of the study in one of :data:`TABLES`."""
        columns = TABLES[table]
        frames = [read(path, columns) for path in sorted(self.directory.glob(f"{table}/*.parquet"))]
        return pd.concat(frames, ignore_index=True) if frames else frame_of([], columns)

    def runs(self) -> pd.DataFrame:
        """Return all runs of the study in planned order."""
        return self.rows("runs").sort_values("order", ignore_index=True)

    def intervals(self) -> pd.DataFrame:
        """Return all interval samples of the study."""
        return self.rows("intervals")
