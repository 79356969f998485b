"""A bundle: results, report, study, tunings and versions in one ZIP file, an RO-Crate."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import platform
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata as distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from netlab import core, wings
from netlab.analysis import trust
from netlab.analysis.measured import Measured, load_measured
from netlab.analysis.trust import Concern, machines
from netlab.errors import BadInput, why
from netlab.files import paths
from netlab.files.archive import names_in, pack, unpack
from netlab.files.reading import open_regular, read_bytes, read_text
from netlab.files.writing import read_json, scratch, write_json, write_text
from netlab.files.yaml_file import read_yaml, yaml_text
from netlab.report.export import NO_PDF
from netlab.report.page import MARKER, Credit
from netlab.report.render import copy_plain
from netlab.report.site import last_visit, publish, report_of
from netlab.results import store
from netlab.results.columns import TABLES
from netlab.results.frames import map_texts, texts_in
from netlab.study import Study
from netlab.study.file import frozen_text
from netlab.study.model import own_tunings, used_names
from netlab.study.published import is_own, report_notebooks
from netlab.study.schedule import rounds
from netlab.tuning.profiles import lineage
from netlab.units import listed
from netlab.version import RELEASE

# Metadata of a bundle: an RO-Crate 1.1 of the Process Run Crate profile, and a list of digests.

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


RESULTS, SITE, STUDY, PROVENANCE = "results", "site", "study.yml", "provenance.json"
TUNINGS, PUBLISHED, OWN, CALIBRATION = "tunings", "published", "notebooks", "calibration"

FIGURE_MAKERS = ("matplotlib", "nbconvert", "numpy", "pandas", "pyarrow", "scipy", "seaborn")
"""Packages that a figure of the report may depend on; ``uv.lock`` has all."""

TEXT = {".html", ".ipynb", ".json", ".csv", ".tex", ".svg"}
LICENCE = re.compile(r"https?://[!-~]+")


def bundle(
    directory: Path,
    target: Path,
    step: Callable[[str, float], None] = lambda text, share: None,
    *,
    notebooks: Sequence[Path] | None = None,
    licence: str = "",
    author: str = "",
    redact: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[Concern, ...]:
    """Publish results and write them with their report into one ZIP file; return its concerns.

    `redact` replaces the words of a network, and leaves out notebooks of blocks and of the user.
    """
    if licence and not LICENCE.fullmatch(licence):
        message = "is not a URL, such as https://spdx.org/licenses/CC-BY-4.0"
        raise BadInput(message, key="--license", value=licence, code="E-REPORT-008")
    directory = directory.absolute()
    with scratch("bundle") as work:
        measured = load_measured(directory)
        if notebooks is None:
            notebooks = report_notebooks(report_of(measured.study))
        place = paths.results_dir("calibration")
        for part in trust.stored(place).parts.values():
            _copy(part.file, work / CALIBRATION / part.file.relative_to(place))
        _copy_results(measured, work / RESULTS, blocks=not redact)
        copied = (work / CALIBRATION, work / RESULTS)
        words = words_of(measured.study, *copied)
        if redact:
            for folder in copied:
                words.redact(folder)
            directory = work / RESULTS
            notebooks = [file for file in notebooks if not is_own(file)]
            try:
                measured = load_measured(directory)
            except BadInput as error:
                raise BadInput(
                    f"a host has a name that the study has for something else as well: {error}",
                    key="--redact",
                    code="E-REPORT-013",
                ) from None
            say(f"netlab: {words} have pseudonyms; notebooks of blocks are left out")
        else:
            say(f"netlab: the bundle tells {words} of your network: --redact replaces them")
        published = publish(
            directory,
            work / SITE,
            step,
            dated=False,
            notebooks=[file for file in notebooks if not is_own(file)],
            credit=Credit(author),
            calibrations=work / CALIBRATION,
        )
        if NO_PDF:
            say(f"netlab: no PDF: {NO_PDF}")
        (work / SITE / MARKER).unlink()
        for source in filter(is_own, notebooks):
            _copy(source, work / OWN / source.name, copy_plain)
        _copy_study(measured, work)
        write_json(work / PROVENANCE, provenance(measured))
        shutil.copyfile(paths.own_file("uv.lock"), work / "uv.lock")
        _without_place(work, directory)
        about = _about(measured, licence, author)
        write_text(work / CITATION, yaml_text(_citation(about)))
        write_json(work / ZENODO, _deposit(about))
        write_json(work / METADATA, metadata(work, about))
        write_text(work / MANIFEST, manifest(work))
        pack(work, target)
    return published.concerns


def _copy_results(m: Measured, target: Path, *, blocks: bool) -> None:
    """Copy records, campaigns, files of wings, and the notebook of each block's last visit."""
    wanted = [f"{table}/*.parquet" for table in TABLES]
    of_campaigns = (STUDY, "campaign.json", store.CONDITIONS)
    wanted += [f"{store.FOLDER}/*/{name}" for name in of_campaigns]
    of_wings = [f"{place}/{pattern}" for place in wings.stores() for pattern in wanted]
    wanted += [STUDY, *wings.files(), *of_wings]
    for pattern in wanted:
        for source in m.results.glob(pattern):
            _copy(source, target / source.relative_to(m.results))
    for visit in rounds(m.study)[0] if blocks else ():
        notebook = last_visit(m.results / "notebooks", visit.block_id)
        if notebook is not None:
            _copy(notebook, target / "notebooks" / notebook.name, copy_plain)


