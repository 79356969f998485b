"""One table in one Parquet file, written atomically and checked when read."""

from __future__ import annotations

import errno
import glob
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from netlab.errors import NetlabError, printable, shown
from netlab.files.reading import open_regular
from netlab.files.writing import replaced
from netlab.results.columns import READABLE_VERSIONS, RENAMED, SCHEMA_VERSION, Column
from netlab.results.frames import checked, completed

VERSION = b"netlab.schema_version"
FEW_FILES = 8
"""Up to this many files threads would take longer to start than they save."""


class DamagedFile(NetlabError):
    """A file that is not whole, or whose content was altered."""


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is not part of the results; return its new path."""
    endings = chain(("",), (f"-{number}" for number in count(2)))
    names = (path.with_name(f"{path.name}.damaged{ending}") for ending in endings)
    aside = next(name for name in names if not name.exists())
    try:
        os.replace(path, aside)
    except OSError as error:
        reason = f"{path} is damaged and cannot be renamed: {error.strerror or error}"
        raise NetlabError(reason, code="E-RESULTS-012") from None
    return aside


def write_derived(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame computed from records as Parquet, with its attributes and the version."""
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    own = {VERSION: str(SCHEMA_VERSION).encode()}
    own |= {b"PANDAS_ATTRS": json.dumps(frame.attrs).encode()}  # as pandas itself writes them
    pyarrow.parquet.write_table(
        table.replace_schema_metadata({**(table.schema.metadata or {}), **own}),
        path,
        write_page_checksum=True,
    )


def write_atomically(frame: pd.DataFrame, path: Path, columns: tuple[Column, ...]) -> None:
    """Check a frame and write it atomically as Parquet with units in its metadata."""
    table = table_of(frame, columns)
    try:
        _remove_abandoned(path)
        with replaced(path, durable=True) as partial, open(partial, "wb") as sink:
            _write_table(table, sink)
    except OSError as error:
        reason = f"cannot write {path}: {error.strerror or error}"
        raise NetlabError(reason, code="E-RESULTS-006") from None


def _write_table(table: pyarrow.Table, sink: IO[bytes] | Path) -> None:
    """Write a Parquet file with the table's metadata, once.

    Arrow would store its own schema beside that of Parquet, with all metadata again in base64: of a
    part with a few runs it is half of the file, and a quarter of the time that reading it takes.
    """
    schema = table.schema
    with pyarrow.parquet.ParquetWriter(
        sink, schema, store_schema=False, write_page_checksum=True
    ) as writer:
        writer.add_key_value_metadata(schema.metadata)
        writer.write_table(table)


def write_batches(frames: Iterable[pd.DataFrame], path: Path, columns: tuple[Column, ...]) -> int:
    """Write frames one below the other, each as :func:`write_atomically` does; number of rows.

    No file of none. Compressed for a download: half of what a store of them takes.
    """
    writer, rows = None, 0
    try:
        for frame in frames:
            if len(frame):
                table = table_of(frame, columns)
                if writer is None:
                    writer = pyarrow.parquet.ParquetWriter(
                        path, table.schema, compression="zstd", write_page_checksum=True
                    )
                writer.write_table(table)
                rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    return rows


def table_of(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pyarrow.Table:
    """Check a frame, and return it with the units of its columns in the metadata."""
    table = pyarrow.Table.from_pandas(checked(frame, columns), preserve_index=False)
    units = {c.name: {"unit": c.unit, "meaning": c.meaning} for c in columns}
    return table.replace_schema_metadata(
        {
            **(table.schema.metadata or {}),
            VERSION: str(SCHEMA_VERSION).encode(),
            b"netlab.columns": json.dumps(units).encode(),
        }
    )


def _remove_abandoned(path: Path) -> None:
    """Remove incomplete files of killed writers of `path`."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        writer = partial.suffixes[-2].removeprefix(".")
        if writer.isdigit() and not Path("/proc", writer).exists():
            partial.unlink(missing_ok=True)


def read(path: Path, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Read and check one Parquet file, checksums included.

    Columns that an older schema version did not have are missing in every row.
    """
    return frame_of_table(raw(path), columns, path)


MOST_VALUES, MOST_TEXT_B = 400_000_000, 4 << 30
"""Bounds of a file as read: repeated values take next to nothing in a file."""


def check_texts(path: Path) -> None:
    """Refuse a stranger's file whose texts would fill the memory; reads each of them once."""
    with _damage(path), open_regular(path) as file:
        schema = pyarrow.parquet.read_schema(file)
        for field in schema:
            if not pyarrow.types.is_primitive(field.type):
                column = pyarrow.parquet.read_table(
                    file, columns=[field.name], read_dictionary=[field.name]
                ).column(0)
                if sum(_text_B(chunk) for chunk in column.chunks) > MOST_TEXT_B:
                    raise ValueError(f"{field.name} has more than {MOST_TEXT_B} B of text")


def _text_B(chunk: pyarrow.Array) -> int:
    if not pyarrow.types.is_dictionary(chunk.type):
        return chunk.nbytes
    lengths = pyarrow.compute.binary_length(chunk.dictionary).cast(pyarrow.int64())
    return pyarrow.compute.sum(lengths.take(chunk.indices)).as_py() or 0


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, MemoryError, pyarrow.ArrowException) as error:
        if isinstance(error, PermissionError) or _is_limit(error):
            raise  # the file may be whole
        if "bad_alloc" in str(error):  # in a footer, which Arrow reports as an error of the file
            raise MemoryError from None
        problem = " ".join(str(error).split())[:200]
        reason = f"{printable(str(path))} cannot be read as results: {problem}"
        raise DamagedFile(reason, code="E-RESULTS-007") from None


