"""The manifest of an archive: which parts it has, and which files of which store a part holds.

The manifest is the commit of a compaction. A part is written whole before the manifest names it,
and removed only after a manifest without it is written: a process killed at any moment leaves an
archive that has no record twice, and loses none.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from netlab.errors import NetlabError, why

FILE = "manifest.json"
FORMAT = 1
RUNS, INTERVALS, STANDING = "runs", "intervals", "standing"

NO_STUDY_LEVEL = 0.95
"""Level of the intervals of results without a study."""

Stamp = tuple[int, ...]
"""Size and time of change (ns) of the files of a part of a store."""


@dataclass
class ArchivePart:
    """A part of an archive: a file of runs, and one of interval samples.

    Parameters
    ----------
    study : str
        Its study.
    runs, samples : int
        Rows of its files.
    """

    study: str
    runs: int
    samples: int


@dataclass
class ArchivedPart:
    """A part of a store, as it was when it was archived.

    Parameters
    ----------
    part : str
        Part of the archive that has its rows.
    first, runs : int
        Number of its first record, and of its records.
    stamp : tuple of int
        Its files as they were read.
    """

    part: str
    first: int
    runs: int
    stamp: Stamp


@dataclass
class ArchivedStore:
    """A store in an archive.

    Parameters
    ----------
    parts : dict of str to ArchivedPart
        Its parts by name.
    campaigns : dict of str to dict
        Campaign, oldest first -> part -> ids of runs that it adopted.
    asked : dict of str to list
        Campaign, or an empty name without one -> nominal level of the intervals of its study, and
        precision that the study asks of a cell, per cent (None without one).
    """

    parts: dict[str, ArchivedPart] = field(default_factory=dict)
    campaigns: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    asked: dict[str, list[float | None]] = field(default_factory=dict)


@dataclass
class Manifest:
    """Content of an archive.

    Parameters
    ----------
    next_record, next_part : int
        Numbers that are not in use yet.
    standing : str
        Part that says which record counts in which campaign; empty without one.
    parts : dict of str to ArchivePart
        Parts by name.
    stores : dict of str to ArchivedStore
        Stores by their absolute path.
    """

    next_record: int = 0
    next_part: int = 1
    standing: str = ""
    parts: dict[str, ArchivePart] = field(default_factory=dict)
    stores: dict[str, ArchivedStore] = field(default_factory=dict)

    def new_part(self) -> str:
        """A name that no part has had."""
        name = f"part-{self.next_part:06d}"
        self.next_part += 1
        return name

    def files(self, directory: Path) -> set[Path]:
        """All files that belong to the archive, besides the manifest."""
        found = {
            part_file(directory, table, part.study, name)
            for name, part in self.parts.items()
            for table in (RUNS, INTERVALS)
        }
        return found | ({standing_file(directory, self.standing)} if self.standing else set())


def part_file(directory: Path, table: str, study: str, part: str) -> Path:
    """File of a part: ``runs/study=NAME/part-000001.parquet``."""
    return directory / table / f"study={quote(study, safe='')}" / f"{part}.parquet"


def standing_file(directory: Path, part: str) -> Path:
    """File that says which record counts in which campaign."""
    return directory / STANDING / f"{part}.parquet"


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of an archive.

    Raises
    ------
    NetlabError
        It is missing or damaged.
    """
    path = directory / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("format") != FORMAT:
            raise ValueError(f"format is not {FORMAT}")
        content["parts"] = {name: ArchivePart(**part) for name, part in content["parts"].items()}
        content["stores"] = {
            name: ArchivedStore(
                {
                    part: ArchivedPart(**{**found, "stamp": tuple(found["stamp"])})
                    for part, found in store["parts"].items()
                },
                store["campaigns"],
                store.get("asked", {}),  # an archive of an older version has none
            )
            for name, store in content["stores"].items()
        }
        return Manifest(**content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NetlabError(
            f"{path} cannot be read as the manifest of an archive: {why(error)}; make the archive "
            "with `netlab fleet compact`",
            code="E-FLEET-049",
        ) from None


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write the manifest durably: what it names is part of the archive from now on."""
    content = {"format": FORMAT, **asdict(manifest)}
    partial = directory / f".{FILE}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(content, file)
    publish(partial, directory / FILE)


def publish(partial: Path, path: Path) -> None:
    """Sync a written file, and give it its name durably."""
    for step in ("content", "name"):
        opened = os.open(partial if step == "content" else path.parent, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
        if step == "content":
            os.replace(partial, path)
