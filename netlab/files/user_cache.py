"""Entries in the user's cache directory, each with a digest of its content.

An entry is derived from other files and can be made anew: one that is damaged, or that another user
could change, is absent, and a directory that cannot be written is not an error.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from netlab.files.reading import read_bytes
from netlab.files.writing import replaced

KEPT_DAYS = 30
"""An entry that was not used for this long is removed."""

MARK_AFTER_S = 24 * 3600
"""Age from which the use of an entry is noted again in its time."""

_DIGEST_B = 32


def key_of(*parts: str | bytes) -> str:
    """Digest of parts, each with its length: no two lists of parts have the same text."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return digest.hexdigest()


def cache_directory(name: str) -> Path | None:
    """Directory of this user below ``$XDG_CACHE_HOME`` or ``~/.cache``; None without a home."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(stated) if os.path.isabs(stated) else Path.home() / ".cache"
    except RuntimeError:  # no home directory
        return None
    return base / name


class Entries:
    """Entries of a cache by their keys."""

    def __init__(self, directory: Path | None):
        self._directory = directory if directory and _is_private(directory) else None

    def get(self, key: str) -> bytes | None:
        if self._directory is None:
            return None
        path = self._path(key)
        try:
            content = read_bytes(path)
            if time.time() - path.stat().st_mtime > MARK_AFTER_S:
                os.utime(path)
        except OSError:
            return None
        digest, value = content[:_DIGEST_B], content[_DIGEST_B:]
        return value if digest == hashlib.sha256(value).digest() else None

    def put(self, key: str, value: bytes) -> None:
        if self._directory is not None:
            with suppress(OSError), replaced(self._path(key)) as partial:
                partial.write_bytes(hashlib.sha256(value).digest() + value)

    def prune(self) -> None:
        """Remove entries that were not used for long."""
        before = time.time() - KEPT_DAYS * 24 * 3600
        for path in self._directory.glob("*/*") if self._directory else ():
            with suppress(OSError):
                if path.stat().st_mtime < before:
                    path.unlink()

    def _path(self, key: str) -> Path:
        assert self._directory is not None
        return self._directory / key[:2] / key[2:]


def _is_private(directory: Path) -> bool:
    """True for a directory of this user that nobody else can write to; made if it is missing."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.lstat()
    except OSError:
        return False
    mine = status.st_uid == os.geteuid() and not status.st_mode & 0o022
    return mine and stat.S_ISDIR(status.st_mode) and os.access(directory, os.W_OK)
