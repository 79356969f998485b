"""Index of the parts of a store: the columns of their runs that tell which of them counts.

Reading the footer of a part, with all its columns, takes longer than the few columns that a list of
campaigns needs of it. The index is one file in the user's cache. Of each part it has the state of
the file that it was read from; a part whose file is in any other state is read again. So results
that were copied, repaired, or changed by another program are never taken for what they were, and
results on a read-only disk have an index as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow

from netlab.errors import NetlabError
from netlab.files.bounded_json import parse_json
from netlab.files.user_cache import Entries, cache_directory, key_of
from netlab.results.columns import RUN_COLUMNS, SCHEMA_VERSION
from netlab.results.frames import frame_of
from netlab.results.parquet import frame_of_table, table_of
from netlab.version import version

FOLDER = "netlab-results"

COUNTING = ("run_id", "started_at", "order", "flags", "goodput_MBps", "provenance_key")
"""Columns that say which of the records of a run counts."""

INDEXED = frozenset(
    {*COUNTING, "campaign", "block_id", "group", "tuning", "mtu_B", "streams", "factors"}
)
"""Also those of the trend over campaigns and of records under other conditions."""

COLUMNS = tuple(c for c in RUN_COLUMNS if c.name in INDEXED)

SETTLED_S = 2
"""A file changed less than this before it is read may change again at the same time by the clock of
its file system, some of which count in whole seconds. It is read again by the next command."""

FileState = tuple[int, int, int, int, int]
"""Of a file: size, times of its last change of content and of itself, inode and device."""

_PARTS = b"netlab.parts"


def states_of(files: Mapping[str, Path]) -> dict[str, FileState]:
    """State of each file that exists, by its part."""
    states = {}
    for part, path in files.items():
        try:
            found = os.stat(path)
        except OSError:
            continue
        times = found.st_mtime_ns, found.st_ctime_ns
        states[part] = (found.st_size, *times, found.st_ino, found.st_dev)
    return states


@dataclass(frozen=True)
class PartIndex:
    """Rows of parts, one part below the other, with the state of the file of each."""

    frame: pd.DataFrame
    states: Mapping[str, FileState]
    counts: Mapping[str, int]

    def of(self, parts: Iterable[str]) -> PartIndex:
        """The index of some of its parts, in their order."""
        names = list(parts)
        ends = dict(zip(self.counts, np.cumsum(list(self.counts.values())), strict=True))
        counts = {name: self.counts[name] for name in names}
        chosen = self.frame
        if names != list(self.counts):
            rows = [np.arange(ends[name] - count, ends[name]) for name, count in counts.items()]
            chosen = chosen.iloc[np.concatenate(rows) if rows else []]
        states = {name: self.states[name] for name in names}
        return PartIndex(chosen.reset_index(drop=True), states, counts)

    def rows(self) -> pd.DataFrame:
        """The rows, with the column ``part``."""
        return self.frame.assign(part=np.repeat(list(self.counts), list(self.counts.values())))

    def joined(self, other: PartIndex) -> PartIndex:
        """The parts of both indexes; `other` has none of this one."""
        frame = pd.concat([f for f in (self.frame, other.frame) if len(f)] or [self.frame])
        states, counts = {**self.states, **other.states}, {**self.counts, **other.counts}
        return PartIndex(frame.reset_index(drop=True), states, counts)


NO_PARTS = PartIndex(frame_of([], COLUMNS), {}, {})


def of_frame(frame: pd.DataFrame, states: Mapping[str, FileState], read_s: float) -> PartIndex:
    """The index of rows with a column ``part``, of parts whose files had settled before `read_s`.

    The rows of a part follow each other.
    """
    newest_ns = int((read_s - SETTLED_S) * 1e9)
    sizes = frame.groupby("part", sort=False).size()
    settled = [p for p in sizes.index if p in states and max(states[p][1:3]) < newest_ns]
    counts = {str(part): int(sizes[part]) for part in settled}
    rows = frame.loc[frame["part"].isin(settled), [c.name for c in COLUMNS]]
    return PartIndex(rows.reset_index(drop=True), {p: states[p] for p in settled}, counts)


def load(directory: Path) -> PartIndex:
    """The index of a directory of results; empty if there is none that can be read."""
    content = _entries().get(_key(directory))
    if content is None:
        return NO_PARTS
    try:
        with pyarrow.ipc.open_file(pyarrow.BufferReader(content)) as file:
            table = file.read_all()
        parts = parse_json((table.schema.metadata or {})[_PARTS])
        frame = frame_of_table(table, COLUMNS, directory, version=str(SCHEMA_VERSION))
        counts = {part: count for part, (count, *_) in parts.items()}
        states = {part: tuple(state) for part, (_, *state) in parts.items()}
        if sum(counts.values()) != len(frame):
            return NO_PARTS
    except (OSError, ValueError, KeyError, TypeError, NetlabError, pyarrow.ArrowException):
        return NO_PARTS
    return PartIndex(frame, states, counts)


def save(directory: Path, index: PartIndex) -> None:
    """Write the index of a directory of results, if the user's cache can be written."""
    parts = {part: [index.counts[part], *state] for part, state in index.states.items()}
    table = table_of(index.frame, COLUMNS)
    table = table.replace_schema_metadata({_PARTS: json.dumps(parts).encode()})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    entries = _entries()
    entries.put(_key(directory), sink.getvalue().to_pybytes())
    entries.prune()


def _entries() -> Entries:
    return Entries(cache_directory(FOLDER))


def _key(directory: Path) -> str:
    names = ",".join(c.name for c in COLUMNS)
    return key_of(version(), str(SCHEMA_VERSION), names, os.path.realpath(directory))


def in_order(frame: pd.DataFrame, parts: Sequence[str]) -> pd.DataFrame:
    """Rows in the order of their parts, those of a part as they are."""
    place = {part: number for number, part in enumerate(parts)}
    places = frame["part"].map(place).to_numpy()
    return frame.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)
