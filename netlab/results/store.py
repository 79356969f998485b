"""The records of one study. Parts are added and never changed by a later command."""

from __future__ import annotations

import fnmatch
import glob
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import filterfalse
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute

from netlab.errors import NetlabError, printable
from netlab.files import paths
from netlab.results import index
from netlab.results.campaign_files import (
    CAMPAIGN_ID,
    FOLDER,
    IMPORTED,
    age_of,
    campaign_of,
    folder,
    ids,
    latest,
    read_conditions,
    read_log,
)
from netlab.results.columns import TABLES, Column
from netlab.results.flags import BROKEN
from netlab.results.frames import frame_of
from netlab.results.index import COUNTING, INDEXED
from netlab.results.parquet import (
    FEW_FILES,
    DamagedFile,
    frame_of_parts,
    raw,
    raw_files,
    set_aside,
    write_atomically,
)

_AGAIN = re.compile(r"@r\d+~(\d+)$")
"""End of the name of a part of a visit that was made again."""


class Damaged(UserWarning):
    """A file of results is damaged or missing, and its records or samples are left out."""


def warn_damaged(message: str) -> None:
    """Give a :class:`Damaged` warning."""
    warnings.warn(message, Damaged, stacklevel=5)


CUT_COPY = "the results were copied while they were measured, or it was removed; copy them again"