_ASKED = re.compile(r"alloc of size (\d+) failed")


def _is_limit(error: Exception) -> bool:
    """True if this process lacks memory or open files: the file that it reads is not at fault.

    A damaged file may ask for more memory than any file of results takes.
    """
    if isinstance(error, MemoryError):
        asked = _ASKED.search(str(error))
        return asked is None or int(asked[1]) <= MOST_TEXT_B
    limits = (errno.ENOMEM, errno.EMFILE, errno.ENFILE)
    return isinstance(error, OSError) and error.errno in limits


def texts_in(path: Path) -> Iterator[str]:
    """Every text of a Parquet file, those of a column once."""
    for _, column in _texts(raw(path)):
        yield from filter(None, column.unique().to_pylist())


def map_texts(path: Path, target: Path, change: Callable[[str], str]) -> None:
    """Write a Parquet file again with all its texts changed."""
    table = raw(path)
    for at, column in _texts(table):
        changed = {text: change(text) for text in column.unique().to_pylist() if text}
        values = [changed.get(text, text) for text in column.to_pylist()]
        table = table.set_column(at, table.field(at).name, pyarrow.array(values, column.type))
    _write_table(table, target)


def _texts(table: pyarrow.Table) -> Iterator[tuple[int, pyarrow.ChunkedArray]]:
    """Columns of text, of any of Arrow's types for it."""
    for at, column in enumerate(table.columns):
        if not (pyarrow.types.is_primitive(column.type) or pyarrow.types.is_null(column.type)):
            yield at, column.cast(pyarrow.large_string())


def raw(path: Path, columns: tuple[Column, ...] | None = None) -> pyarrow.Table:
    """Read one Parquet file of a schema version that is known, checksums included.

    With only some columns, the table has no metadata besides the version: theirs, of all columns,
    is larger than the rows of most files.
    """
    older = {now: before for before, now in RENAMED.items()}
    # not by the names in the file's schema, which keeps the footers of all files in memory
    names = [name for c in columns or () for name in (c.name, older.get(c.name)) if name]
    with _damage(path), open_regular(path) as source:
        # from memory: reads of a Python file would keep other threads waiting
        content = pyarrow.BufferReader(source.read())
        # half the time of `read_table`: the files are small and many
        with pyarrow.parquet.ParquetFile(content, page_checksum_verification=True) as file:
            if file.metadata.num_rows * file.metadata.num_columns > MOST_VALUES:
                raise ValueError(f"more than {MOST_VALUES} values")
            table = file.read(names if columns else None, use_threads=False)
        version = _version(table)
    if version not in map(str, READABLE_VERSIONS):
        readable = f"this netlab reads {min(READABLE_VERSIONS)} to {max(READABLE_VERSIONS)}"
        reason = f"{printable(str(path))} has schema version {shown(version)}, {readable}"
        remedy = "use the version of netlab that wrote it, or a newer one"
        raise NetlabError(f"{reason}: {remedy}", code="E-RESULTS-008")
    return table.replace_schema_metadata({VERSION: version}) if columns else table


def raw_files(
    paths: Sequence[Path], columns: tuple[Column, ...] | None = None
) -> Iterator[pyarrow.Table | DamagedFile]:
    """The tables of many files, as :func:`raw` reads each, or what is wrong with it."""

    def read_one(path: Path) -> pyarrow.Table | DamagedFile:
        try:
            return raw(path, columns)
        except DamagedFile as error:
            return error

    with ThreadPoolExecutor(os.cpu_count(), "parts") as threads:
        yield from (threads.map if len(paths) > FEW_FILES else map)(read_one, paths)


def frame_of_parts(tables: dict[Path, pyarrow.Table], columns: tuple[Column, ...]) -> pd.DataFrame:
    """Check the rows of several files, in their order.

    Files with the same columns are checked together, which takes a fraction of the time.
    """
    alike: dict[tuple, list[Path]] = {}
    for path, table in tables.items():
        # types too: texts in files of before are of Arrow's large strings
        key = (_version(table), *table.column_names, *table.schema.types)
        alike.setdefault(key, []).append(path)
    frames = []
    for paths in alike.values():
        try:
            whole = pyarrow.concat_tables([tables[p] for p in paths], promote_options="default")
            frames.append(
                frame_of_table(whole, columns, paths[0], version=_version(tables[paths[0]]))
            )
        except (NetlabError, pyarrow.ArrowException):
            # one by one, to name the file at fault
            frames += [frame_of_table(tables[path], columns, path) for path in paths]
    order = [path for paths in alike.values() for path in paths]
    lengths = [tables[path].num_rows for path in order]
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if len(alike) == 1:
        return frame
    place = {path: number for number, path in enumerate(tables)}
    places = np.repeat([place[path] for path in order], lengths)
    return frame.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)


def _version(table: pyarrow.Table) -> str:
    return (table.schema.metadata or {}).get(VERSION, b"?").decode()


def frame_of_table(
    table: pyarrow.Table, columns: tuple[Column, ...], path: Path, *, version: str = ""
) -> pd.DataFrame:
    """Check the rows of a file that was read, also of an older schema version."""
    try:
        frame = table.to_pandas(ignore_metadata=True, types_mapper=_EXACT.get)
        older = (version or _version(table)) != str(SCHEMA_VERSION)
        return checked(completed(frame, columns, older=older), columns)
    except (NetlabError, ValueError, pyarrow.ArrowException) as error:
        reason = f"{printable(str(path))} cannot be read as results: {error}"
        raise NetlabError(reason, code="E-RESULTS-009") from None


_EXACT = {pyarrow.int64(): pd.Int64Dtype()}
"""Integers with gaps stay integers."""
