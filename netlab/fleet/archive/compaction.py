"""Compaction: add to an archive what stores have and it lacks, in few large parts.

Stores are only read. A second compaction adds nothing, and one that was killed is finished by the
next: the manifest names a part only when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from netlab import study as studies
from netlab.analysis.precision import nominal_level
from netlab.errors import BadInput, NetlabError
from netlab.files import lock
from netlab.fleet.archive import manifest as kept
from netlab.fleet.archive.database import database, files_of, quoted
from netlab.fleet.archive.manifest import ArchivedPart, ArchivedStore, ArchivePart, Manifest
from netlab.fleet.archive.standing import write_standing
from netlab.results import Store, campaigns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PART_SAMPLES = 4_000_000
"""Interval samples from which on a part is written: bounds the memory that a compaction takes."""

PART_RUNS = 20_000
SMALL_PARTS = 8
"""Parts below half the size that a study may have before they are merged."""

FORMAT = "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 200000)"

_SAMPLES = """
SELECT * EXCLUDE (counts), CASE WHEN counts THEN CAST(row_number() OVER (
  PARTITION BY record, direction, stream, counts ORDER BY t_s) AS INTEGER) END AS sample
FROM samples ORDER BY record, direction, stream, t_s
"""
"""Number the samples of a stream's window, so that those of several streams can be summed."""

_ADD_SAMPLES = """
INSERT INTO samples
SELECT record, direction, CAST(stream AS INTEGER), t_s, interval_s, bytes, in_window,
  in_window AND interval_s > 0
FROM part_samples JOIN part_records USING (run_id)
"""

_NEW_SAMPLES = """
CREATE OR REPLACE TEMP TABLE samples (
  record BIGINT, direction VARCHAR, stream INTEGER, t_s DOUBLE, interval_s DOUBLE, bytes BIGINT,
  in_window BOOLEAN, counts BOOLEAN)
"""


@dataclass
class Compaction:
    """Outcome of a compaction.

    Parameters
    ----------
    runs, samples : int
        Rows added.
    replaced : int
        Parts of stores that had changed since they were archived.
    merged : int
        Small parts of the archive that became larger ones.
    """

    runs: int = 0
    samples: int = 0
    replaced: int = 0
    merged: int = 0


@dataclass
class _Batch:
    """Parts of stores that are to become one part of the archive."""

    study: str
    runs: list[pd.DataFrame] = field(default_factory=list)
    archived: list[tuple[Store, str, ArchivedPart]] = field(default_factory=list)
    samples: int = 0

    def full(self, part_samples: int, part_runs: int) -> bool:
        return self.samples >= part_samples or sum(map(len, self.runs)) >= part_runs


def stores_below(directory: Path) -> list[Store]:
    """Stores in a directory: itself, or those below it at any depth.

    Raises
    ------
    BadInput
        It has none.
    """
    root = directory.resolve()
    found = sorted({path.parents[1] for path in root.glob("**/runs/*.parquet")})
    stores = [Store(path) for path in found if not _in_archive(path, root)]
    if not stores:
        raise BadInput(
            "has no results of a study, and none below it", where=str(directory), code="E-FLEET-042"
        )
    return stores


def _in_archive(path: Path, root: Path) -> bool:
    return any(
        (each / kept.FILE).exists()
        for each in (path, *path.parents)
        if root in (each, *each.parents)
    )


def compact(
    directory: Path,
    stores: Iterable[Store],
    *,
    part_samples: int = PART_SAMPLES,
    part_runs: int = PART_RUNS,
) -> Compaction:
    """Add the records of stores to an archive.

    Parameters
    ----------
    directory : Path
        The archive; made if it is missing.
    stores : iterable of Store
        Results to add. A part that changed since the last time replaces what the archive has of it.
        Records of a part that is gone stay.
    part_samples, part_runs : int
        Size from which on a part of the archive is complete.

    Returns
    -------
    Compaction

    Raises
    ------
    NetlabError
        Another process compacts into it, or it cannot be written.
    """
    done = Compaction()
    with _exclusive(directory), database(directory) as connection:
        exists = (directory / kept.FILE).exists()
        manifest = kept.read_manifest(directory) if exists else Manifest()
        _remove_unnamed(directory, manifest)
        stores = list(stores)
        changed = _note_campaigns(manifest, stores) or not exists
        pending = list(_pending(manifest, stores))
        replaced = [(store, part) for store, part, _ in pending if _known(manifest, store, part)]
        _forget(connection, directory, manifest, replaced)
        done.replaced = len(replaced)
        for batch in _batches(pending, part_samples, part_runs):
            runs, samples = _add(connection, directory, manifest, batch)
            done.runs, done.samples = done.runs + runs, done.samples + samples
            if not replaced:  # else what was replaced would be missing until all is added
                write_standing(connection, directory, manifest)
                kept.write_manifest(directory, manifest)
        done.merged = _merge(connection, directory, manifest, part_samples, part_runs)
        if changed or done.runs or replaced or done.merged:
            write_standing(connection, directory, manifest)
            kept.write_manifest(directory, manifest)
        _remove_unnamed(directory, manifest)
    return done


