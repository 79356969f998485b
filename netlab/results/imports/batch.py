"""Import files into a results directory: parse all of them, then write one block."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import BadInput, NetlabError
from netlab.files.lock import take
from netlab.results import INTERVAL_COLUMNS, Store, frame_of
from netlab.results.imports.formats import ReadFile, read_file
from netlab.results.imports.rows import Facts, interval_rows_of, row_of


@dataclass(frozen=True)
class Imported:
    """Result of an import."""

    block_id: str | None
    run_ids: tuple[str, ...]
    known: tuple[Path, ...]


def import_files(files: Iterable[Path], facts: Facts, directory: Path) -> Imported:
    """Import files into the results in `directory`, all of them or none."""
    read = [read_file(path) for path in files]
    _each_once(read)
    _one_way(read)
    with _held(directory):
        store = Store(directory)
        before = store.runs()
        digests = {_digest(text) for text in before["provenance"]}
        new = [one for one in read if one.sha256 not in digests]
        known = tuple(one.path for one in read if one.sha256 in digests)
        if not new:
            return Imported(None, (), known)
        batch = hashlib.sha256("".join(sorted(one.sha256 for one in new)).encode()).hexdigest()
        block_id = f"imported@{batch[:16]}"
        order = int(before["order"].max()) + 1 if len(before) else 0
        round_of = _rounds(before["run_id"])
        rows: list[dict] = []
        intervals: list[dict] = []
        for source in new:
            for record in source.records:
                row = row_of(
                    record,
                    source,
                    facts,
                    block_id=block_id,
                    order=order + len(rows),
                    round_of=round_of,
                )
                rows.append(row)
                intervals += interval_rows_of(row["run_id"], record)
        store.write(block_id, frame_of(rows), intervals=frame_of(intervals, INTERVAL_COLUMNS))
    return Imported(block_id, tuple(row["run_id"] for row in rows), known)


def _each_once(read: list[ReadFile]) -> None:
    seen: dict[str, Path] = {}
    for one in read:
        if one.sha256 in seen:
            raise BadInput(
                f"has the same content as {seen[one.sha256]}",
                where=str(one.path),
                code="E-IMPORT-001",
            )
        seen[one.sha256] = one.path


def _one_way(read: list[ReadFile]) -> None:
    """Check that all files have the same sender, since --sender and --receiver apply to all."""
    first: tuple[str, int, bool] | None = None
    for one in read:
        for record in one.records:
            if record.client_sends is None:
                continue
            if first is None:
                first = (str(one.path), record.line, record.client_sends)
            elif record.client_sends != first[2]:
                raise BadInput(
                    "the direction of the data differs from "
                    f"{first[0]}; import the two separately, with --sender and --receiver swapped",
                    where=f"{one.path}: line {record.line}",
                    code="E-IMPORT-002",
                )


def _digest(provenance: str) -> str | None:
    try:
        return json.loads(provenance).get("imported", {}).get("sha256")
    except (ValueError, AttributeError):
        return None


def _rounds(run_ids: Iterable[str]) -> dict[str, int]:
    """Count the imported runs of each cell."""
    found: dict[str, int] = {}
    for run_id in run_ids:
        if run_id.startswith("imported@"):
            cell, _, number = run_id.removeprefix("imported@").rpartition("@")
            found[cell] = max(found.get(cell, 0), int(number))
    return found


@contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Lock the results directory against another import or a campaign."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = open(directory / ".lock", "a+b")  # noqa: SIM115
    except OSError as error:
        raise NetlabError(
            f"cannot write {directory}: {error.strerror}", code="E-IMPORT-003"
        ) from None
    with lock:
        holder = take(lock.fileno())
        if holder is not None:
            raise NetlabError(
                f"another netlab is writing into {directory}: {holder}", code="E-IMPORT-004"
            )
        yield
