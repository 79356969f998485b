"""Unpack a bundle, and keep its records beside results."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netlab.bundle.crate import MANIFEST, METADATA, digest_of
from netlab.bundle.pack import PROVENANCE, RESULTS, STUDY
from netlab.errors import BadInput, why
from netlab.files.archive import names_in, unpack
from netlab.files.bounded_json import read_json
from netlab.files.scratch_directory import scratch


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """Unpack a bundle into a directory that is removed in the end."""
    with scratch("bundle") as work:
        unpack(file, work)
        for name in (MANIFEST, METADATA, PROVENANCE, STUDY):
            if not (work / name).is_file():
                text = f"is not a bundle of netlab: {name} is missing"
                raise BadInput(text, where=str(file), code="E-REPORT-009")
        yield work


def stated_versions(directory: Path) -> dict[str, str]:
    """Versions that an unpacked bundle was made with."""
    file = directory / PROVENANCE
    try:
        stated = read_json(file)["reported_with"]
        return {str(name): str(version) for name, version in stated.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"cannot be read: {why(error)}"
        raise BadInput(text, where=PROVENANCE, code="E-REPORT-010") from None


def keep_records(directory: Path, target: Path) -> Path:
    """Copy the results of an unpacked bundle to a directory that stays."""
    source = directory / RESULTS
    if not target.exists():
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            shutil.copytree(source, partial)
            os.rename(partial, target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return target
    for name in names_in(source):
        there = target / name
        if not there.is_file() or digest_of(there) != digest_of(source / name):
            text = (
                f"exists and is not a copy of the bundle's results: {name} differs; remove it, or "
                "name other results (--results)"
            )
            raise BadInput(text, where=str(target), code="E-REPORT-011")
    return target
