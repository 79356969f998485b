"""One table in one Parquet file, written atomically and checked when read."""

from __future__ import annotations

import contextlib
import glob
import json
import os
from pathlib import Path

import pandas as pd
import pyarrow
import pyarrow.parquet

from netlab.errors import NetlabError, shown
from netlab.results.columns import READABLE_VERSIONS, SCHEMA_VERSION, Column
from netlab.results.frames import checked, completed, with_defaults


class DamagedFile(NetlabError):
    """A file that is not whole, or whose content was altered."""


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is not part of the results; return its new path.

    Raises
    ------
    NetlabError
        The directory cannot be written.
    """
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
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        with open(partial, "wb") as sink:
            pyarrow.parquet.write_table(table, sink, write_page_checksum=True)
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(partial, path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise NetlabError(
            f"cannot write {path}: {error.strerror or error}", code="E-RESULTS-006"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _remove_abandoned(path: Path) -> None:
    """Remove incomplete files of killed writers of `path`."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        writer = partial.suffixes[-2].removeprefix(".")
        if writer.isdigit() and not Path("/proc", writer).exists():
            partial.unlink(missing_ok=True)


def read(path: Path, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Read and check one Parquet file, checksums included.

    Columns that an older schema version did not have are missing in every row.

    Raises
    ------
    NetlabError
        The file is damaged, of another schema version, or does not fit.
    """
    try:
        table = pyarrow.parquet.read_table(path, page_checksum_verification=True)
        version = (table.schema.metadata or {}).get(b"netlab.schema_version", b"?").decode()
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
    try:
        frame = table.to_pandas(ignore_metadata=True, types_mapper=_EXACT.get)
        if version != str(SCHEMA_VERSION):
            frame = completed(frame, columns)
        return checked(with_defaults(frame, columns), columns)
    except (NetlabError, ValueError, pyarrow.ArrowException) as error:
        raise NetlabError(
            f"{path} cannot be read as results: {error}", code="E-RESULTS-009"
        ) from None


_EXACT = {pyarrow.int64(): pd.Int64Dtype()}
"""Integers with gaps stay integers."""
