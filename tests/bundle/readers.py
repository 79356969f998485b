"""The reader of bundles, as tests/any_input.py takes it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from netlab.bundle.unpacking import stated_versions, unpacked
from netlab.bundle.verify import changed_files


def bundled() -> bytes:
    """A bundle of four small files."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ro-crate-metadata.json", '{"@graph": [{"@type": "File", "@id": "a"}]}')
        archive.writestr("manifest-sha256.txt", f"{'0' * 64}  study.yml\n")
        archive.writestr("provenance.json", '{"reported_with": {"netlab": "0.1.0"}}')
        archive.writestr("study.yml", "netlab: 1\n")
    return sink.getvalue()


def read_bundle(file: Path) -> None:
    with unpacked(file) as directory:
        list(map(str, changed_files(directory)))
        stated_versions(directory)


READERS = {"bundle": (read_bundle, bundled)}
OPENED = ("bundle",)
