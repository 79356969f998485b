"""Campaigns of a directory of results: list, describe, and remove what is superseded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.errors import BadInput, NetlabError
from netlab.results import campaigns
from netlab.results.campaigns import CampaignLog
from netlab.results.columns import TABLES
from netlab.results.store import IMPORTED, Store

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
    return campaigns.campaign_of(part) or OLDER


def summaries(directory: Path) -> list[CampaignSummary]:
    """Every campaign of a directory, oldest first; parts without one before them."""
    store = _store(directory)
    records = store.records()
    of = records["part"].map(origin)
    known = campaigns.ids(directory)
    found = [name for name in (OLDER, IMPORTS) if (of == name).any()]
    lost = sorted(set(of) - {OLDER, IMPORTS, *known})
    return [_summary(store, name, records[of == name]) for name in [*found, *lost, *known]]


def _summary(store: Store, campaign: str, records: pd.DataFrame) -> CampaignSummary:
    logged = campaigns.folder(store.directory, campaign)
    log = None
    if (logged / "campaign.json").is_file():
        log = campaigns.read_log(store.directory, campaign)
    files = [file for part in records["part"].unique() for file in part_files(store, part)]
    files += [file for file in logged.glob("*") if file.is_file()]
    first = records["started_at"].min()
    began = "" if pd.isna(first) else first.isoformat(timespec="seconds")
    return CampaignSummary(
        campaign=campaign,
        started_at=began if log is None else log.started_at,
        study=_all(records["study"]) if log is None else log.study,
        study_digest=_all(records["study_digest"]) if log is None else log.study_digest,
        runs=len(records),
        valid=int((records["flags"].fillna("") == "").sum()),
        superseded=int(records["superseded"].sum()),
        size_B=sum(file.stat().st_size for file in files),
        log=log,
    )


def _all(values: pd.Series) -> str:
    return ", ".join(map(str, values.dropna().unique()))


def summary(directory: Path, campaign: str) -> CampaignSummary:
    """One campaign of a directory."""
    found = summaries(directory)
    for one in found:
        if one.campaign == campaign:
            return one
    raise BadInput(
        f"no such campaign; there are {', '.join(one.campaign for one in found)}",
        where=str(directory),
        key="campaign",
        value=campaign,
        code="E-RESULTS-021",
    )


def part_files(store: Store, part: str) -> Iterator[Path]:
    """Files of a part that exist: its tables and the notebook of its visit."""
    candidates = [store.directory / table / f"{part}.parquet" for table in TABLES]
    notebooks = store.directory / "notebooks"
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
    last = campaigns.latest(directory)
    emptied = [
        campaigns.folder(directory, one)
        for one in campaigns.ids(directory)
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
        raise NetlabError(
            f"{found.directory} changed meanwhile; no file was removed", code="E-RESULTS-022"
        )
    try:
        for file in sorted(found.files, key=lambda path: path.parent.name == "runs"):
            file.unlink()
    except OSError as error:
        raise NetlabError(
            f"cannot remove {error.filename}: {error.strerror}", code="E-RESULTS-023"
        ) from None
    for place in found.folders:
        with contextlib.suppress(OSError):  # holds a file that netlab did not write
            place.rmdir()


def _store(directory: Path) -> Store:
    store = Store(directory)
    if not store.parts() and not campaigns.ids(directory):
        raise BadInput("holds no results", where=str(directory), code="E-RESULTS-020")
    return store
