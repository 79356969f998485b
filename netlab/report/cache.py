"""Parts of a report made before: charts, pages of notebooks, pictures, the document.

An entry is stored by the digest of everything that it depends on, content and not dates, in the
user's cache directory. A part whose inputs differ in a byte has another key, so that nothing is
ever invalidated; without a usable directory every part is made anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from netlab import core
from netlab.analysis.cells import CELL_KEYS
from netlab.charts.chart import Chart, show
from netlab.charts.drawing import settings
from netlab.files import paths
from netlab.files.bounded_json import parse_json
from netlab.files.reading import open_regular, read_bytes
from netlab.files.user_cache import Entries, cache_directory, key_of
from netlab.files.writing import json_text
from netlab.study import Study
from netlab.version import PACKAGE, version

FOLDER = "netlab-reports"
DESIGN = (*CELL_KEYS, "table", "direction", "path")
"""Columns of cells and runs that say what was to be measured."""

MOST_OF_FOLDER_B = 64_000_000
"""Largest folder that is stored as an entry: the pages of 100,000 runs would fill the disk."""

_SETTINGS = ("MPL", "NETLAB_", "PYTHON", "LC_", "LANG", "TZ")
"""Beginnings of the names of environment variables that a page may depend on."""


BACKEND = "MPLBACKEND"
"""Environment variable of how figures are shown, which a kernel sets."""


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

    Without the directories in use, which notebooks alone may name, and the backend, which draws
    no file.
    """
    environment = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(_SETTINGS) and name not in (paths.HOME, BACKEND)
    )
    return _program(paths.data_dir(), settings(), repr(environment), tuple(sys.path))


@cache
def _program(data: Path, of_matplotlib: str, environment: str, places: tuple[str, ...]) -> str:
    """The digest under one set of settings: a session may change them between two reports."""
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


class Cache(Entries):
    """Parts of reports made before, by the digest of their inputs."""

    def __init__(self, directory: Path | None):
        super().__init__(directory)
        self.directory = self._directory
        self.made: list[str] = []
        """Kinds of the parts that were made anew, in their order."""

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

    def folder(
        self, kind: str, inputs: Iterable[str | bytes], folder: Path, make: Callable[[], Any]
    ) -> Any:
        """The value of `make`, of JSON, and the files that it writes below an empty folder."""
        if self._directory is None:
            return make()
        key = key_of(kind, program(), *inputs)
        if (stored := self.get(key)) is not None:
            with zipfile.ZipFile(io.BytesIO(stored)) as archive:
                value, *names = archive.namelist()
                for name in names:
                    target = folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
                return json.loads(archive.read(value))
        self.made.append(kind)
        value = make()
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        if sum(path.stat().st_size for path in files) <= MOST_OF_FOLDER_B:
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr("value", json.dumps(value))
                for path in files:
                    archive.write(path, path.relative_to(folder))
            self.put(key, packed.getvalue())
        return value


NOTHING_KEPT = Cache(None)
"""The cache of a report that is made afresh."""


def user_cache() -> Cache:
    """The cache of this user, below ``$XDG_CACHE_HOME`` or ``~/.cache``.

    None for a process that began before netlab was changed on disk, as in a long session of
    JupyterLab: its code is not that of the files.
    """
    if _changed_since_start():
        return NOTHING_KEPT
    return Cache(cache_directory(FOLDER))


def _changed_since_start() -> bool:
    ticks = int(read_bytes("/proc/self/stat").rpartition(b")")[2].split()[19])
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    started_s = time.time() - age_s
    return any(
        path.stat().st_ctime > started_s
        for path in PACKAGE.rglob("*")
        if path.suffix != ".pyc" and path.is_file()
    )


# The cache of the report that is being made, for the charts of its pages and its notebooks.

_ACTIVE: ContextVar[Cache] = ContextVar("report_cache")
_of_process = NOTHING_KEPT


@contextmanager
def using(store: Cache) -> Iterator[None]:
    token = _ACTIVE.set(store)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def use(directory: str) -> None:
    """Share the charts of a report in this process, its kernel; none with an empty text."""
    global _of_process
    _of_process = Cache(Path(directory)) if directory else NOTHING_KEPT


def active() -> Cache:
    return _ACTIVE.get(_of_process)


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