@contextmanager
def _exclusive(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "a+b") as file:
        holder = lock.take(file.fileno())
        if holder is not None:
            raise NetlabError(
                f"another netlab is compacting into {directory}: {holder}", code="E-FLEET-043"
            )
        yield


def _remove_unnamed(directory: Path, manifest: Manifest) -> None:
    """Remove parts that the manifest does not name: written, and then not committed."""
    named = manifest.files(directory)
    for table in (kept.RUNS, kept.INTERVALS, kept.STANDING):
        for path in (directory / table).glob("**/*part-*.parquet*"):
            if path not in named:
                path.unlink()


def _note_campaigns(manifest: Manifest, stores: Sequence[Store]) -> bool:
    """Update the campaigns of the stores; true if there is news."""
    before = _noted(manifest)
    for store in stores:
        found = manifest.stores.setdefault(str(store.directory), ArchivedStore())
        found.campaigns = {
            campaign: {
                part: list(runs)
                for part, runs in campaigns.read_log(store.directory, campaign).adopted.items()
            }
            for campaign in campaigns.ids(store.directory)
        }
        for campaign in found.campaigns or ("",):
            if not campaign or campaign not in found.asked:  # a campaign keeps its study
                found.asked[campaign] = _asked(store.directory, campaign)
    return before != _noted(manifest)


def _noted(manifest: Manifest) -> dict[str, tuple[dict, dict]]:
    return {name: (store.campaigns, dict(store.asked)) for name, store in manifest.stores.items()}


def _asked(directory: Path, campaign: str) -> list[float | None]:
    """Level and precision that the study of a campaign asks for; none without its file."""
    file = campaigns.study_file(directory, campaign or None)
    if not file.is_file():
        return [kept.NO_STUDY_LEVEL, None]
    study = studies.load_stored(file)
    half = None if study.precision is None else study.precision.half_width_percent
    return [nominal_level(study), half]


def _known(manifest: Manifest, store: Store, part: str) -> bool:
    return part in manifest.stores[str(store.directory)].parts


def _pending(
    manifest: Manifest, stores: Sequence[Store]
) -> Iterator[tuple[Store, str, kept.Stamp]]:
    for store in stores:
        archived = manifest.stores[str(store.directory)].parts
        for part in store.parts():
            stamp = _stamp(store, part)
            if part not in archived or archived[part].stamp != stamp:
                yield store, part, stamp


def _stamp(store: Store, part: str) -> kept.Stamp:
    found = [0, 0, 0, 0]
    for place, table in enumerate((kept.RUNS, kept.INTERVALS)):
        path = store.directory / table / f"{part}.parquet"
        if path.exists():
            status = path.stat()
            found[2 * place : 2 * place + 2] = status.st_size, status.st_mtime_ns
    return tuple(found)


def _batches(
    pending: Iterable[tuple[Store, str, kept.Stamp]], part_samples: int, part_runs: int
) -> Iterator[_Batch]:
    """Read parts of stores, and collect those of a study until they are large enough."""
    batch = _Batch("")
    for store, part, stamp in pending:
        runs = store.part("runs", part)
        if runs.empty:
            continue
        studies = runs["study"].unique()
        if len(studies) > 1:
            raise NetlabError(
                f"{store.directory}: part {part} has runs of {len(studies)} studies, expected one",
                code="E-FLEET-044",
            )
        if batch.study != studies[0] or batch.full(part_samples, part_runs):
            if batch.runs:
                yield batch
            batch = _Batch(studies[0])
        batch.runs.append(runs.assign(source=str(store.directory), part=part))
        batch.archived.append((store, part, ArchivedPart("", 0, len(runs), stamp)))
        batch.samples += store.rows_in("intervals", part)
    if batch.runs:
        yield batch


