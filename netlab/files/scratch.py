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
    purpose that no process has locked.

    Parameters
    ----------
    purpose : str
        A word in its name. Names stay short, since paths of sockets are.
    """

    def __init__(self, purpose: str):
        self._prefix = f"{PREFIX}{purpose}-"
        self._lock = -1
        self.path = Path()

    def __enter__(self) -> Path:
        remove_abandoned(self._prefix)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=self._prefix))
            # until it is locked, another start may remove it as abandoned
            with contextlib.suppress(FileNotFoundError):
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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


def remove_abandoned(prefix: str) -> None:
    """Remove directories with this prefix whose process was killed; never those of other users."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                found = os.fstat(directory)
                if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o700:
                    continue
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(directory)