def _copy(
    source: Path, target: Path, copy: Callable[[Path, Path], object] = shutil.copyfile
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    copy(source, target)


def _copy_study(m: Measured, work: Path) -> None:
    """Write the study, which stands alone, and copy the files that it was made of."""
    write_text(work / STUDY, frozen_text(m.study))
    own = own_tunings(m.study)
    for name in used_names(m.study):
        for tuning in lineage(name, own=own):
            source = paths.data_dir() / TUNINGS / f"{tuning.name}.yml"
            if source.is_file():
                _copy(source, work / TUNINGS / source.name)
    for source in filter(Path.is_file, (paths.data_dir() / PUBLISHED).iterdir()):
        _copy(source, work / PUBLISHED / source.name)


def versions() -> dict[str, str]:
    """Versions that a figure depends on: netlab, its C core, Python, and packages."""
    found = {"netlab": RELEASE, "C core": core.source_digest()}
    found["Python"] = platform.python_version()
    return found | {name: distributions.version(name) for name in FIGURE_MAKERS}


def _conditions_digest(m: Measured, campaign: str) -> str:
    """SHA-256 of the conditions of a campaign; empty for one that stored none."""
    conditions = store.read_conditions(m.results, campaign)
    content = "" if conditions is None else json.dumps(vars(conditions), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest() if content else ""


def provenance(m: Measured) -> dict[str, Any]:
    """Content of ``provenance.json``: versions, campaigns, hosts."""
    found = machines(m.runs, m.study)
    logs = [store.read_log(m.results, one) for one in store.ids(m.results)]
    return {
        "reported_with": versions(),
        "study": {"name": m.study.name, "title": m.study.title, "digest": m.study.digest()},
        "campaigns": [
            {
                "campaign": log.campaign,
                "started_at": log.started_at,
                "netlab": log.version,
                "study_digest": log.study_digest,
                "conditions": _conditions_digest(m, log.campaign),
            }
            for log in logs
        ],
        "hosts": {
            str(host): {str(fact): str(value) for fact, value in column.items()}
            for host, column in found.hosts.items()
        },
        "measured": dict(zip(found.shared["item"], found.shared["value"], strict=True)),
    }


def _about(m: Measured, licence: str, author: str) -> About:
    ended = _end(m.runs)
    made = []
    for one in store.ids(m.results):
        log = store.read_log(m.results, one)
        own = m.runs[m.runs["campaign"] == one]
        # of a campaign whose records are all superseded only the start is known
        last = _end(own) if len(own) else log.started_at
        made.append((one, log.version, log.started_at, last))
    imported = ("", "", m.runs["started_at"].min().floor("s").isoformat(), ended)
    return About(
        title=f"{m.study.title}: results and report",
        description=m.study.description,
        study=m.study.name,
        published_at=ended,
        version=RELEASE,
        campaigns=made or [imported],
        licence=licence,
        author=author,
    )


def _citation(about: About) -> dict[str, Any]:
    """Content of ``CITATION.cff`` 1.2.0, which requires an author."""
    netlab = read_yaml(paths.own_file(CITATION))
    software = {key: netlab[key] for key in ("type", "title", "authors", "license")}
    return {
        "cff-version": "1.2.0",
        "message": "If you use these results, please cite them as below.",
        "type": "dataset",
        "title": about.title,
        "abstract": about.description or about.title,
        "authors": [{"name": about.author or "not stated"}],
        "date-released": about.published_at[:10],
        **({"license-url": about.licence} if about.licence else {}),
        "references": [software | {"version": about.version}],
    }


def _deposit(about: About) -> dict[str, Any]:
    """Content of ``.zenodo.json``; what it lacks, Zenodo asks for."""
    return {
        "upload_type": "dataset",
        "title": about.title,
        "description": about.description or about.title,
        "publication_date": about.published_at[:10],
        "notes": f"Measured and analysed with netlab {about.version}; `netlab verify` checks it.",
        **({"creators": [{"name": about.author}]} if about.author else {}),
        **({"license": about.licence} if about.licence else {}),
    }


def _end(runs: pd.DataFrame) -> str:
    """End of the last run, ISO 8601 in whole seconds."""
    ends = runs["started_at"] + pd.to_timedelta(runs["wall_s"].fillna(0.0), unit="s")
    return ends.max().ceil("s").isoformat()


def _without_place(work: Path, directory: Path) -> None:
    """Write ``results`` in place of the directory that the report was made in."""
    place = re.compile(rb"(?<![\w/.-])" + re.escape(str(directory).encode()) + rb"(?![\w.-])")
    for name in names_in(work):
        file = work / name
        if file.suffix in TEXT:
            file.write_bytes(place.sub(RESULTS.encode(), read_bytes(file)))


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


# Words of a bundle that describe a network, and stable pseudonyms in their place.
#
# Records and studies are redacted before the report is made of them, so that site, PDF, figures and
# digests are those of the redacted records.

_MAC = re.compile(r"(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Za-z:])")
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*)(?![\w:])"
)
_HOST = re.compile(r'"(?:host|hostname)": "([^"\\]+)"')
_USER = re.compile(r"/(?:home|Users)/([\w.-]+)")


