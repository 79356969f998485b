"""Temporary directories of a process, which the next start removes if the process was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from types import TracebackType

PREFIX = "netlab-"


class Scratch:
    """A directory that only this user can enter; a context manager.

    It is under flock as long as its process lives. Entering removes directories of this user and
    purpose that no process has locked. A file system without locks keeps them.
    """

    def __init__(self, purpose: str, beside: Path | None = None):
        hidden = f".{beside.name}." if beside else ""
        self._prefix = f"{hidden}{PREFIX}{purpose}-"
        self._parent = beside.parent if beside else Path(tempfile.gettempdir())
        self._lock = -1
        self.path = Path()

    def __enter__(self) -> Path:
        remove_abandoned(self._parent, self._prefix)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=self._prefix, dir=self._parent))
            # until it is locked, another start may remove it as abandoned
            with contextlib.suppress(FileNotFoundError):
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                with contextlib.suppress(OSError):
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
                if os.fstat(self._lock).st_nlink:
                    return self.path
                os.close(self._lock)

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


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
        found = os.fstat(directory)
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(directory)
