"""Parts of a report made before: charts, pages of notebooks, pictures, the document.

An entry is stored by the digest of everything that it depends on, content and not dates, in the
user's cache directory. A part whose inputs differ in a byte has another key, so that nothing is
ever invalidated; without a usable directory every part is made anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from netlab.analysis.cells import CELL_KEYS
from netlab.charts.chart import Chart, show
from netlab.charts.drawing import settings
from netlab.files import paths
from netlab.files.reading import open_regular, read_bytes
from netlab.files.writing import json_text, parse_json, replaced
from netlab.study import Study
from netlab.version import PACKAGE, version

FOLDER = "netlab-reports"
DESIGN = (*CELL_KEYS, "table", "direction", "path")
"""Columns of cells and runs that say what was to be measured."""

KEPT_DAYS = 30
"""An entry that no report used for this long is removed."""

MARK_AFTER_S = 24 * 3600
"""Age from which the use of an entry is noted again in its time."""

_DIGEST_B = 32
_SETTINGS = ("MPL", "NETLAB_", "PYTHON", "LC_", "LANG", "TZ")
"""Beginnings of the names of environment variables that a page may depend on."""


def key_of(*parts: str | bytes) -> str:
    """Digest of parts, each with its length: no two lists of parts have the same text."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return digest.hexdigest()


def tree_digest(directory: Path, without: Iterable[str] = ()) -> str:
    """Digest of the names and contents of all files below a directory, but for hidden ones.

    Some folders at its top are left out, and compiled Python.
    """
    found: list[Path] = []
    left_out = set(without)
    for place, folders, names in os.walk(directory):
        top = left_out if Path(place) == directory else ()
        folders[:] = [n for n in folders if n not in top and n[0] != "." and n != "__pycache__"]
        found += [Path(place, name) for name in names if name[0] != "."]
    parts: list[str | bytes] = []
    for path in sorted(found):
        with suppress(FileNotFoundError):  # a campaign writes beside
            with open_regular(path) as file:
                content = hashlib.file_digest(file, "sha256").digest()
            parts += [str(path.relative_to(directory)), content]
    return key_of(*parts)


def program() -> str:
    """Digest of all that makes a page besides results: code, data, packages and settings.

    Without the directories in use, which notebooks alone may name.
    """
    environment = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(_SETTINGS) and name != paths.HOME
    )
    return _program(paths.data_dir(), settings(), repr(environment), tuple(sys.path))


@cache
def _program(data: Path, of_matplotlib: str, environment: str, places: tuple[str, ...]) -> str:
    """The digest under one set of settings: a session may change them between two reports."""
    from netlab import core  # the source of the C core, which a page names

    folders = (PACKAGE, *(data / name for name in ("published", "studies", "tunings")))
    return key_of(
        *(sys.version, version(), core.source_digest(), of_matplotlib),
        *(str(data), *map(tree_digest, folders)),
        *(environment, repr(list(_packages(places)))),
    )


