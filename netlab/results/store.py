"""The records of one study. Parts are added and never changed by a later command."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow

from netlab.errors import NetlabError
from netlab.results import campaigns
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS, TABLES
from netlab.results.files import (
    DamagedFile,
    frame_of_parts,
    raw,
    read,
    rows_in,
    set_aside,
    write_atomically,
)
from netlab.results.frames import frame_of

IMPORTED = "imported@"
"""Start of the names of parts that were imported: they belong to no campaign and always count."""


class Damaged(UserWarning):
    """A file of results was damaged and is set aside."""


@dataclass(frozen=True)
class Store:
    """The results of one study, in one directory.

    A part is a file in each table, written by one visit of a block or one import. Of several
    records of a run the last one of the latest campaign counts; the others are superseded.
    """

    directory: Path

    def _file(self, table: str, part: str) -> Path:
        return self.directory / table / f"{part}.parquet"

    def write(
        self, part: str, runs: pd.DataFrame, intervals: pd.DataFrame, **samples: pd.DataFrame
    ) -> None:
        """Write the samples of a part before its runs, so that a run never lacks its samples."""
        for table, frame in samples.items():
            path = self._file(table, part)
            if len(frame) or path.exists():
                write_atomically(frame, path, TABLES[table])
        write_atomically(intervals, self._file("intervals", part), INTERVAL_COLUMNS)
        write_atomically(runs, self._file("runs", part), RUN_COLUMNS)

    def parts(self, block_id: str | None = None) -> list[str]:
        """Names of all parts, or of the visits of one block; sorted."""
        names = "*" if block_id is None else f"*~{glob.escape(block_id)}@r*"
        return sorted(path.stem for path in self.directory.glob(f"runs/{names}.parquet"))

    def part(self, table: str, part: str) -> pd.DataFrame:
        """Rows of one part in one of :data:`TABLES`; empty when it has none.

        A damaged file is set aside with the part's other files, and a :class:`Damaged` warning
        says so: its runs count as not measured.
        """
        path, columns = self._file(table, part), TABLES[table]
        if not path.exists():
            return frame_of([], columns)
        try:
            return read(path, columns)
        except DamagedFile as error:
            self._set_aside(part, error)
            return frame_of([], columns)

    def tables(self, table: str, parts: Iterable[str]) -> dict[str, pyarrow.Table]:
        """Unchecked rows of several parts by their name, as :mod:`pyarrow` tables.

        Parts without this table are left out. A damaged file is set aside as by :meth:`part`.
        """
        found = {}
        for part in parts:
            path = self._file(table, part)
            if not path.exists():
                continue
            try:
                found[part] = raw(path)
            except DamagedFile as error:
                self._set_aside(part, error)
        return found

    def rows_in(self, table: str, part: str) -> int:
        """Number of rows of one part, from the footer of its file; 0 if that cannot be read."""
        return rows_in(self._file(table, part))

    def _parts(self, table: str, parts: Iterable[str]) -> pd.DataFrame:
        """Rows of several parts, with the column ``part``."""
        tables = self.tables(table, parts)
        if not tables:
            return frame_of([], TABLES[table]).assign(part="")
        files = {self._file(table, part): rows for part, rows in tables.items()}
        names = np.repeat(list(tables), [rows.num_rows for rows in tables.values()])
        return frame_of_parts(files, TABLES[table]).assign(part=names)

    def _set_aside(self, part: str, error: NetlabError) -> None:
        files = [self._file(table, part) for table in TABLES]
        moved = [set_aside(path) for path in files if path.exists()]
        names = ", ".join(str(path.relative_to(self.directory)) for path in moved)
        message = f"{error}. Set aside: {names}; the runs in it count as not measured"
        warnings.warn(message, Damaged, stacklevel=2)

    def records(self, block_id: str | None = None, *, campaign: str | None = None) -> pd.DataFrame:
        """All runs ever measured, or those of one block, by start."""
        found = self._parts("runs", self.parts(block_id))
        found = found.sort_values(["started_at", "order"], ignore_index=True)
        return found.assign(superseded=~self._counts(found, campaign))

    def _counts(self, records: pd.DataFrame, campaign: str | None) -> pd.Series:
        """Mask of the records that count, in the order of their start."""
        last = campaigns.latest(self.directory) if campaign is None else campaign
        if last is None:
            belongs = pd.Series(True, index=records.index)
        else:
            adopted = campaigns.read_log(self.directory, last).adopted
            chosen = {(part, run) for part, runs in adopted.items() for run in runs}
            pairs = zip(records["part"], records["run_id"], strict=True)
            belongs = pd.Series(
                [
                    campaigns.campaign_of(part) == last
                    or part.startswith(IMPORTED)
                    or (part, run_id) in chosen
                    for part, run_id in pairs
                ],
                index=records.index,
                dtype=bool,
            )
        return belongs & ~records["run_id"].where(belongs).duplicated(keep="last")

    def runs(self, *, superseded: bool = False, campaign: str | None = None) -> pd.DataFrame:
        """Runs that count, in planned order."""
        records = self.records(campaign=campaign)
        if superseded:
            return records
        return _standing(records)

    def rows(self, table: str, *, campaign: str | None = None) -> pd.DataFrame:
        """Rows of the runs that count, in one of :data:`TABLES`."""
        if table == "runs":
            return self.runs(campaign=campaign)
        return self._rows(table, self.records(campaign=campaign))

    def _rows(self, table: str, records: pd.DataFrame) -> pd.DataFrame:
        count = records[~records["superseded"]]
        rows = self._parts(table, sorted(set(count["part"])))
        wanted = pd.MultiIndex.from_frame(count[["part", "run_id"]])
        found = pd.MultiIndex.from_frame(rows[["part", "run_id"]]).isin(wanted)
        return rows[found].drop(columns="part").reset_index(drop=True)

    def block(
        self, block_id: str | None = None, *, campaign: str | None = None
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Runs that count, of one block or of all, in planned order; and their interval samples.

        The files of runs are read once for both. `campaign` is as in :meth:`runs`.
        """
        records = self.records(block_id, campaign=campaign)
        return _standing(records), self._rows("intervals", records)

    def intervals(self) -> pd.DataFrame:
        """Interval samples of the runs that count."""
        return self.rows("intervals")


def _standing(records: pd.DataFrame) -> pd.DataFrame:
    standing = records[~records["superseded"]].drop(columns=["part", "superseded"])
    return standing.sort_values("order", ignore_index=True)
