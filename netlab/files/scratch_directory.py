"""Temporary directories of a process, which the next start removes if the process was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "netlab-"


@contextmanager
def scratch(purpose: str, beside: Path | None = None) -> Iterator[Path]:
    """A directory that only this user can enter.

    It is under flock as long as its process lives. Entering removes directories of this user and
    purpose that no process has locked. A file system without locks keeps them.
    """
    prefix = f".{beside.name}.{PREFIX}{purpose}-" if beside else f"{PREFIX}{purpose}-"
    parent = beside.parent if beside else Path(tempfile.gettempdir())
    remove_abandoned(parent, prefix)
    path, lock = _locked(parent, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _locked(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # until it is locked, another start may remove it as abandoned
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink:
                return path, lock
            os.close(lock)


def remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove directories with this prefix whose process was killed; never those of other users."""
    with contextlib.suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(prefix):
                with contextlib.suppress(OSError):
                    _remove_abandoned(parent / name)


def _remove_abandoned(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(directory)
        if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(directory)
