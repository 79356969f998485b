"""One table in one Parquet file, written atomically and checked when read."""

from __future__ import annotations

import glob
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from netlab.errors import NetlabError, shown
from netlab.files.atomic import replaced
from netlab.results.columns import READABLE_VERSIONS, SCHEMA_VERSION, Column
from netlab.results.frames import checked, completed, with_defaults


class DamagedFile(NetlabError):
    """A file that is not whole, or whose content was altered."""


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is not part of the results; return its new path."""
    aside = path.with_name(f"{path.name}.damaged")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{number}")
    try:
        os.replace(path, aside)
    except OSError as error:
        raise NetlabError(
            f"{path} is damaged and cannot be renamed: {error.strerror or error}",
            code="E-RESULTS-012",
        ) from None
    return aside


def write_atomically(frame: pd.DataFrame, path: Path, columns: tuple[Column, ...]) -> None:
    """Check a frame and write it atomically as Parquet with units in its metadata."""
    table = pyarrow.Table.from_pandas(checked(frame, columns), preserve_index=False)
    units = {c.name: {"unit": c.unit, "meaning": c.meaning} for c in columns}
    table = table.replace_schema_metadata(
        {
            **(table.schema.metadata or {}),
            b"netlab.schema_version": str(SCHEMA_VERSION).encode(),
            b"netlab.columns": json.dumps(units).encode(),
        }
    )
    try:
        _remove_abandoned(path)
        with replaced(path, durable=True) as partial, open(partial, "wb") as sink:
            pyarrow.parquet.write_table(table, sink, write_page_checksum=True)
    except OSError as error:
        raise NetlabError(
            f"cannot write {path}: {error.strerror or error}", code="E-RESULTS-006"
        ) from None


def _remove_abandoned(path: Path) -> None:
    """Remove incomplete files of killed writers of `path`."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        writer = partial.suffixes[-2].removeprefix(".")
        if writer.isdigit() and not Path("/proc", writer).exists():
            partial.unlink(missing_ok=True)


def complete_files(directory: Path) -> list[Path]:
    """Files below a directory, sorted, without those that are being written."""
    found = (path for path in directory.rglob("*") if not path.name.startswith("."))
    return sorted(path for path in found if path.is_file())


def read(path: Path, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Read and check one Parquet file, checksums included.

    Columns that an older schema version did not have are missing in every row.
    """
    return _frame(raw(path), columns, path)


def raw(path: Path) -> pyarrow.Table:
    """Read one Parquet file of a schema version that is known, checksums included."""
    try:
        # half the time of `read_table`: the files are small and many
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(use_threads=False)
        version = _version(table)
    except (OSError, ValueError, MemoryError, pyarrow.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise DamagedFile(
            f"{path} cannot be read as results: {reason}", code="E-RESULTS-007"
        ) from None
    if version not in map(str, READABLE_VERSIONS):
        known = " and ".join(map(str, READABLE_VERSIONS))
        raise NetlabError(
            f"{path} has schema version {shown(version)}, this netlab reads {known}",
            code="E-RESULTS-008",
        )
    return table


def rows_in(path: Path) -> int:
    """Number of rows that the footer of a file states; 0 if it is missing or damaged."""
    try:
        return pyarrow.parquet.read_metadata(path).num_rows
    except (OSError, ValueError, pyarrow.ArrowException):
        return 0


def frame_of_parts(tables: dict[Path, pyarrow.Table], columns: tuple[Column, ...]) -> pd.DataFrame:
    """Check the rows of several files, in their order.

    Files with the same columns are checked together, which takes a fraction of the time.
    """
    alike: dict[tuple, list[Path]] = {}
    for path, table in tables.items():
        alike.setdefault((_version(table), *table.column_names), []).append(path)
    frames = []
    for paths in alike.values():
        try:
            whole = pyarrow.concat_tables([tables[p] for p in paths], promote_options="default")
            frames.append(_frame(whole, columns, paths[0], version=_version(tables[paths[0]])))
        except (NetlabError, pyarrow.ArrowException):
            # one by one, to name the file at fault
            frames += [_frame(tables[path], columns, path) for path in paths]
    order = [path for paths in alike.values() for path in paths]
    lengths = [tables[path].num_rows for path in order]
    found = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if len(alike) == 1:
        return found
    place = {path: number for number, path in enumerate(tables)}
    places = np.repeat([place[path] for path in order], lengths)
    return found.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)


def _version(table: pyarrow.Table) -> str:
    return (table.schema.metadata or {}).get(b"netlab.schema_version", b"?").decode()


def _frame(
    table: pyarrow.Table, columns: tuple[Column, ...], path: Path, *, version: str = ""
) -> pd.DataFrame:
    try:
        frame = table.to_pandas(ignore_metadata=True, types_mapper=_EXACT.get)
        if (version or _version(table)) != str(SCHEMA_VERSION):
            frame = completed(frame, columns)
        return checked(with_defaults(frame, columns), columns)
    except (NetlabError, ValueError, pyarrow.ArrowException) as error:
        raise NetlabError(
            f"{path} cannot be read as results: {error}", code="E-RESULTS-009"
        ) from None


_EXACT = {pyarrow.int64(): pd.Int64Dtype()}
"""Integers with gaps stay integers."""
