"""Files written whole or not at all: a reader sees the old content or the new one."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """A hidden file that replaces another one at the end; a failure leaves the old one as it is."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with names_file(path, partial):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield partial
            if durable:
                _flush(partial)
            os.replace(partial, path)
            if durable:
                _flush(path.parent)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


@contextlib.contextmanager
def names_file(path: Path, partial: Path | None = None) -> Iterator[None]:
    """Name `path` in an error of writing it: that of a write or a close names no file.

    So does one that names the hidden file which is written in its place.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename in (None, partial and str(partial)):
            error.filename = str(path)
        raise


def no_inode(filename: object) -> str:
    """Words for a file that could not be written, if its file system has no inode left."""
    with contextlib.suppress(OSError):
        found = os.statvfs(os.path.dirname(str(filename)) or ".")
        if found.f_files > 0 and found.f_favail == 0:
            return ", and the file system has no free inode"
    return ""


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def write_text(path: Path, text: str, *, durable: bool = False) -> Path:
    """Write a text file as UTF-8 atomically; create its directory."""
    with replaced(path, durable=durable) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, content: dict, *, durable: bool = False) -> Path:
    """Write JSON atomically with its directory: numpy's scalars as Python's, non-finite as null."""
    return write_text(path, f"{json_text(content)}\n", durable=durable)


def json_text(content: object) -> str:
    return json.dumps(_plain(content), indent=1, allow_nan=False, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
