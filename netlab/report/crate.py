"""Metadata of a bundle: an RO-Crate 1.1 of the Process Run Crate profile, and a list of digests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from netlab.files.archive import names_in

METADATA, MANIFEST = "ro-crate-metadata.json", "manifest-sha256.txt"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE, PROFILE_VERSION = "https://w3id.org/ro/wfrun/process/0.5", "0.5"
CONTEXT: list[Any] = [
    f"{SPECIFICATION}/context",
    {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
]
"""With the one term of the profile's own context that is used, so that readers need not load it."""

MEASUREMENT, REPORT, NO_LICENCE = "#measurement", "#report", "#no-licence"
NETLAB = "#netlab"
AUTHOR = "#author"

MEDIA_TYPES = {
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".lock": "application/toml",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex",
    ".txt": "text/plain",
    ".yml": "application/yaml",
}

FOLDERS = {
    "results/": "The records: runs, interval samples, campaigns, notebooks of blocks",
    "site/": "The report as a site and as a PDF, with the data of every figure and table",
    "calibration/": "The latest calibrations of netlab on the machine that made the report",
    "tunings/": "Files of the tunings that the study takes from netlab",
    "published/": "Published figures that the report stands beside the measured ones",
}
"""Folders of a bundle and their content."""

SINGLE = {
    "study.yml": "The study as it was measured, with the content of its tunings",
    "provenance.json": "Versions, hosts and digests of the measurement and of the report",
    "uv.lock": "Locked versions of every Python package",
    "CITATION.cff": "How to cite netlab",
    MANIFEST: "SHA-256 of every other file",
}
"""Files at the top of a bundle and their content."""


@dataclass(frozen=True)
class CampaignAction:
    """A campaign as an action: its id, version of netlab, and times in ISO 8601."""

    id: str
    version: str
    started_at: str
    ended_at: str


@dataclass(frozen=True)
class About:
    """Facts that the metadata state besides the files."""

    title: str
    description: str
    study: str
    published_at: str
    version: str
    campaigns: Sequence[CampaignAction] = field(default_factory=tuple)
    licence: str = ""
    author: str = ""


def digest_of(file: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def manifest(directory: Path) -> str:
    """SHA-256 and name of every file but the manifest itself, in the format of ``sha256sum``."""
    names = [name for name in names_in(directory) if name != MANIFEST]
    return "".join(f"{digest_of(directory / name)}  {name}\n" for name in names)


def metadata(directory: Path, about: About) -> dict[str, Any]:
    """Content of ``ro-crate-metadata.json`` for the files of a directory."""
    names = [name for name in names_in(directory) if name not in (METADATA, MANIFEST)]
    files = [_file(directory, name) for name in names]
    files.append(_file(directory, MANIFEST, later=True))
    top = [one["@id"] for one in files if "/" not in one["@id"]]
    folders: list[dict[str, Any]] = [
        {
            "@id": folder,
            "@type": "Dataset",
            "name": folder.rstrip("/"),
            "description": content,
            "hasPart": _few([_to(one["@id"]) for one in files if one["@id"].startswith(folder)]),
        }
        for folder, content in FOLDERS.items()
        if any(name.startswith(folder) for name in names)
    ]
    actions = [_measurement(one, about, names) for one in about.campaigns]
    actions.append(_report(about, names))
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": about.title,
        "description": about.description or about.title,
        "datePublished": about.published_at,
        "license": _to(about.licence or NO_LICENCE),
        "conformsTo": _to(PROFILE),
        "hasPart": [*map(_to, top), *(_to(folder["@id"]) for folder in folders)],
        "mentions": _few([_to(action["@id"]) for action in actions]),
    }
    if about.author:
        root["author"] = _to(AUTHOR)
    return {
        "@context": CONTEXT,
        "@graph": [
            {
                "@id": METADATA,
                "@type": "CreativeWork",
                "about": _to("./"),
                "conformsTo": _to(SPECIFICATION),
            },
            root,
            *folders,
            *actions,
            *_contextual(about),
            *files,
        ],
    }


def _few(references: list[dict[str, str]]) -> Any:
    """References as JSON-LD has them: a single one stands without a list."""
    return references[0] if len(references) == 1 else references


def _to(name: str) -> dict[str, str]:
    return {"@id": name}


def _file(directory: Path, name: str, *, later: bool = False) -> dict[str, Any]:
    """Entity of a file; without size and digest where it is written `later`."""
    file = directory / name
    entity: dict[str, Any] = {
        "@id": quote(name, safe="/~@+=,"),
        "@type": "File",
        "name": name.rpartition("/")[2],
        "encodingFormat": MEDIA_TYPES.get(file.suffix, "application/octet-stream"),
    }
    if content := SINGLE.get(name):
        entity["description"] = content
    if not later:
        entity |= {"contentSize": str(file.stat().st_size), "sha256": digest_of(file)}
    return entity


def _measurement(one: CampaignAction, about: About, names: Sequence[str]) -> dict[str, Any]:
    action: dict[str, Any] = {
        "@id": f"{MEASUREMENT}-{one.id}" if one.id else MEASUREMENT,
        "@type": "CreateAction",
        "name": f"Measurement of {about.study}",
        "description": f"Campaign {one.id} of {about.study}" if one.id else "Imported records",
        "instrument": _to(_application(one.version)),
        "object": _few([_to("study.yml"), *_folder("tunings/", names)]),
        "result": _few(_folder("results/", names)),
        "startTime": one.started_at,
        "endTime": one.ended_at,
    }
    return {**action, "agent": _to(AUTHOR)} if about.author else action


def _report(about: About, names: Sequence[str]) -> dict[str, Any]:
    action: dict[str, Any] = {
        "@id": REPORT,
        "@type": "CreateAction",
        "name": f"Report of {about.study}",
        "description": "Analysis of the records: notebooks, site and PDF",
        "instrument": _to(_application(about.version)),
        "object": _few([*_folder("results/", names), *_folder("published/", names)]),
        "result": _few(_folder("site/", names)),
    }
    return {**action, "agent": _to(AUTHOR)} if about.author else action


def _folder(folder: str, names: Sequence[str]) -> list[dict[str, str]]:
    return [_to(folder)] if any(name.startswith(folder) for name in names) else []


def _application(version: str) -> str:
    return f"{NETLAB}-{version}" if version else NETLAB


def _contextual(about: About) -> list[dict[str, Any]]:
    """Entities besides files: the profile, the versions of netlab, the licence and the author."""
    found: list[dict[str, Any]] = [
        {
            "@id": PROFILE,
            "@type": "CreativeWork",
            "name": "Process Run Crate",
            "version": PROFILE_VERSION,
        }
    ]
    versions = {about.version, *(campaign.version for campaign in about.campaigns)}
    for version in sorted(versions):
        found.append(
            {
                "@id": _application(version),
                "@type": "SoftwareApplication",
                "name": "netlab",
                "description": "Reproducible throughput studies of a network path",
                "softwareVersion": version or "not recorded",
            }
        )
    found.append(
        {"@id": about.licence, "@type": "CreativeWork", "name": about.licence}
        if about.licence
        else {
            "@id": NO_LICENCE,
            "@type": "CreativeWork",
            "name": "No licence stated",
            "description": "No licence of the results was named.",
        }
    )
    if about.author:
        found.append({"@id": AUTHOR, "@type": "Person", "name": about.author})
    return found
