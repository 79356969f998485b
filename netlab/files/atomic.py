"""Files that are replaced at once: a reader sees the old content or the new one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """A hidden file beside another one, which takes its place at the end.

    A failure leaves the old file as it is, and no other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        if durable:
            _flush(partial)
        os.replace(partial, path)
        if durable:
            _flush(path.parent)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