def _add(
    connection: DuckDBPyConnection, directory: Path, manifest: Manifest, batch: _Batch
) -> tuple[int, int]:
    """Write one part of the archive, and name it in the manifest."""
    name, numbered = manifest.new_part(), []
    connection.execute(_NEW_SAMPLES)
    for runs, (store, part, archived) in zip(batch.runs, batch.archived, strict=True):
        tables = store.tables("intervals", [part])
        if archived.stamp[2] and not tables:
            continue  # damaged, and set aside with its runs
        archived.part, archived.first = name, manifest.next_record
        manifest.next_record += len(runs)
        records = np.arange(archived.first, manifest.next_record, dtype=np.int64)
        numbered.append(runs.assign(record=records))
        # of a run that a part has twice, the last record has the samples
        known = numbered[-1][["run_id", "record"]].drop_duplicates("run_id", keep="last")
        for table in tables.values():
            connection.register("part_samples", table)
            connection.register("part_records", known)
            connection.execute(_ADD_SAMPLES)
            connection.unregister("part_samples")
            connection.unregister("part_records")
        manifest.stores[str(store.directory)].parts[part] = archived
    if not numbered:
        return 0, 0
    frame = pd.concat(numbered, ignore_index=True)
    # DuckDB has nanoseconds only without a time zone
    frame["started_at"] = frame["started_at"].dt.tz_convert(None)
    connection.register("runs_frame", frame)
    ordered = "SELECT * EXCLUDE (study) FROM runs_frame ORDER BY record"
    _write(connection, ordered, kept.part_file(directory, kept.RUNS, batch.study, name))
    _write(connection, _SAMPLES, kept.part_file(directory, kept.INTERVALS, batch.study, name))
    samples = connection.execute("SELECT count(*) FROM samples").fetchall()[0][0]
    connection.unregister("runs_frame")
    connection.execute("DROP TABLE samples")
    manifest.parts[name] = ArchivePart(batch.study, len(frame), samples)
    return len(frame), samples


def _write(connection: DuckDBPyConnection, query: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    connection.execute(f"COPY ({query}) TO {quoted(str(partial))} {FORMAT}")
    kept.publish(partial, path)


def _forget(
    connection: DuckDBPyConnection,
    directory: Path,
    manifest: Manifest,
    replaced: Sequence[tuple[Store, str]],
) -> None:
    """Write parts of the archive again without the records of parts of stores that changed."""
    gone: dict[str, list[ArchivedPart]] = {}
    for store, part in replaced:
        archived = manifest.stores[str(store.directory)].parts.pop(part)
        gone.setdefault(archived.part, []).append(archived)
    for name, archived_parts in gone.items():
        spans = [f"record BETWEEN {a.first} AND {a.first + a.runs - 1}" for a in archived_parts]
        _rewrite(connection, directory, manifest, [name], f"NOT ({' OR '.join(spans)})")


def _rewrite(
    connection: DuckDBPyConnection,
    directory: Path,
    manifest: Manifest,
    names: Sequence[str],
    condition: str = "true",
) -> None:
    """Write the rows of parts of one study as a single part."""
    study, new, rows = manifest.parts[names[0]].study, manifest.new_part(), []
    for table in (kept.RUNS, kept.INTERVALS):
        files = files_of([kept.part_file(directory, table, study, name) for name in names])
        order = "record" if table == kept.RUNS else "record, direction, stream, t_s"
        path = kept.part_file(directory, table, study, new)
        source = f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"
        query = f"SELECT * FROM {source} WHERE {condition} ORDER BY {order}"
        _write(connection, query, path)
        counted = f"SELECT count(*) FROM read_parquet({quoted(str(path))})"
        rows.append(connection.execute(counted).fetchall()[0][0])
    for name in names:
        del manifest.parts[name]
    manifest.parts[new] = ArchivePart(study, rows[0], rows[1])
    for store in manifest.stores.values():
        for archived in store.parts.values():
            if archived.part in names:
                archived.part = new


def _merge(
    connection: DuckDBPyConnection,
    directory: Path,
    manifest: Manifest,
    part_samples: int,
    part_runs: int,
) -> int:
    """Merge the small parts of each study that has many; return their number."""
    small: dict[str, list[str]] = {}
    for name, part in manifest.parts.items():
        if 2 * part.samples < part_samples and 2 * part.runs < part_runs:
            small.setdefault(part.study, []).append(name)
    merged = 0
    for names in small.values():
        if len(names) <= SMALL_PARTS:
            continue
        group: list[str] = []
        for name in names:
            group.append(name)
            of_group = [manifest.parts[each] for each in group]
            full = sum(p.samples for p in of_group) >= part_samples
            if full or sum(p.runs for p in of_group) >= part_runs or name == names[-1]:
                _rewrite(connection, directory, manifest, group)
                merged += len(group)
                group = []
    return merged
