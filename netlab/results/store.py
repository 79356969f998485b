"""The records of one study. Parts are added and never changed by a later command."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, count, filterfalse
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute
from pydantic import TypeAdapter

from netlab.errors import BadInput, NetlabError, printable, why
from netlab.files import paths
from netlab.files.bounded_json import read_json
from netlab.files.writing import write_text
from netlab.results import index
from netlab.results.columns import TABLES, Column
from netlab.results.flags import BROKEN
from netlab.results.frames import (
    FEW_FILES,
    DamagedFile,
    frame_of,
    frame_of_parts,
    raw,
    raw_files,
    set_aside,
    write_atomically,
)
from netlab.results.index import COUNTING, INDEXED

# Campaigns: each measures one study under one provenance; a later one supersedes, never deletes.
#
# A directory of results holds one folder a campaign, ``campaigns/<id>/``, with the study as it was
# measured (``study.yml``), ``campaign.json``, and the conditions of its runs (``conditions.json``).
# The id is the UTC time of its start. A record counts in a campaign exactly if it was made under
# the conditions that the campaign has for its cell, whichever campaign it was made in.

FOLDER, CONDITIONS = "campaigns", "conditions.json"
CAMPAIGN_ID = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
_AGAIN = re.compile(r"@r\d+~(\d+)$")
"""End of the name of a part of a visit that was made again."""


@dataclass(frozen=True)
class CampaignLog:
    """Record of a campaign besides its runs."""

    campaign: str
    key: str
    started_at: str
    study: str
    study_digest: str
    version: str
    adopted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Records of earlier campaigns that count, by part; of a campaign without conditions."""
    rule: Literal["campaign", "conditions"] = "campaign"
    """Records count by campaign, as of an older netlab, or by their conditions."""
    looks: tuple[dict, ...] = ()
    contradictions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Conditions:
    """Conditions under which the records of a campaign's runs count."""

    contexts: Mapping[str, dict] = field(default_factory=dict)
    """Of each block whose hosts were asked: versions, machines and settings found."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Provenance key of each cell of these blocks."""
    trials: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the key of a cell, the runs that a search planned in it, with the key of each."""

    def every_key(self) -> set[str]:
        """Keys that a record has to have to count."""
        return {*self.keys.values(), *(key for of in self.trials.values() for key in of.values())}

    def planned(self, run_ids: pd.Series) -> pd.Series:
        """The key that each run has to have; missing for a run that is not planned."""
        of_trials: dict[str, str] = {}
        for cell_key in self.keys.values():
            of_trials |= self.trials.get(cell_key, {})
        wanted = [of_trials.get(run) or self.keys.get(run.rpartition("@")[0]) for run in run_ids]
        return pd.Series(wanted, run_ids.index, dtype="string")


_LOG = TypeAdapter(CampaignLog)
_CONDITIONS = TypeAdapter(Conditions)


def folder(directory: Path, campaign: str) -> Path:
    """Folder of a campaign below a directory of results."""
    return directory / FOLDER / campaign


def study_file(directory: Path, campaign: str | None = None) -> Path:
    """The study as a campaign (the latest one) measured it; also where older versions stored it."""
    last = campaign or latest(directory)
    return directory / "study.yml" if last is None else folder(directory, last) / "study.yml"


def ids(directory: Path) -> list[str]:
    """Ids of the campaigns in a directory of results, oldest first."""
    files = (directory / FOLDER).glob("*/campaign.json")
    return sorted((p.parent.name for p in files if CAMPAIGN_ID.fullmatch(p.parent.name)), key=_age)


def _age(campaign: str) -> tuple[str, int]:
    stamp, _, number = campaign.partition("-")
    return stamp, int(number or 0)


def latest(directory: Path) -> str | None:
    """Id of the campaign that started last; None without one."""
    campaigns = ids(directory)
    return campaigns[-1] if campaigns else None


def new_id(directory: Path, now: datetime) -> str:
    """An id that no campaign of the directory has, later than all of them."""
    stamp, before = f"{now:%Y%m%dT%H%M%SZ}", latest(directory)
    if before is None or _age(before) < (stamp, 0):
        return stamp
    stamp, number = _age(before)  # the clock was set back, or two start within a second
    return f"{stamp}-{number + 1}"


def read_log(directory: Path, campaign: str) -> CampaignLog:
    """Read ``campaign.json``."""
    path = folder(directory, campaign) / "campaign.json"
    try:
        return _LOG.validate_python(read_json(path))
    except (OSError, ValueError) as error:
        reason = f"{printable(str(path))} cannot be read as a campaign: {why(error)[:300]}"
        raise NetlabError(reason, code="E-RESULTS-011") from None


def write_log(directory: Path, log: CampaignLog) -> None:
    """Write ``campaign.json``, atomically."""
    path = folder(directory, log.campaign) / "campaign.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(vars(log), indent=1) + "\n")


def conditions_file(directory: Path, campaign: str) -> Path:
    return folder(directory, campaign) / CONDITIONS


def read_conditions(directory: Path, campaign: str | None) -> Conditions | None:
    """Conditions of a campaign; None of one that an older netlab measured."""
    if campaign is None or not (folder(directory, campaign) / "campaign.json").is_file():
        return None
    path, remedy = conditions_file(directory, campaign), "`netlab results repair` makes it again"
    if not path.exists():
        if read_log(directory, campaign).rule == "campaign":
            return None
        reason = f"{printable(str(path))} is missing; {remedy} from the records"
        raise NetlabError(reason, code="E-RESULTS-026")
    try:
        content = read_json(path)
        if not {"contexts", "keys"} <= content.keys():
            raise ValueError("has no contexts or no keys")
        return _CONDITIONS.validate_python(content)
    except (OSError, ValueError) as error:
        reason = f"{printable(str(path))} cannot be read as conditions: {why(error)[:300]}"
        raise NetlabError(f"{reason}; {remedy} from the records", code="E-RESULTS-025") from None


def write_conditions(directory: Path, campaign: str, conditions: Conditions) -> None:
    """Write ``conditions.json``, atomically."""
    path = conditions_file(directory, campaign)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(vars(conditions), sort_keys=True) + "\n")


def part_name(campaign: str, visit_id: str, taken: Iterable[str]) -> str:
    """Name of a new part of the store: campaign and visit, numbered where it is visited again."""
    base, used = f"{campaign}~{visit_id}", set(taken)
    names = chain((base,), (f"{base}~{number}" for number in count(2)))
    return next(name for name in names if name not in used)


def campaign_of(part: str) -> str:
    """Id of the campaign that wrote a part; empty for imported and older parts."""
    head, separator, _ = part.partition("~")
    return head if separator else ""


def measured_directory(study: str) -> Path:
    """Directory of the results of a study or of its short form, by its name: the one measured last.

    That of the study if neither was measured.
    """
    return _directories(study)[0]


def _directories(study: str) -> list[Path]:
    """Directories of the results of a study and of its short form, the one measured last first."""
    forms = (study,) if study.endswith(paths.QUICK) else (study, study + paths.QUICK)
    return sorted(map(paths.results_dir, forms), key=_measured_at, reverse=True)


def names_here() -> str:
    """Clause of a message that names the directory of results, and those that are there."""
    root = paths.results_root()
    names = sorted(place.name for place in root.glob("*/") if study_file(place).is_file())
    return f"; {root} has " + (f"results of {', '.join(names)}" if names else "no results")


def named_campaign(given: str | Path, results: Path | None = None) -> tuple[Path, str] | None:
    """Directory and id of ``RESULTS@CAMPAIGN``, or of the path of a study that a campaign stored.

    A campaign of a study's name is sought in `results`, if they are given; else in those of the
    study and of its short form. None of any other name or path, which is not that of one campaign.
    """
    path = paths.given_path(given)
    if path.is_file():
        path = path.resolve()
        directory = path.parents[2] if len(path.parents) > 2 else path.parent
        stored = path == folder(directory, path.parent.name) / "study.yml"
        return (directory, path.parent.name) if stored else None
    place, at, campaign = str(given).rpartition("@")
    if not (at and place) or path.exists() or paths.results_dir(str(given)).is_dir():
        return None
    by_name = "/" not in place
    searched = [*_directories(place), paths.example(place)] if by_name else []
    searched = [results] if by_name and results else [*searched, paths.given_path(place)]
    campaigns = {one: ids(one) for one in searched}
    for directory in (one for one, known in campaigns.items() if campaign in known):
        if by_name and results:
            study = read_log(directory, campaign).study
            return (directory, campaign) if study in (place, place + paths.QUICK) else None
        return directory, campaign
    for directory, known in campaigns.items():
        if known or (directory / "runs").is_dir():
            text = f"no such campaign; there are {', '.join(known) or 'none'}"
            where = str(directory)
            raise BadInput(text, where=where, key="campaign", value=campaign, code="E-RESULTS-029")
    return None


def _measured_at(directory: Path) -> float:
    """Time of the last change of a directory of results, s since the epoch; 0 without one."""
    files = [study_file(directory), *directory.glob("runs/*.parquet")]
    return max((file.stat().st_mtime for file in files if file.is_file()), default=0.0)


IMPORTED = "imported@"
"""Start of the names of parts that were imported: they belong to no campaign and always count."""


class Damaged(UserWarning):
    """A file of results is damaged or missing, and its records or samples are left out."""


CUT_COPY = "the results were copied while they were measured, or it was removed; copy them again"


@dataclass(frozen=True)
class Store:
    """The results of one study, in one directory.

    A part is a file in each table, written by one visit of a block or one import. Of several
    records of a run the last one of the latest campaign counts, of those with a value if there are
    any; the others are superseded.
    """

    directory: Path

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
        names = "*" if block_id is None else f"*~{glob.escape(block_id)}@r*"
        return sorted(path.stem for path in self.directory.glob(f"runs/{names}.parquet"))

    def part(self, table: str, part: str) -> pd.DataFrame:
        """Rows of one part in one of :data:`TABLES`; empty when it has none."""
        return self._parts(table, [part]).drop(columns="part")

    def repair(self) -> dict[Path, Path]:
        """Rename every damaged file, and return its new path; what it lacks is measured again."""
        moved = {}
        for table in TABLES:
            for path in sorted((self.directory / table).glob("*.parquet")):
                try:
                    raw(path)
                except DamagedFile:
                    moved[path] = set_aside(path)
        return moved

    def _files(
        self, table: str, parts: Iterable[str], columns: tuple[Column, ...] | None = None
    ) -> Iterator[tuple[Path, pyarrow.Table]]:
        """Files of several parts, whole or some of their columns.

        A damaged file is left out and stays, and a :class:`Damaged` warning says so.
        """
        files = [path for path in (self._file(table, part) for part in parts) if path.exists()]
        for path, rows in zip(files, raw_files(files, columns), strict=True):
            if isinstance(rows, DamagedFile):
                remedy = "its records are left out (`netlab results repair` moves it away)"
                warnings.warn(f"{rows}; {remedy}", Damaged, stacklevel=4)
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

        If some are missing, a :class:`Damaged` warning says so.
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
            warnings.warn(f"{reason}: {CUT_COPY}", Damaged, stacklevel=4)

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
        """Read the interval samples of some records, for warnings about damaged or lacking ones.

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
                warnings.warn(f"{reason}: {CUT_COPY}", Damaged, stacklevel=3)

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
    return *_age(campaign), int(number[1]) if number else 1


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


