"""Files written whole or not at all, locks, scratch directories, and bounded JSON of files."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import pwd
import re
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from netlab.errors import BadInput, why
from netlab.files.reading import open_regular

# Files that are replaced at once: a reader sees the old content or the new one.


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


# Results of commands that keep every run: a directory for each run, named by its date.
#
# ``calibration/2026-01-05T100000Z/calibration.json``. A later run makes a directory of its own, so
# it changes no earlier result. A file right in ``calibration`` is of an older version, and is read
# too.

_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}Z)(?:-(\d{1,9}))?")


@dataclass(frozen=True)
class DatedDocument:
    file: Path
    started_at: str
    content: dict


def new_directory(parent: Path, started_at: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    stamp = started_at.replace(":", "")
    for ending in chain(("",), (f"-{number}" for number in count(2))):
        with contextlib.suppress(FileExistsError):
            (place := parent / f"{stamp}{ending}").mkdir()
            break
    return place


def documents(parent: Path, name: str) -> tuple[list[DatedDocument], list[Path]]:
    """All documents of a name, the latest first, and the damaged ones."""
    dated: list[tuple[tuple[str, int], DatedDocument]] = []
    damaged = []
    for file in (parent / name, *sorted(parent.glob(f"*/{name}"))):
        run = _NAME.fullmatch(file.parent.name)
        if file.parent != parent and not run:
            continue
        try:
            content = read_json(file)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            content = {}
        started_at = content.get("started_at")
        if not isinstance(started_at, str):
            damaged.append(file)
            continue
        number = int(run[2] or 1) if run and file.parent != parent else 0
        dated.append(((started_at, number), DatedDocument(file, started_at, content)))
    dated.sort(key=lambda one: one[0], reverse=True)
    return [document for _, document in dated], damaged


# Work that a signal must not cut in the middle.

# SIGINT is the last whose handler comes back: an interrupt then finds the others in place
_WAITING = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Keep a Ctrl-C, SIGTERM or SIGHUP until the end of the block, and act on it there.

    An exception that a signal raises in the middle of a lock's own code leaves it locked for ever:
    a thread pool, used by the main thread, then never ends. In other threads this does nothing, as
    Python handles signals in the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {int(number): signal.getsignal(number) for number in _WAITING}
    kept: list[int] = []

    def keep(number: int, _frame: FrameType | None) -> None:
        kept.append(number)

    try:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, keep)
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        for number in dict.fromkeys(kept):
            signal.raise_signal(number)


# Atomic writing of text and JSON files.


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


# Locks under flock that say which process has them, of which user and since when.

HOLDER_B = 200


def take(lock: int) -> str | None:
    """Lock an open file, without waiting, and write the holder into it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(lock, HOLDER_B, 0).decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "?" for c in text) or "another process"
    # The lock counts, not the text: a full disk is not a failure.
    with contextlib.suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, _this_process().encode(), 0)
    return None


def _this_process() -> str:
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = str(os.geteuid())
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return f"process {os.getpid()} of user {user} since {since}"


# Temporary directories of a process, which the next start removes if the process was killed.

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


# Bounded reading of JSON that a file, a column of results or a host contains.


MAX_B = 256 << 20
MAX_DEPTH = 100
"""Deepest nesting: code that walks a document recursively stays far from Python's limit."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class BadJson(BadInput, ValueError):
    """Text that is not JSON, or exceeds the bounds."""


def parse_json(
    text: str | bytes, where: str = "", *, kind: type = dict, code: str | None = None
) -> Any:
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        content = json.loads(decoded, parse_constant=no_constant)
        if _SURROGATE.search(decoded):  # half a character cannot be written again
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        raise BadJson("nested too deeply", where=where, code=code or "E-FILES-016") from None
    except ValueError as error:
        message = f"is not JSON: {why(error)}"
        raise BadJson(message, where=where, code=code or "E-FILES-017") from None
    # counting is faster than walking, and is enough for nearly all
    if decoded.count("[") + decoded.count("{") > MAX_DEPTH and _is_deep(content):
        raise BadJson("nested too deeply", where=where, code=code or "E-FILES-018")
    if not isinstance(content, kind):
        message = f"is not a JSON {'object' if kind is dict else kind.__name__}"
        raise BadJson(message, where=where, code=code or "E-FILES-019")
    return content


def read_json(path: Path) -> dict:
    """Read a JSON object from a file; OSError where it cannot be read."""
    with open_regular(path) as file:
        text = file.read(MAX_B + 1)
    if len(text) > MAX_B:
        raise BadJson(f"is larger than {MAX_B >> 20} MiB", where=str(path), code="E-FILES-020")
    return parse_json(text, str(path))


def _is_deep(content: object) -> bool:
    level = [content]
    for _ in range(MAX_DEPTH):
        level = [
            below
            for value in level
            if isinstance(value, dict | list)
            for below in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
