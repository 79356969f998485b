"""Campaigns of a directory of results: list, describe, and remove what is superseded."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from netlab.errors import BadInput, NetlabError
from netlab.results.campaign_files import CampaignLog, folder, ids, latest, read_log
from netlab.results.columns import TABLES
from netlab.results.index import COUNTING
from netlab.results.store import IMPORTS, OLDER, Store, origin

NOTEBOOKS = "notebooks"
_PART_FILE = re.compile(r"(.*?)(?:\.parquet|(?:\.failed)?\.ipynb)")


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
    for one in (*TABLES, NOTEBOOKS):
        if (place := store.directory / one).is_dir():
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