# Campaigns of a directory of results: list, describe, and remove what is superseded.

NOTEBOOKS = "notebooks"
_PART_FILE = re.compile(r"(.*?)(?:\.parquet|(?:\.failed)?\.ipynb)")
OLDER, IMPORTS = "older", "imported"
"""In place of a campaign: parts of an older netlab, and imported parts."""


@dataclass(frozen=True)
class CampaignSummary:
    """Files of one campaign in a directory."""

    campaign: str
    started_at: str
    study: str
    study_digest: str
    runs: int
    valid: int
    superseded: int
    size_B: int
    log: CampaignLog | None = None


def origin(part: str) -> str:
    """Campaign that wrote a part, or what stands in its place."""
    if part.startswith(IMPORTED):
        return IMPORTS
    return campaign_of(part) or OLDER


def summaries(directory: Path) -> list[CampaignSummary]:
    """Every campaign of a directory, oldest first; parts without one before them."""
    store = _store(directory)
    records = store.records(only=COUNTING)
    # counted by part: selecting the records of each campaign would take milliseconds for each
    codes, names = pd.factorize(records["part"])
    parts = list(map(str, names))
    every = (np.ones(len(records)), records["flags"].fillna("") == "", records["superseded"])
    counts = np.array([np.bincount(codes, mask, len(parts)) for mask in every], int).T
    by_origin: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        by_origin.setdefault(origin(part), []).append(number)
    sizes_B, campaigns = _sizes_B(store), ids(directory)
    sources = [name for name in (OLDER, IMPORTS) if name in by_origin]
    lost = sorted(by_origin.keys() - {OLDER, IMPORTS, *campaigns})
    found = []
    for name in [*sources, *lost, *campaigns]:
        own = by_origin.get(name, [])
        found.append(
            _summary(store, name, [parts[n] for n in own], counts[own].sum(axis=0), sizes_B)
        )
    return found


