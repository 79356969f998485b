"""Bundles that a forger made: changed, with digests that fit."""

from __future__ import annotations

from pathlib import Path

from netlab.bundle import crate
from netlab.files.archive import pack
from netlab.files.writing import write_json


def sealed(directory: Path, target: Path) -> Path:
    """A bundle of a changed directory with digests made anew, as a forger would."""
    about = crate.About("Two racks", "", "two-racks", "2026-01-05T10:00:00+00:00", "0.1.0")
    for name in (crate.METADATA, crate.MANIFEST):
        (directory / name).unlink(missing_ok=True)
    write_json(directory / crate.METADATA, crate.metadata(directory, about))
    (directory / crate.MANIFEST).write_text(crate.manifest(directory))
    return pack(directory, target)
