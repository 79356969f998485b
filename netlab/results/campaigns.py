"""Campaigns: each measures one study under one provenance; a later one supersedes, never deletes.

A directory of results holds one folder a campaign, ``campaigns/<id>/``, with the study as it was
measured (``study.yml``) and ``campaign.json``. The id is the UTC time of its start. A campaign
adopts records of earlier ones that were made under the same conditions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from netlab.errors import NetlabError, why
from netlab.files.json_file import write_text

FOLDER = "campaigns"
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
    hosts: Mapping[str, str] = field(default_factory=dict)
    adopted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    looks: tuple[dict, ...] = ()
    contradictions: Mapping[str, str] = field(default_factory=dict)


def folder(directory: Path, campaign: str) -> Path:
    """Folder of a campaign below a directory of results."""
    return directory / FOLDER / campaign


def study_file(directory: Path, campaign: str | None = None) -> Path:
    """The study as a campaign (the latest one) measured it; also where older versions stored it."""
    last = campaign or latest(directory)
    return directory / "study.yml" if last is None else folder(directory, last) / "study.yml"


def ids(directory: Path) -> list[str]:
    """Ids of the campaigns in a directory of results, oldest first."""
    found = (directory / FOLDER).glob("*/campaign.json")
    return sorted((p.parent.name for p in found if CAMPAIGN_ID.fullmatch(p.parent.name)), key=_age)


def _age(campaign: str) -> tuple[str, int]:
    stamp, _, number = campaign.partition("-")
    return stamp, int(number or 0)


def latest(directory: Path) -> str | None:
    """Id of the campaign that started last; None without one."""
    found = ids(directory)
    return found[-1] if found else None


def new_id(directory: Path, now: datetime) -> str:
    """An id that no campaign of the directory has, later than all of them."""
    stamp, before = f"{now:%Y%m%dT%H%M%SZ}", latest(directory)
    if before is None or _age(before) < (stamp, 0):
        return stamp
    stamp, number = _age(before)  # the clock was set back, or two start within a second
    return f"{stamp}-{number + 1}"


def read_log(directory: Path, campaign: str) -> CampaignLog:
    """Read ``campaign.json``."""
    path = folder(directory, campaign) / "campaign.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        adopted = {part: tuple(runs) for part, runs in content.pop("adopted").items()}
        return CampaignLog(**{**content, "adopted": adopted, "looks": tuple(content["looks"])})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NetlabError(
            f"{path} cannot be read as a campaign: {why(error)}", code="E-RESULTS-011"
        ) from None


def write_log(directory: Path, log: CampaignLog) -> None:
    """Write ``campaign.json``, atomically."""
    path = folder(directory, log.campaign) / "campaign.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(vars(log), indent=1) + "\n")


def part_name(campaign: str, visit_id: str, taken: Iterable[str]) -> str:
    """Name of a new part of the store: campaign and visit, numbered where it is visited again."""
    name = base = f"{campaign}~{visit_id}"
    known, number = set(taken), 1
    while name in known:
        number += 1
        name = f"{base}~{number}"
    return name


def campaign_of(part: str) -> str:
    """Id of the campaign that wrote a part; empty for imported and older parts."""
    head, separator, _ = part.partition("~")
    return head if separator else ""