def _sizes_B(store: Store) -> dict[str, int]:
    """Size of the files of each part: one pass over each directory, as parts are many."""
    sizes_B: dict[str, int] = {}
    for folder in (*TABLES, NOTEBOOKS):
        if (place := store.directory / folder).is_dir():
            with os.scandir(place) as entries:
                for entry in entries:
                    name = _PART_FILE.fullmatch(entry.name)
                    if name and entry.is_file():
                        sizes_B[name[1]] = sizes_B.get(name[1], 0) + entry.stat().st_size
    return sizes_B


def _summary(
    store: Store, campaign: str, parts: list[str], counts: np.ndarray, sizes_B: Mapping[str, int]
) -> CampaignSummary:
    """Summary of a campaign by its parts, and its numbers of runs, valid and superseded ones."""
    logged, log = folder(store.directory, campaign), None
    if (logged / "campaign.json").is_file():
        log = read_log(store.directory, campaign)
        texts = {name: getattr(log, name) for name in ("study", "study_digest", "started_at")}
    else:
        names = ("study", "study_digest")
        of = store._parts("runs", parts, (*names, "started_at"))
        first = of["started_at"].min()
        texts = {name: ", ".join(map(str, of[name].dropna().unique())) for name in names}
        texts["started_at"] = "" if pd.isna(first) else first.isoformat(timespec="seconds")
    files = [file for file in logged.glob("*") if file.is_file()]
    runs, valid, superseded = map(int, counts)
    return CampaignSummary(
        campaign=campaign,
        **texts,
        runs=runs,
        valid=valid,
        superseded=superseded,
        size_B=sum(file.stat().st_size for file in files)
        + sum(sizes_B.get(part, 0) for part in parts),
        log=log,
    )


