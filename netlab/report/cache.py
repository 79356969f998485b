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
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from netlab import core
from netlab.analysis.cells import CELL_KEYS
from netlab.charts.looks import settings
from netlab.files import paths
from netlab.files.reading import open_regular, read_bytes
from netlab.files.user_cache import Entries, cache_directory, key_of
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
