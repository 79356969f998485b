"""Campaigns: each measures one study under one provenance; a later one supersedes, never deletes.

A directory of results holds one folder a campaign, ``campaigns/<id>/``, with the study as it was
measured (``study.yml``), ``campaign.json``, and the conditions of its runs (``conditions.json``).
The id is the UTC time of its start. A record counts in a campaign exactly if it was made under
the conditions that the campaign has for its cell, whichever campaign it was made in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
from pydantic import GetPydanticSchema, TypeAdapter

from netlab.errors import BadInput, NetlabError, printable, why
from netlab.files import paths
from netlab.files.bounded_json import read_json
from netlab.files.recorded_facts import BLOCK_CONDITIONS, BlockConditions
from netlab.files.writing import write_text

FOLDER, CONDITIONS = "campaigns", "conditions.json"
CAMPAIGN_ID = re.compile(r"\d{8}T\d{6}Z(-\d+)?")


@dataclass(frozen=True)
class CampaignLog:
    """Record of a campaign besides its runs."""

    campaign: str
    key: str
    started_at: str
    study: str
    study_digest: str
    version: str
    adopted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Records of earlier campaigns that count, by part; of a campaign without conditions."""
    rule: Literal["campaign", "conditions"] = "campaign"
    """Records count by campaign, as of an older netlab, or by their conditions."""
    looks: tuple[dict, ...] = ()
    contradictions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Conditions:
    """Conditions under which the records of a campaign's runs count."""

    contexts: Annotated[
        Mapping[str, BlockConditions],
        GetPydanticSchema(lambda _kind, _handler: BLOCK_CONDITIONS),
    ] = field(default_factory=dict)
    """Of each block whose hosts were asked: versions, machines and settings found."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Provenance key of each cell of these blocks."""
    trials: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the key of a cell, the runs that a search planned in it, with the key of each."""

    def every_key(self) -> set[str]:
        """Keys that a record has to have to count."""
        return {*self.keys.values(), *(key for of in self.trials.values() for key in of.values())}

    def planned(self, run_ids: pd.Series) -> pd.Series:
        """The key that each run has to have; missing for a run that is not planned."""
        of_trials: dict[str, str] = {}
        for cell_key in self.keys.values():
            of_trials |= self.trials.get(cell_key, {})
        wanted = [of_trials.get(run) or self.keys.get(run.rpartition("@")[0]) for run in run_ids]
        return pd.Series(wanted, run_ids.index, dtype="string")


_LOG = TypeAdapter(CampaignLog)
_CONDITIONS = TypeAdapter(Conditions)


def folder(directory: Path, campaign: str) -> Path:
    """Folder of a campaign below a directory of results."""
    return directory / FOLDER / campaign


def study_file(directory: Path, campaign: str | None = None) -> Path:
    """The study as a campaign (the latest one) measured it; also where older versions stored it."""
    last = campaign or latest(directory)
    return directory / "study.yml" if last is None else folder(directory, last) / "study.yml"


def ids(directory: Path) -> list[str]:
    """Ids of the campaigns in a directory of results, oldest first."""
    names = filter(CAMPAIGN_ID.fullmatch, paths.names_below(directory / FOLDER))
    has_log = (name for name in names if (folder(directory, name) / "campaign.json").is_file())
    return sorted(has_log, key=age_of)


def age_of(campaign: str) -> tuple[str, int]:
    stamp, _, number = campaign.partition("-")
    return stamp, int(number or 0)


def latest(directory: Path) -> str | None:
    """Id of the campaign that started last; None without one."""
    campaigns = ids(directory)
    return campaigns[-1] if campaigns else None


def new_id(directory: Path, now: datetime) -> str:
    """An id that no campaign of the directory has, later than all of them."""
    stamp, before = f"{now:%Y%m%dT%H%M%SZ}", latest(directory)
    if before is None or age_of(before) < (stamp, 0):
        return stamp
    stamp, number = age_of(before)  # the clock was set back, or two start within a second
    return f"{stamp}-{number + 1}"


def read_log(directory: Path, campaign: str) -> CampaignLog:
    """Read ``campaign.json``."""
    path = folder(directory, campaign) / "campaign.json"
    try:
        return _LOG.validate_python(read_json(path))
    except PermissionError:
        raise
    except (OSError, ValueError) as error:
        reason = f"{printable(str(path))} cannot be read as a campaign: {why(error)[:300]}"
        raise NetlabError(reason, code="E-RESULTS-011") from None


def write_log(directory: Path, log: CampaignLog) -> None:
    """Write ``campaign.json``, atomically."""
    path = folder(directory, log.campaign) / "campaign.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(vars(log), indent=1) + "\n")


def conditions_file(directory: Path, campaign: str) -> Path:
    return folder(directory, campaign) / CONDITIONS


def read_conditions(directory: Path, campaign: str | None) -> Conditions | None:
    """Conditions of a campaign; None of one that an older netlab measured."""
    if campaign is None or not (folder(directory, campaign) / "campaign.json").is_file():
        return None
    path, remedy = conditions_file(directory, campaign), "`netlab results repair` makes it again"
    if not path.exists():
        if read_log(directory, campaign).rule == "campaign":
            return None
        reason = f"{printable(str(path))} is missing; {remedy} from the records"
        raise NetlabError(reason, code="E-RESULTS-026")
    try:
        content = read_json(path)
        if not {"contexts", "keys"} <= content.keys():
            raise ValueError("has no contexts or no keys")
        return _CONDITIONS.validate_python(content)
    except PermissionError:
        raise
    except (OSError, ValueError) as error:
        reason = f"{printable(str(path))} cannot be read as conditions: {why(error)[:300]}"
        raise NetlabError(f"{reason}; {remedy} from the records", code="E-RESULTS-025") from None


def write_conditions(directory: Path, campaign: str, conditions: Conditions) -> None:
    """Write ``conditions.json``, atomically."""
    path = conditions_file(directory, campaign)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(vars(conditions), sort_keys=True) + "\n")


def part_name(campaign: str, visit_id: str, taken: Iterable[str]) -> str:
    """Name of a new part of the store: campaign and visit, numbered where it is visited again."""
    base, used = f"{campaign}~{visit_id}", set(taken)
    names = chain((base,), (f"{base}~{number}" for number in count(2)))
    return next(name for name in names if name not in used)


def campaign_of(part: str) -> str:
    """Id of the campaign that wrote a part; empty for imported and older parts."""
    head, separator, _ = part.partition("~")
    return head if separator else ""


def latest_directory(study: str) -> Path:
    """Directory of the results of a study or of its short form, by its name: the one measured last.

    That of the study if neither was measured.
    """
    return _directories(study)[0]


def _directories(study: str) -> list[Path]:
    """Directories of the results of a study and of its short form, the one measured last first."""
    forms = (study,) if study.endswith(paths.QUICK) else (study, study + paths.QUICK)
    return sorted(map(paths.results_dir, forms), key=_measured_at, reverse=True)


def results_here() -> list[Path]:
    """Every directory of results where they go by default, by name.

    One without permission is among them: whoever reads it gets the error.
    """
    places = map(paths.results_dir, paths.names_below(paths.results_root()))
    return sorted(place for place in places if place.is_dir() and _has_results(place))


def _has_results(place: Path) -> bool:
    try:
        return study_file(place).is_file()
    except PermissionError:
        return True


def names_here() -> str:
    """Clause of a message that names the directory of results, and those that are there."""
    try:
        names = ", ".join(place.name for place in results_here())
    except PermissionError as error:
        return f"; {error.filename} cannot be read: {why(error)}"
    return f"; {paths.results_root()} has " + (f"results of {names}" if names else "no results")


def named_campaign(given: str | Path, results: Path | None = None) -> tuple[Path, str] | None:
    """Directory and id of ``RESULTS@CAMPAIGN``, or of the path of a study that a campaign stored.

    A campaign of a study's name is sought in `results`, if they are given; else in those of the
    study and of its short form. None of any other name or path, which is not that of one campaign.
    """
    path = paths.given_path(given)
    if path.is_file():
        path = path.resolve()
        directory = path.parents[2] if len(path.parents) > 2 else path.parent
        stored = path == folder(directory, path.parent.name) / "study.yml"
        return (directory, path.parent.name) if stored else None
    place, at, campaign = str(given).rpartition("@")
    if not (at and place) or path.exists() or paths.results_dir(str(given)).is_dir():
        return None
    by_name = "/" not in place
    searched = [*_directories(place), paths.example(place)] if by_name else []
    searched = [results] if by_name and results else [*searched, paths.given_path(place)]
    campaigns = {one: ids(one) for one in searched}
    for directory in (one for one, known in campaigns.items() if campaign in known):
        if by_name and results:
            study = read_log(directory, campaign).study
            return (directory, campaign) if study in (place, place + paths.QUICK) else None
        return directory, campaign
    for directory, known in campaigns.items():
        if known or (directory / "runs").is_dir():
            text = f"no such campaign; there are {', '.join(known) or 'none'}"
            where = str(directory)
            raise BadInput(text, where=where, key="campaign", value=campaign, code="E-RESULTS-029")
    return None


def _measured_at(directory: Path) -> float:
    """Time of the last change of a directory of results, s since the epoch; 0 without one."""
    files = [study_file(directory), *directory.glob("runs/*.parquet")]
    return max((file.stat().st_mtime for file in files if file.is_file()), default=0.0)


IMPORTED = "imported@"
"""Start of the names of parts that were imported: they belong to no campaign and always count."""