@dataclass(frozen=True)
class Store:
    """The results of one study, in one directory.

    A part is a file in each table, written by one visit of a block or one import. Of several
    records of a run the last one of the latest campaign counts, of those with a value if there are
    any; the others are superseded.
    """

    directory: Path
    on_damage: Callable[[str], None] = field(default=warn_damaged, repr=False, compare=False)
    """Receives a sentence on each damaged or missing file; a warning by default."""

    def _file(self, table: str, part: str) -> Path:
        return self.directory / table / f"{part}.parquet"

    def write(
        self, part: str, runs: pd.DataFrame, intervals: pd.DataFrame, **samples: pd.DataFrame
    ) -> None:
        """Write the samples of a part before its runs, so that a run never lacks its samples."""
        for table, frame in {**samples, "intervals": intervals, "runs": runs}.items():
            path = self._file(table, part)
            if table not in samples or len(frame) or path.exists():
                write_atomically(frame, path, TABLES[table])

    def parts(self, block_id: str | None = None) -> list[str]:
        """Names of all parts, or of the visits of one block; sorted."""
        pattern = "*" if block_id is None else f"*~{glob.escape(block_id)}@r*"
        names = fnmatch.filter(_files_of(self.directory / "runs"), f"{pattern}.parquet")
        return sorted(name.removesuffix(".parquet") for name in names)

    def part(self, table: str, part: str) -> pd.DataFrame:
        """Rows of one part in one of :data:`TABLES`; empty when it has none."""
        return self._parts(table, [part]).drop(columns="part")

    def repair(self) -> dict[Path, Path]:
        """Rename every damaged file, and return its new path; what it lacks is measured again."""
        moved = {}
        for table in TABLES:
            place = self.directory / table
            for name in fnmatch.filter(sorted(_files_of(place)), "*.parquet"):
                path = place / name
                try:
                    raw(path)
                except DamagedFile:
                    moved[path] = set_aside(path)
        return moved

    def _files(
        self, table: str, parts: Iterable[str], columns: tuple[Column, ...] | None = None
    ) -> Iterator[tuple[Path, pyarrow.Table]]:
        """Files of several parts, whole or some of their columns.

        A damaged file is left out and stays, and `on_damage` receives a sentence on it.
        """
        files = [path for path in (self._file(table, part) for part in parts) if path.exists()]
        for path, rows in zip(files, raw_files(files, columns), strict=True):
            if isinstance(rows, DamagedFile):
                remedy = "its records are left out (`netlab results repair` moves it away)"
                self.on_damage(f"{rows}; {remedy}")
            else:
                yield path, rows

    def _parts(self, table: str, parts: Iterable[str], only: Collection[str] = ()) -> pd.DataFrame:
        """Rows of several parts, with the column ``part``; of some columns only, if named."""
        parts = list(parts)
        columns = tuple(c for c in TABLES[table] if not only or c.name in only)
        if table == "runs" and only and INDEXED.issuperset(only) and len(parts) > FEW_FILES:
            return self._indexed(parts)[[*(c.name for c in columns), "part"]]
        tables = dict(self._files(table, parts, columns if only else None))
        if not tables:
            return frame_of([], columns).assign(part="")
        names = np.repeat([path.stem for path in tables], [t.num_rows for t in tables.values()])
        return frame_of_parts(tables, columns).assign(part=names)

    def _indexed(self, parts: list[str]) -> pd.DataFrame:
        """Rows of several parts with the columns of their index; a part that it lacks is read."""
        begin_s, stored = time.time(), index.load(self.directory)
        states = index.states_of({part: self._file("runs", part) for part in parts})
        fresh = {part for part, state in states.items() if stored.states.get(part) == state}
        known = stored.of(part for part in stored.counts if part in fresh)
        tables = dict(self._files("runs", filterfalse(fresh.__contains__, parts), index.COLUMNS))
        frames = [known.rows()] if known.counts else []
        if tables:
            names = np.repeat([path.stem for path in tables], [t.num_rows for t in tables.values()])
            read = frame_of_parts(tables, index.COLUMNS).assign(part=names)
            frames.append(read)
        if len(tables) > FEW_FILES:
            others = {*self.parts()}.difference(parts) | fresh
            kept = stored.of(part for part in stored.counts if part in others)
            index.save(self.directory, kept.joined(index.of_frame(read, states, begin_s)))
        if not frames:
            return frame_of([], index.COLUMNS).assign(part="")
        return index.in_order(pd.concat(frames), parts)

    def records(
        self,
        block_id: str | None = None,
        *,
        campaign: str | None = None,
        only: Collection[str] = (),
    ) -> pd.DataFrame:
        """All runs ever measured, or those of one block, by start.

        Some columns only, if they are named: a tenth of them takes a third of the time.
        """
        frame = self._by_start(self.parts(block_id), {*only, *COUNTING} if only else ())
        return frame.assign(superseded=~self._counts(frame, campaign))

    def _check_campaigns(self) -> None:
        """Refuse records of campaigns if there is none: nothing says which of them count.

        If some are missing, `on_damage` receives a sentence on each.
        """
        of = {campaign_of(part) for part in self.parts()}
        known = set(ids(self.directory))
        lost = sorted(one for one in of - known if CAMPAIGN_ID.fullmatch(one))
        if lost and not known:
            place = printable(str(self.directory / FOLDER))
            reason = f"{place} is missing, which says what the records of {lost[-1]} are of"
            remedy = "copy the whole directory of results, or measure again"
            raise NetlabError(f"{reason}; {remedy}", code="E-RESULTS-027")
        for one in lost:
            place = printable(str(folder(self.directory, one)))
            reason = f"{place} is missing, which says what its records are of"
            self.on_damage(f"{reason}: {CUT_COPY}")

    def made_by(self, campaign: str) -> pd.DataFrame:
        """Runs that a campaign measured, whether they count or not, by start."""
        return self._by_start([part for part in self.parts() if origin(part) == campaign])

    def _by_start(self, parts: Iterable[str], only: Collection[str] = ()) -> pd.DataFrame:
        frame = self._parts("runs", parts, only)
        return frame.sort_values(["started_at", "order"], ignore_index=True)

    def _counts(self, records: pd.DataFrame, campaign: str | None) -> pd.Series:
        """Mask of the records that count, in the order of their start."""
        belongs = self._belongs(records, campaign)
        # a run that is measured again and fails does not take the place of one with a value
        ended = records["flags"].str.split(",").map(BROKEN.isdisjoint).astype(bool)
        valued = (ended & records["goodput_MBps"].notna()).to_numpy()
        # the clock of a controller that is set back makes a later record start earlier
        last = np.lexsort((np.arange(len(records)), _ages(records["part"]), valued))
        ranked = records["run_id"].where(belongs).iloc[last]
        return belongs & ~ranked.duplicated(keep="last").sort_index()

    def _belongs(self, records: pd.DataFrame, campaign: str | None) -> pd.Series:
        """Mask of the records made under the conditions of a campaign, by default the latest one.

        In a campaign of an older netlab, which stored no conditions, those that it made or adopted.
        """
        last = latest(self.directory) if campaign is None else campaign
        if last is None:
            return pd.Series(True, index=records.index)
        parts = records["part"].astype(str)
        imported = parts.str.startswith(IMPORTED).astype(bool)
        conditions = read_conditions(self.directory, last)
        if conditions is not None:
            wanted = conditions.planned(records["run_id"])
            return imported | (records["provenance_key"] == wanted).fillna(False).astype(bool)
        adopted = read_log(self.directory, last).adopted
        chosen = {(part, run) for part, runs in adopted.items() for run in runs}
        pairs = pd.Series(list(zip(parts, records["run_id"], strict=True)), records.index)
        return (parts.map(campaign_of) == last) | imported | pairs.isin(chosen)

    def every_record(self) -> pd.DataFrame:
        """Columns of all records that say which of them counts."""
        return self._parts("runs", self.parts(), COUNTING)

    def valid_runs(self, campaign: str | None, records: pd.DataFrame) -> frozenset[str]:
        """Ids of the runs with an unflagged record that was made under a campaign's conditions."""
        good = records[(records["flags"] == "") & self._belongs(records, campaign)]
        return frozenset(good["run_id"])

    def _that_may_count(
        self, block_id: str | None, campaign: str | None, only: Collection[str] = ()
    ) -> pd.DataFrame:
        """Records of the parts that have one that counts, by start."""
        self._check_campaigns()
        if len(set(map(campaign_of, self.parts(block_id)))) < 2:
            return self.records(block_id, campaign=campaign, only=only)
        # of many campaigns few count, and all columns of a file take longer than those that say so
        records = self.records(block_id, campaign=campaign, only=COUNTING)
        counting = _places(records)[~records["superseded"].to_numpy()]
        frame = self._by_start(
            sorted(set(counting.get_level_values(0))), {*only, *COUNTING} if only else ()
        )
        return frame.assign(superseded=~_places(frame).isin(counting))

    def runs(
        self,
        *,
        superseded: bool = False,
        campaign: str | None = None,
        only: Collection[str] = (),
    ) -> pd.DataFrame:
        """Runs that count, in planned order; with `superseded` all records.

        Of a campaign that is named those that it made and those that count in it. Some columns
        only, if they are named and none is superseded.
        """
        if not superseded:
            return _that_count(self._that_may_count(None, campaign, only))
        records = self.records(campaign=campaign)
        if campaign is None:
            return records
        own = records["part"].astype(str).map(campaign_of) == campaign
        return records[own | ~records["superseded"]].reset_index(drop=True)

    def of_campaigns(
        self, campaigns: Collection[str], only: Collection[str]
    ) -> Iterator[tuple[str, pd.DataFrame]]:
        """Runs that count in each of the campaigns, with the columns named; each file read once."""
        records = self._by_start(self.parts(), {*only, *COUNTING})
        by_key = records.groupby("provenance_key").indices
        of_none = np.flatnonzero(records["part"].str.startswith(IMPORTED))
        for campaign in campaigns:
            conditions = read_conditions(self.directory, campaign)
            some = records
            if conditions is not None:
                # others cannot count, and of many campaigns they are most
                places = [by_key[key] for key in conditions.every_key() & by_key.keys()]
                some = records.iloc[np.unique(np.concatenate([of_none, *places]))]
            yield campaign, _that_count(some.assign(superseded=~self._counts(some, campaign)))

    def rows(self, table: str, *, campaign: str | None = None) -> pd.DataFrame:
        """Rows of the runs that count, in one of :data:`TABLES`."""
        if table == "runs":
            return self.runs(campaign=campaign)
        self._check_campaigns()
        return self._rows(table, self.records(campaign=campaign, only=COUNTING))

    def _rows(self, table: str, records: pd.DataFrame) -> pd.DataFrame:
        return self.rows_of(table, records[~records["superseded"]])

    def rows_of(
        self, table: str, records: pd.DataFrame, only: Collection[str] = ()
    ) -> pd.DataFrame:
        """Rows of some records, by their columns ``part`` and ``run_id``, in a table of samples.

        Some columns only, if they are named.
        """
        columns = tuple(c for c in TABLES[table] if not only or c.name in {"run_id", *only})
        wanted = {str(part): list(runs) for part, runs in records.groupby("part")["run_id"]}
        # part by part: a pair of part and run for each of millions of samples fills the memory
        tables = {
            path: _only_runs(rows, wanted[path.stem])
            for path, rows in self._files(table, sorted(wanted), columns if only else None)
        }
        return frame_of_parts(tables, columns) if tables else frame_of([], columns)

    def check_samples(self, records: pd.DataFrame) -> None:
        """Read the interval samples of some records; `on_damage` receives what is lacking.

        Samples are written before their runs, so that only a copy made meanwhile lacks some.
        """
        parts = records["part"].astype(str)
        measured = records[records["goodput_MBps"].notna() & ~parts.str.startswith(IMPORTED)]
        wanted = {str(part): set(runs) for part, runs in measured.groupby("part")["run_id"]}
        files = {part: self._file("intervals", part) for part in sorted(parts.unique())}
        lacking = {part: wanted[part] for part in wanted if not files[part].exists()}
        for path, rows in self._files("intervals", files):
            if "run_id" in rows.column_names:
                sampled = pyarrow.compute.unique(rows["run_id"]).to_pylist()
                lacking[path.stem] = wanted.get(path.stem, set()).difference(sampled)
        for part, runs in lacking.items():
            if runs:
                file, count = printable(str(files[part])), len(runs)
                reason = f"{file} lacks the samples of {count} run{'s' if count > 1 else ''}"
                self.on_damage(f"{reason}: {CUT_COPY}")

    def counting(
        self, campaign: str | None = None, only: Collection[str] = ()
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Runs that count, in planned order; and part, run id and goodput of each."""
        records = self._that_may_count(None, campaign, only)
        places = ["part", "run_id", "goodput_MBps"]
        return _that_count(records), records.loc[~records["superseded"], places]

    def block(
        self, block_id: str | None = None, *, campaign: str | None = None
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Runs that count, of one block or of all, in planned order; and their interval samples.

        The files of runs are read once for both. `campaign` is as in :meth:`runs`.
        """
        records = self._that_may_count(block_id, campaign)
        return _that_count(records), self._rows("intervals", records)

    def intervals(self) -> pd.DataFrame:
        """Interval samples of the runs that count."""
        return self.rows("intervals")


def _files_of(table: Path) -> list[str]:
    """Names of the files of a table; hidden ones are of the program that copied the others."""
    return [name for name in paths.names_below(table) if not name.startswith(".")]


def _ages(parts: pd.Series) -> np.ndarray:
    """Rank of the part of each record by campaign and number; 0 for imported and older parts."""
    codes, names = pd.factorize(parts)
    ages = [_begun(str(name)) for name in names]
    rank = {age: number for number, age in enumerate(sorted(set(ages)))}
    return np.array([rank[age] for age in ages], dtype=int)[codes]


def _begun(part: str) -> tuple[str, int, int]:
    campaign, number = campaign_of(part), _AGAIN.search(part)
    if not CAMPAIGN_ID.fullmatch(campaign):
        return "", 0, 0
    return *age_of(campaign), int(number[1]) if number else 1


def _places(records: pd.DataFrame) -> pd.MultiIndex:
    """Part of each record, and its place by start among the records of the part."""
    return pd.MultiIndex.from_arrays([records["part"], records.groupby("part").cumcount()])


def _only_runs(rows: pyarrow.Table, runs: list[str]) -> pyarrow.Table:
    if "run_id" not in rows.column_names:
        return rows  # refused with the names of all columns that it lacks
    ids = rows["run_id"]
    return rows.filter(pyarrow.compute.is_in(ids, value_set=pyarrow.array(runs, ids.type)))


def _that_count(records: pd.DataFrame) -> pd.DataFrame:
    counting = records[~records["superseded"]].drop(columns=["part", "superseded"])
    return counting.sort_values("order", ignore_index=True)


OLDER, IMPORTS = "older", "imported"
"""In place of a campaign: parts of an older netlab, and imported parts."""


def origin(part: str) -> str:
    """Campaign that wrote a part, or what stands in its place."""
    if part.startswith(IMPORTED):
        return IMPORTS
    return campaign_of(part) or OLDER
