"""A bundle: results, report, study, tunings and versions in one ZIP file, an RO-Crate."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata as distributions
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from netlab import core, wings
from netlab.analysis import stored_calibrations
from netlab.analysis.host_facts import machines
from netlab.analysis.measured import Measured, load_measured
from netlab.analysis.trust import Concern, gate
from netlab.bundle.crate import CITATION, MANIFEST, METADATA, ZENODO, About, manifest, metadata
from netlab.bundle.redaction import Words, words_of
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.files.archive import names_in, pack
from netlab.files.reading import read_bytes
from netlab.files.recorded_columns import column_json
from netlab.files.scratch_directory import scratch
from netlab.files.writing import write_json, write_text
from netlab.files.yaml_file import read_yaml, yaml_text
from netlab.report.page import Credit
from netlab.report.plain_notebook import copy_plain, public_names
from netlab.report.publishing import EXECUTED, ReportRequest, last_visit, publish, report_of
from netlab.report.rasteriser import NO_PDF
from netlab.report.site_directory import MARKER
from netlab.results import campaign_files
from netlab.results.columns import TABLES
from netlab.study.frozen import frozen_text
from netlab.study.model import own_tunings, used_names
from netlab.study.report_pages import is_own, report_notebooks
from netlab.study.schedule import rounds
from netlab.tuning.profiles import lineage
from netlab.units import listed
from netlab.version import RELEASE

RESULTS, SITE, STUDY, PROVENANCE = "results", "site", "study.yml", "provenance.json"
TUNINGS, PUBLISHED, OWN_NOTEBOOKS, CALIBRATION = "tunings", "published", "notebooks", "calibration"

FIGURE_MAKERS = ("matplotlib", "nbconvert", "numpy", "pandas", "pyarrow", "scipy", "seaborn")
"""Packages that a figure of the report may depend on; ``uv.lock`` has all."""

UNNAMED = ("direction", "generator", "congestion_in_force", "bottleneck", "flags")
"""Columns of runs without names of hosts or of the study."""

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
        own = measured = load_measured(directory)
        if notebooks is None:
            notebooks = report_notebooks(report_of(measured.study))
        place = paths.results_dir("calibration")
        for part in stored_calibrations.stored(place).parts.values():
            _copy(part.file, work / CALIBRATION / part.file.relative_to(place))
        _copy_results(measured, work / RESULTS, blocks=not redact)
        copied = (work / CALIBRATION, work / RESULTS)
        words = words_of(measured.study, *copied)
        if redact:
            directory = work / RESULTS
            notebooks = [file for file in notebooks if not is_own(file)]
            words, measured = _with_pseudonyms(measured, directory, words)
            words.redact(work / CALIBRATION)
            say(f"netlab: {words} have pseudonyms; notebooks of blocks are left out")
            if words.kept:
                keep = (
                    "keeps its name, a word" if len(words.kept) == 1 else "keep their names, words"
                )
                say(f"netlab: {listed(words.kept)} {keep} that records have for something else")
        else:
            say(f"netlab: the bundle tells {words} of your network: --redact replaces them")
        published = publish(
            directory,
            work / SITE,
            step,
            ReportRequest(
                dated=False,
                notebooks=[file for file in notebooks if not is_own(file)],
                credit=Credit(author),
                calibrations=work / CALIBRATION,
            ),
        )
        if redact:  # copies that the report executed name this machine's directories and times
            shutil.rmtree(directory / EXECUTED)
        if NO_PDF:
            say(f"netlab: no PDF: {NO_PDF}")
        (work / SITE / MARKER).unlink()
        for source in filter(is_own, notebooks):
            copy = partial(copy_plain, names=public_names(measured.results))
            _copy(source, work / OWN_NOTEBOOKS / source.name, copy)
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
    # those of redacted results name a directory that is gone
    return gate(own) if redact else published.concerns


def _with_pseudonyms(before: Measured, directory: Path, words: Words) -> tuple[Words, Measured]:
    """Redact copied results, and return the words that are replaced with the redacted results.

    A host that is named like a key or a word of records, such as `sender`, keeps its name: results
    in which that word is replaced cannot be read, or are other ones.
    """
    with scratch("bundle-words") as place:
        shutil.copytree(directory, place / RESULTS)

        def redacted(words: Words) -> Measured:
            shutil.rmtree(directory)
            shutil.copytree(place / RESULTS, directory)
            return _redacted(before, directory, words)

        try:
            return words, redacted(words)
        except BadInput:
            kept = []
            for host in words.hosts:
                try:
                    redacted(words.keeping(set(words.hosts) - {host}))
                except BadInput:
                    kept.append(host)
            words = words.keeping(kept)
            return words, redacted(words)


def _redacted(before: Measured, directory: Path, words: Words) -> Measured:
    """Measured study of results once they are redacted: the same ones under other names."""
    words.redact(directory)
    reason = "cells or facts are other ones then"
    try:
        after = load_measured(directory)
        if _unnamed(after) == _unnamed(before):
            return after
    except NetlabError as error:
        reason = str(error)
    except (LookupError, ValueError):  # a word of records, such as a direction, is another one
        pass
    message = "results are other ones with pseudonyms, as a word of the network is one of records"
    text = f"{message}, too: {reason}"
    raise BadInput(text, key="--redact", code="E-REPORT-013") from None


def _unnamed(m: Measured) -> list[object]:
    """Counts, words, and names of recorded facts and settings: all without names of hosts."""
    made, tuned = (
        [column_json(text, column) for text in m.runs[column].fillna("").unique()]
        for column in ("provenance", "knobs")
    )
    hosts = [
        of for run in [*tuned, *(run.get("hosts") or {} for run in made)] for of in run.values()
    ]
    every = [facts for facts in hosts if isinstance(facts, dict)]
    found = (facts["found"] for facts in every if isinstance(facts.get("found"), dict))
    samples = m.samples.batches(["direction"]) if m.samples else ()
    return [
        sorted(m.cells["n_valid"]),
        [sorted(m.runs[column].fillna("").astype(str)) for column in UNNAMED],
        {way for batch in samples for way in batch["direction"].unique()},
        {name for names in chain(every, found) for name in names},
    ]


def _copy_results(m: Measured, target: Path, *, blocks: bool) -> None:
    """Copy records, campaigns, files of wings, and the notebook of each block's last visit."""
    wanted = [f"{table}/*.parquet" for table in TABLES]
    of_campaigns = (STUDY, "campaign.json", campaign_files.CONDITIONS)
    wanted += [f"{campaign_files.FOLDER}/*/{name}" for name in of_campaigns]
    of_wings = [f"{place}/{pattern}" for place in wings.stores() for pattern in wanted]
    wanted += [STUDY, *wings.files(), *of_wings]
    for pattern in wanted:
        # hidden files are of the program that copied the others
        for source in (file for file in m.results.glob(pattern) if file.name[0] != "."):
            _copy(source, target / source.relative_to(m.results))
    for visit in rounds(m.study)[0] if blocks else ():
        notebook = last_visit(m.results / "notebooks", visit.block_id, set(m.runs["campaign"]))
        if notebook is not None:
            copy = partial(copy_plain, names=public_names(m.results))
            _copy(notebook, target / "notebooks" / notebook.name, copy)


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
    conditions = campaign_files.read_conditions(m.results, campaign)
    content = "" if conditions is None else json.dumps(vars(conditions), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest() if content else ""


def provenance(m: Measured) -> dict[str, Any]:
    """Content of ``provenance.json``: versions, campaigns, hosts."""
    found = machines(m.runs, m.study)
    logs = [campaign_files.read_log(m.results, one) for one in campaign_files.ids(m.results)]
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
    for one in campaign_files.ids(m.results):
        log = campaign_files.read_log(m.results, one)
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
