"""Metadata of a bundle: an RO-Crate 1.1 of the Process Run Crate profile, and a list of digests."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from netlab.files.archive import names_in
from netlab.files.reading import open_regular

METADATA, MANIFEST = "ro-crate-metadata.json", "manifest-sha256.txt"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE, PROFILE_VERSION = "https://w3id.org/ro/wfrun/process/0.5", "0.5"
CONTEXT: list[Any] = [
    f"{SPECIFICATION}/context",
    {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
]
"""With the one term of the profile's own context that is used, so that readers need not load it."""

MEASUREMENT, REPORT, NO_LICENCE = "#measurement", "#report", "#no-licence"
CITATION, ZENODO = "CITATION.cff", ".zenodo.json"
NETLAB = "#netlab"
AUTHOR = "#author"

FOLDERS, FILES, MEDIA_TYPES = tomllib.loads(
    Path(__file__).with_name("bundle.toml").read_text(encoding="utf-8")
).values()
"""Content of the folders and of the files at the top of a bundle; media types by suffix."""


@dataclass(frozen=True)
class About:
    """Facts that the metadata state besides the files."""

    title: str
    description: str
    study: str
    published_at: str
    version: str
    campaigns: Sequence[tuple[str, str, str, str]] = ()
    """Of each campaign its id, version of netlab, start and end in ISO 8601."""

    licence: str = ""
    author: str = ""


def digest_of(file: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with open_regular(file) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def manifest(directory: Path) -> str:
    """SHA-256 and name of every file but the manifest itself, in the format of ``sha256sum``."""
    names = [name for name in names_in(directory) if name != MANIFEST]
    return "".join(f"{digest_of(directory / name)}  {name}\n" for name in names)


def metadata(directory: Path, about: About) -> dict[str, Any]:
    """Content of ``ro-crate-metadata.json`` for the files of a directory."""
    names = [name for name in names_in(directory) if name not in (METADATA, MANIFEST)]
    files = [_file(name, directory / name) for name in names] + [_file(MANIFEST)]
    ids = [file["@id"] for file in files]
    parts = {name: [one for one in ids if one.startswith(name)] for name in FOLDERS}
    folders = [
        _entity(name, "Dataset", name.rstrip("/"), FOLDERS[name], hasPart=_few(files_in))
        for name, files_in in parts.items()
        if files_in
    ]

    def action(name: str, title: str, content: str, used: list[str], made: str) -> dict[str, Any]:
        entity = _entity(name, "CreateAction", f"{title} of {about.study}", content)
        entity["object"] = _few([one for one in used if parts.get(one, one)])
        entity["result"] = _few([made] if parts[made] else [])
        return {**entity, "agent": _to(AUTHOR)} if about.author else entity

    actions = [
        action(
            f"{MEASUREMENT}-{campaign}" if campaign else MEASUREMENT,
            "Measurement",
            f"Campaign {campaign} of {about.study}" if campaign else "Imported records",
            ["study.yml", "tunings/"],
            "results/",
        )
        | {"instrument": _to(_application(version)), "startTime": started_at, "endTime": ended_at}
        for campaign, version, started_at, ended_at in about.campaigns
    ]
    analysed = "Analysis of the records: notebooks, site and PDF"
    report = action(REPORT, "Report", analysed, ["results/", "published/"], "site/")
    actions.append({**report, "instrument": _to(_application(about.version))})
    top = [one for one in ids if "/" not in one]
    root = _entity(
        "./",
        "Dataset",
        about.title,
        about.description or about.title,
        datePublished=about.published_at,
        license=_to(about.licence or NO_LICENCE),
        conformsTo=_to(PROFILE),
        hasPart=[_to(one) for one in (*top, *(folder["@id"] for folder in folders))],
        mentions=_few([entity["@id"] for entity in actions]),
    )
    if about.author:
        root["author"] = _to(AUTHOR)
    crate = {"@id": METADATA, "@type": "CreativeWork", "about": _to("./")}
    crate["conformsTo"] = _to(SPECIFICATION)
    graph = [crate, root, *folders, *actions, *_contextual(about), *files]
    return {"@context": CONTEXT, "@graph": graph}


def _entity(
    address: str, kind: str, name: str, description: str = "", **more: Any
) -> dict[str, Any]:
    described = {"description": description} if description else {}
    return {"@id": address, "@type": kind, "name": name, **described, **more}


def _few(names: list[str]) -> Any:
    """References as JSON-LD has them: a single one stands without a list."""
    references = [_to(name) for name in names]
    return references[0] if len(references) == 1 else references


def _to(name: str) -> dict[str, str]:
    return {"@id": name}


def _file(name: str, file: Path | None = None) -> dict[str, Any]:
    """Entity of a file; without size and digest where it is written later."""
    content = FILES.get(name, "")
    entity = _entity(quote(name, safe="/~@+=,"), "File", name.rpartition("/")[2], content)
    entity["encodingFormat"] = MEDIA_TYPES.get(Path(name).suffix, "application/octet-stream")
    if file is not None:
        entity |= {"contentSize": str(file.stat().st_size), "sha256": digest_of(file)}
    return entity


def _application(version: str) -> str:
    return f"{NETLAB}-{version}" if version else NETLAB


def _contextual(about: About) -> list[dict[str, Any]]:
    """Entities besides files: the profile, the versions of netlab, the licence and the author."""
    content = ("netlab", "Reproducible throughput studies of a network path")
    versions = sorted({about.version, *(campaign[1] for campaign in about.campaigns)})
    stated = {version: version or "not recorded" for version in versions}
    unknown = (NO_LICENCE, "No licence stated", "No licence of the results was named.")
    name, *words = (about.licence, about.licence) if about.licence else unknown
    return [
        _entity(PROFILE, "CreativeWork", "Process Run Crate", version=PROFILE_VERSION),
        *(
            _entity(_application(v), "SoftwareApplication", *content, softwareVersion=stated[v])
            for v in versions
        ),
        _entity(name, "CreativeWork", *words),
        *([_entity(AUTHOR, "Person", about.author)] if about.author else []),
    ]