def _packages(places: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Name, version and time of installation of each package, from the names of its metadata."""
    for place in map(Path, places):
        with suppress(OSError):
            for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
                if entry.name.endswith((".dist-info", ".egg-info", ".pth", ".egg-link")):
                    yield f"{place}/{entry.name}", entry.stat().st_mtime_ns


class Cache:
    """Entries by their keys; one that is damaged, or that another user could change, is absent."""

    def __init__(self, directory: Path | None):
        self._directory = directory if directory and _is_private(directory) else None
        self.made: list[str] = []
        """Kinds of the parts that were made anew, in their order."""

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

    def once(self, kind: str, inputs: Iterable[str | bytes], make: Callable[[], bytes]) -> bytes:
        """The value made before of equal inputs by the same program; else made, and stored."""
        key = key_of(kind, program(), *inputs)
        value = self.get(key)
        if value is None:
            self.made.append(kind)
            value = make()
            if value:
                self.put(key, value)
        return value

    def text(self, kind: str, inputs: Iterable[str | bytes], make: Callable[[], str]) -> str:
        return self.once(kind, inputs, lambda: make().encode()).decode()

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


NOTHING_KEPT = Cache(None)
"""The cache of a report that is made afresh."""


def user_cache() -> Cache:
    """The cache of this user, below ``$XDG_CACHE_HOME`` or ``~/.cache``.

    None for a process that began before netlab was changed on disk, as in a long session of
    JupyterLab: its code is not that of the files.
    """
    if _changed_since_start():
        return NOTHING_KEPT
    stated = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(stated) if os.path.isabs(stated) else Path.home() / ".cache"
    except RuntimeError:  # no home directory
        return NOTHING_KEPT
    return Cache(base / FOLDER)


def _changed_since_start() -> bool:
    ticks = int(read_bytes("/proc/self/stat").rpartition(b")")[2].split()[19])
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    started_s = time.time() - age_s
    return any(
        path.stat().st_ctime > started_s
        for path in PACKAGE.rglob("*")
        if path.suffix != ".pyc" and path.is_file()
    )


def _is_private(directory: Path) -> bool:
    """True for a directory of this user that nobody else can write to; made if it is missing."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.lstat()
    except OSError:
        return False
    mine = status.st_uid == os.geteuid() and not status.st_mode & 0o022
    return mine and stat.S_ISDIR(status.st_mode) and os.access(directory, os.W_OK)


# The cache of the report that is being made, for the charts of its pages.

_ACTIVE: ContextVar[Cache] = ContextVar("report_cache", default=NOTHING_KEPT)


@contextmanager
def using(store: Cache) -> Iterator[None]:
    token = _ACTIVE.set(store)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def active() -> Cache:
    return _ACTIVE.get()


def of_one(frame: pd.DataFrame, group: str) -> pd.DataFrame:
    """A frame with the results of one group alone, for the charts of that group.

    Of the other rows each design stays once, as it decides about colours and order.
    """
    names = [name for name in DESIGN if name in frame]
    frame = frame[(frame["group"] == group) | ~frame[names].duplicated()]
    own = (frame["group"] == group).to_numpy()
    rows = np.where(own, np.arange(len(frame)), own.argmax())
    return frame.iloc[rows].set_axis(frame.index).assign(**{name: frame[name] for name in names})


def chart_of(draw: Callable[..., Any], *args: Any, **kwargs: Any) -> Chart:
    """The chart of a function of :mod:`netlab.charts`, drawn again only for other arguments."""
    try:
        inputs = [*_parts(args), *_parts(kwargs)]
    except TypeError:  # an argument without a known content
        return show(draw(*args, **kwargs))

    def make() -> str:
        chart = show(draw(*args, **kwargs))
        return json_text({"svg": chart.svg, "alt": chart.alt, "caption": chart.caption})

    return Chart(
        **parse_json(active().text(f"chart {draw.__module__}.{draw.__qualname__}", inputs, make))
    )


def _parts(value: Any) -> Iterator[str | bytes]:
    """The content of an argument: equal for equal arguments, other for all others."""
    if isinstance(value, pd.DataFrame | pd.Series):
        yield f"{type(value).__name__} {value.shape}"
        yield from _parts(dict(value.attrs))
        frame = value.to_frame() if isinstance(value, pd.Series) else value
        yield from _parts(list(frame.columns))
        yield from _column(frame.index.to_frame(index=False))
        yield from _column(frame)
    elif isinstance(value, Study):
        yield f"study {value.model_dump_json()}"
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}"
        for name, item in value.items():
            yield from _parts(name)
            yield from _parts(item)
    elif isinstance(value, list | tuple):
        yield f"{type(value).__name__} {len(value)}"
        for item in value:
            yield from _parts(item)
    elif value is None or isinstance(value, str | bytes | int | float | Path | np.generic):
        yield f"{type(value).__name__} {value!r}"
    else:
        raise TypeError(type(value).__name__)


def _column(frame: pd.DataFrame) -> Iterator[str | bytes]:
    for place, name in enumerate(frame.columns):
        values = frame.iloc[:, place]
        yield f"{name!r} {values.dtype!r}"
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biufmM":
            yield np.ascontiguousarray(values.to_numpy()).tobytes()
        else:
            yield repr(values.tolist())
