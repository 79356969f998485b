"""A bundle: results, report, study, tunings and versions in one ZIP file, an RO-Crate."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata as distributions
from pathlib import Path
from typing import Any

import pandas as pd

from netlab import __version__, core
from netlab.analysis import calibrated
from netlab.analysis.machines import machines
from netlab.analysis.measured import Measured, load_measured
from netlab.analysis.screened import DOCUMENT
from netlab.analysis.screened import FOLDER as SCREENS
from netlab.analysis.trust import Concern
from netlab.errors import BadInput, why
from netlab.files import paths
from netlab.files.archive import names_in, pack, unpack
from netlab.files.json_file import write_json, write_text
from netlab.files.scratch import Scratch
from netlab.report import crate
from netlab.report.executed import copy_plain
from netlab.report.place import MARKER
from netlab.report.publish import last_visit, publish, report_of
from netlab.results import TABLES, campaigns
from netlab.study.frozen import frozen_text
from netlab.study.pages import is_own, report_notebooks
from netlab.study.schedule import rounds
from netlab.study.tunings import own_tunings, used_names
from netlab.tuning.profiles import lineage

RESULTS, SITE, STUDY, PROVENANCE = "results", "site", "study.yml", "provenance.json"
TUNINGS, PUBLISHED, OWN, CALIBRATION = "tunings", "published", "notebooks", "calibration"

FIGURE_MAKERS = ("matplotlib", "nbconvert", "numpy", "pandas", "pyarrow", "scipy", "seaborn")
"""Packages that a figure of the report may depend on; ``uv.lock`` has all."""

TEXT = {".html", ".ipynb", ".json", ".csv", ".tex", ".svg"}
LICENCE = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True)
class Bundled:
    """A bundle that was written, and what keeps its report below the quality gate."""

    file: Path
    concerns: tuple[Concern, ...]


def bundle(
    directory: Path,
    target: Path,
    step: Callable[[str, float], None] = lambda text, share: None,
    *,
    notebooks: Sequence[Path] | None = None,
    licence: str = "",
    author: str = "",
) -> Bundled:
    """Publish results and write them with their report into one ZIP file."""
    if licence and not LICENCE.fullmatch(licence):
        raise BadInput(
            "is not a URL, such as https://spdx.org/licenses/CC-BY-4.0",
            key="--license",
            value=licence,
            code="E-REPORT-008",
        )
    directory = directory.absolute()
    with Scratch("bundle") as work:
        measured = load_measured(directory)
        if notebooks is None:
            notebooks = report_notebooks(report_of(measured.study))
        _copy_calibration(work / CALIBRATION)
        published = publish(
            directory,
            work / SITE,
            step,
            dated=False,
            notebooks=[file for file in notebooks if not is_own(file)],
            author=author,
            calibrations=work / CALIBRATION,
        )
        (work / SITE / MARKER).unlink()
        _copy_results(measured, work / RESULTS)
        _copy_own_notebooks(notebooks, work)
        _copy_study(measured, work)
        write_json(work / PROVENANCE, provenance(measured))
        for name in ("uv.lock", "CITATION.cff"):
            shutil.copyfile(paths.own_file(name), work / name)
        _without_place(work, directory)
        about = _about(measured, licence, author)
        write_json(work / crate.METADATA, crate.metadata(work, about))
        write_text(work / crate.MANIFEST, crate.manifest(work))
        return Bundled(pack(work, target), published.concerns)


def _copy_results(m: Measured, target: Path) -> None:
    """Copy all records, campaigns, screens, and the notebook of the last visit of each block."""
    wanted = [f"{table}/*.parquet" for table in TABLES]
    wanted += [f"{campaigns.FOLDER}/*/{STUDY}", f"{campaigns.FOLDER}/*/campaign.json"]
    of_screens = [f"{SCREENS}/*/*/{pattern}" for pattern in wanted]  # stores of their campaigns
    wanted += [STUDY, f"{SCREENS}/*/{DOCUMENT}", *of_screens]
    for pattern in wanted:
        for source in m.results.glob(pattern):
            copy = target / source.relative_to(m.results)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    folder = target / "notebooks"
    for visit in rounds(m.study)[0]:
        notebook = last_visit(m.results / "notebooks", visit.block_id)
        if notebook is not None:
            folder.mkdir(parents=True, exist_ok=True)
            copy_plain(notebook, folder / notebook.name)


def _copy_calibration(target: Path) -> None:
    """Copy the document of the latest calibration of each part, as stored on this machine."""
    place = paths.results_dir("calibration")
    for part in calibrated.stored(place).parts.values():
        copy = target / part.file.relative_to(place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(part.file, copy)


def _copy_own_notebooks(notebooks: Sequence[Path], work: Path) -> None:
    for source in filter(is_own, notebooks):
        (work / OWN).mkdir(exist_ok=True)
        copy_plain(source, work / OWN / source.name)


def _copy_study(m: Measured, work: Path) -> None:
    """Write the study, which stands alone, and copy the files that it was made of."""
    write_text(work / STUDY, frozen_text(m.study))
    own = own_tunings(m.study)
    for name in used_names(m.study):
        for tuning in lineage(name, own=own):
            source = paths.data_dir() / TUNINGS / f"{tuning.name}.yml"
            if source.is_file():
                (work / TUNINGS).mkdir(exist_ok=True)
                shutil.copyfile(source, work / TUNINGS / source.name)
    (work / PUBLISHED).mkdir()
    for source in (paths.data_dir() / PUBLISHED).iterdir():
        if source.is_file():
            shutil.copyfile(source, work / PUBLISHED / source.name)


def versions() -> dict[str, str]:
    """Versions that a figure depends on: netlab, its C core, Python, and packages."""
    found = {"netlab": __version__, "C core": core.source_digest()}
    found["Python"] = platform.python_version()
    return found | {name: distributions.version(name) for name in FIGURE_MAKERS}


def provenance(m: Measured) -> dict[str, Any]:
    """Content of ``provenance.json``: versions, campaigns, hosts."""
    found = machines(m.runs, m.study)
    logs = [campaigns.read_log(m.results, one) for one in campaigns.ids(m.results)]
    return {
        "reported_with": versions(),
        "study": {"name": m.study.name, "title": m.study.title, "digest": m.study.digest()},
        "campaigns": [
            {
                "campaign": log.campaign,
                "started_at": log.started_at,
                "netlab": log.version,
                "study_digest": log.study_digest,
                "hosts": dict(log.hosts),
            }
            for log in logs
        ],
        "hosts": {
            str(host): {str(fact): str(value) for fact, value in column.items()}
            for host, column in found.hosts.items()
        },
        "measured": dict(zip(found.shared["item"], found.shared["value"], strict=True)),
    }


def _about(m: Measured, licence: str, author: str) -> crate.About:
    ended = _end(m.runs)
    made = []
    for one in campaigns.ids(m.results):
        log = campaigns.read_log(m.results, one)
        own = m.runs[m.runs["campaign"] == one]
        # of a campaign whose records are all superseded only the start is known
        last = _end(own) if len(own) else log.started_at
        made.append(crate.CampaignAction(one, log.version, log.started_at, last))
    if not made:
        first = m.runs["started_at"].min().floor("s").isoformat()
        made = [crate.CampaignAction("", "", first, ended)]
    return crate.About(
        title=f"{m.study.title}: results and report",
        description=m.study.description,
        study=m.study.name,
        published_at=ended,
        version=__version__,
        campaigns=made,
        licence=licence,
        author=author,
    )


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
            content = file.read_bytes()
            changed = place.sub(RESULTS.encode(), content)
            if changed != content:
                file.write_bytes(changed)


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """Unpack a bundle into a directory that is removed in the end."""
    with Scratch("bundle") as work:
        unpack(file, work)
        for name in (crate.MANIFEST, crate.METADATA, PROVENANCE, STUDY):
            if not (work / name).is_file():
                raise BadInput(
                    f"is not a bundle of netlab: {name} is missing",
                    where=str(file),
                    code="E-REPORT-009",
                )
        yield work


def stated_versions(directory: Path) -> dict[str, str]:
    """Versions that an unpacked bundle was made with."""
    file = directory / PROVENANCE
    try:
        stated = json.loads(file.read_text(encoding="utf-8"))["reported_with"]
        return {str(name): str(version) for name, version in stated.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"cannot be read: {why(error)}", where=PROVENANCE, code="E-REPORT-010"
        ) from None


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
        if not there.is_file() or crate.digest_of(there) != crate.digest_of(source / name):
            raise BadInput(
                f"exists and is not a copy of the bundle's results: {name} differs; remove it, or "
                "name other results (--results)",
                where=str(target),
                code="E-REPORT-011",
            )
    return target