def summary(directory: Path, campaign: str) -> CampaignSummary:
    """One campaign of a directory."""
    by_name = {one.campaign: one for one in summaries(directory)}
    if campaign not in by_name:
        reason, where = f"no such campaign; there are {', '.join(by_name)}", str(directory)
        raise BadInput(reason, where=where, key="campaign", value=campaign, code="E-RESULTS-021")
    return by_name[campaign]


def part_files(store: Store, part: str) -> Iterator[Path]:
    """Files of a part that exist: its tables and the notebook of its visit."""
    candidates = [store.directory / table / f"{part}.parquet" for table in TABLES]
    notebooks = store.directory / NOTEBOOKS
    candidates += [notebooks / f"{part}.ipynb", notebooks / f"{part}.failed.ipynb"]
    yield from (path for path in candidates if path.is_file())


@dataclass(frozen=True)
class Pruning:
    """Plan of the files that :func:`prune` removes."""

    directory: Path
    parts: tuple[str, ...]
    records: int
    kept: int
    files: tuple[Path, ...]
    folders: tuple[Path, ...]

    @property
    def size_B(self) -> int:
        """Bytes of the files."""
        return sum(file.stat().st_size for file in self.files)


def planned(directory: Path) -> Pruning:
    """Find the superseded records of a directory that can be removed.

    A part goes if none of its records counts; the file of one that counts is never written anew.
    The log and study of a campaign go with its last part, those of the latest campaign never.
    """
    store = _store(directory)
    records = store.records()
    stays = records.groupby("part")["superseded"].all()
    parts = tuple(sorted(stays.index[stays]))
    gone = records["part"].isin(parts)
    left = {origin(part) for part in records.loc[~gone, "part"]}
    last = latest(directory)
    emptied = [
        folder(directory, one)
        for one in ids(directory)
        if one != last and one not in left and any(origin(part) == one for part in parts)
    ]
    files = [file for part in parts for file in part_files(store, part)]
    files += [file for place in emptied for file in sorted(place.iterdir()) if file.is_file()]
    return Pruning(
        directory=directory,
        parts=parts,
        records=int(gone.sum()),
        kept=int((records["superseded"] & ~gone).sum()),
        files=tuple(files),
        folders=tuple(emptied),
    )


def prune(found: Pruning) -> None:
    """Remove the files of a plan; run tables last, so that a record never lacks its samples."""
    if planned(found.directory) != found:
        reason = f"{found.directory} changed meanwhile; no file was removed"
        raise NetlabError(reason, code="E-RESULTS-022")
    try:
        for file in sorted(found.files, key=lambda path: path.parent.name == "runs"):
            file.unlink()
    except OSError as error:
        reason = f"cannot remove {error.filename}: {error.strerror}"
        raise NetlabError(reason, code="E-RESULTS-023") from None
    for place in found.folders:
        with contextlib.suppress(OSError):  # holds a file that netlab did not write
            place.rmdir()


def _store(directory: Path) -> Store:
    store = Store(directory)
    if not store.parts() and not ids(directory):
        raise BadInput("holds no results", where=str(directory), code="E-RESULTS-020")
    return store
