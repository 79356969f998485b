"""Digests of what a page is made of: a page whose inputs are unchanged is not made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from netlab.analysis import calibrated
from netlab.analysis.screened import screen_files
from netlab.files import paths
from netlab.results import TABLES
from netlab.results.campaigns import FOLDER
from netlab.results.files import complete_files


def package_digest() -> str:
    """SHA-256 of the package's files and of the published data."""
    package = Path(__file__).parents[1]
    files = [
        path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    data = [path for path in (paths.data_dir() / "published").rglob("*") if path.is_file()]
    return _of_files([*sorted(files), *sorted(data)])


def results_digest(directory: Path) -> str:
    """SHA-256 of all records and campaigns in a directory of results."""
    found = [path for folder in (*TABLES, FOLDER) for path in complete_files(directory / folder)]
    return _of_files(found)


def screens_digest(directory: Path) -> str:
    """SHA-256 of the screens in a directory of results."""
    return digest_of(
        *(text for f in screen_files(directory) for text in (f.parent.name, f.read_bytes()))
    )


def calibration_digest(directory: Path) -> str:
    """SHA-256 of the calibrations stored in a directory."""
    return _of_files(sorted(directory.rglob(calibrated.FILE)))


def digest_of(*parts: str | bytes | Mapping[str, object]) -> str:
    """SHA-256 of several inputs in their order."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, Mapping):
            part = json.dumps(part, sort_keys=True, default=str)
        content = part.encode() if isinstance(part, str) else part
        whole.update(hashlib.sha256(content).digest())
    return whole.hexdigest()


def _of_files(files: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