@dataclass(frozen=True)
class Words:
    """Words of a network by their kind, each kind sorted."""

    hosts: tuple[str, ...]
    addresses: tuple[str, ...]
    macs: tuple[str, ...]
    users: tuple[str, ...]

    def __str__(self) -> str:
        nouns = ("host name", "address", "MAC address", "user")
        kinds = zip(nouns, (self.hosts, self.addresses, self.macs, self.users), strict=True)
        return listed(
            f"{len(words)} {noun}{('es' if noun.endswith('s') else 's') * (len(words) != 1)}"
            for noun, words in kinds
        )

    @cached_property
    def pseudonyms(self) -> dict[str, str]:
        """Word in lower case -> pseudonym: by the order of the words, so that it is stable."""
        # RFC 2544 and 3849: no host of a network has these
        v4, v6 = (int(ipaddress.ip_address(first)) for first in ("198.18.0.0", "2001:db8::"))
        found = {}
        for number, word in enumerate(self.addresses, 1):
            first = v6 if ":" in word else v4
            found[word.lower()] = str(ipaddress.ip_address(first + number))
        for number, word in enumerate(self.macs, 1):
            found[word.lower()] = "02:" + ":".join(re.findall("..", f"{number:010x}"))
        for kind, words in (("host", self.hosts), ("user", self.users)):
            for number, word in enumerate(words, 1):
                found.setdefault(word.lower(), f"{kind}-{number}")
        return found

    @cached_property
    def _pattern(self) -> re.Pattern:
        words = sorted(self.pseudonyms, key=len, reverse=True)
        alternatives = "|".join(map(re.escape, words)) or "(?!)"
        return re.compile(rf"(?<![0-9A-Za-z])(?:{alternatives})(?![0-9A-Za-z])", re.IGNORECASE)

    def redacted(self, text: str) -> str:
        """The text with the pseudonym of each word."""
        return self._pattern.sub(lambda found: self.pseudonyms[found[0].lower()], text)

    def redact(self, directory: Path) -> None:
        """Replace the words in the content and in the name of every file."""
        for name in names_in(directory):
            file, target = directory / name, directory / self.redacted(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".parquet":
                map_texts(file, target, self.redacted)
            else:
                text = self.redacted(read_text(file))
                target.write_text(text, encoding="utf-8")
            if target != file:
                file.unlink()


def words_of(study: Study | None, *directories: Path) -> Words:
    """The words of a study, where one is given, and of all files of directories."""
    stated = study.hosts.values() if study else ()
    hosts = {host.address for host in stated if host.address and not _is_address(host.address)}
    hosts |= set(study.hosts) if study else set()
    users = {host.user for host in stated if host.user}
    addresses: set[str] = set()
    macs: set[str] = set()
    for text in (study.model_dump_json() if study else "", *_texts(directories)):
        hosts.update(_HOST.findall(text))
        users.update(_USER.findall(text))
        macs.update(_MAC.findall(text))
        addresses.update(filter(_is_address, _ADDRESS.findall(text)))
    return Words(*(tuple(sorted(words)) for words in (hosts, addresses, macs, users)))


def _is_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _texts(directories: Iterable[Path]) -> Iterator[str]:
    for directory in directories:
        for name in names_in(directory):
            if name.endswith(".parquet"):
                yield from texts_in(directory / name)
            else:
                yield read_text(directory / name)
