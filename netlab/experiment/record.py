"""The record of a campaign in a directory of results: its study, its log and its valid runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import netlab
from netlab import core
from netlab.errors import BadInput, NetlabError
from netlab.experiment.endpoint import host_facts
from netlab.experiment.path_bus import contradiction
from netlab.experiment.visit import context_of, stable_facts
from netlab.files.lock import take
from netlab.lab.lab import Lab
from netlab.results import Store, campaigns
from netlab.results.campaigns import CampaignLog
from netlab.study import Study
from netlab.study.factors import Levels, id_part
from netlab.study.frozen import freeze, frozen_text
from netlab.study.schedule import Visit, provenance_key, visits
from netlab.version import version


@dataclass
class CampaignRecord:
    """An open campaign."""

    study: Study
    directory: Path
    log: CampaignLog
    kept: frozenset[str]
    _parts: set[str] = field(default_factory=set)

    @property
    def store(self) -> Store:
        """The records in the directory."""
        return Store(self.directory)

    @property
    def study_file(self) -> Path:
        """The study as this campaign measures it."""
        return campaigns.folder(self.directory, self.log.campaign) / "study.yml"

    def new_part(self, visit: Visit) -> str:
        """Name of the part of the store for a visit; each call gives another."""
        name = campaigns.part_name(self.log.campaign, visit.visit_id, self._parts)
        self._parts.add(name)
        return name

    def note_look(self, look: dict[str, int]) -> None:
        """Add a look to the log; one after the same round takes its place."""
        before = tuple(one for one in self.log.looks if one["round"] != look["round"])
        self.log = replace(self.log, looks=(*before, look))
        campaigns.write_log(self.directory, self.log)


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Lock the results directory against a second campaign."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "a+b") as lock:
        holder = take(lock.fileno())
        if holder is not None:
            raise NetlabError(
                f"another netlab is measuring into {directory}: {holder}", code="E-RUN-002"
            )
        yield


def check_study(study: Study, directory: Path) -> None:
    """Refuse a directory with results of another study, such as the short form of this one."""
    last = campaigns.latest(directory)
    if last is None:
        return
    there = campaigns.read_log(directory, last).study
    if there != study.name:
        raise BadInput(
            f"holds results of {there!r}; choose another directory for those of {study.name!r}",
            where=str(directory),
            key="results",
            code="E-RUN-016",
        )


def open_record(
    study: Study,
    directory: Path,
    facts: dict[str, dict[str, dict]],
    lab: Lab | None,
    *,
    outer: Levels = (),
    now: datetime | None = None,
) -> CampaignRecord:
    """Go on with the latest campaign if it measures the same study under the same conditions.

    Otherwise begin a new one, which adopts every valid record of a run made under the same
    provenance. Nothing in the directory is changed or removed.
    """
    store = Store(directory)
    key = _key(study)
    hosts = {
        f"{host}{id_part(outer, ' ')}": _digest(stable_facts(found))
        for path in facts.values()
        for host, found in path.items()
    }
    last = campaigns.latest(directory)
    log = campaigns.read_log(directory, last) if last is not None else None
    if log is None or log.key != key or any(log.hosts.get(h, d) != d for h, d in hosts.items()):
        now = now or datetime.now(UTC)
        log = CampaignLog(
            campaign=campaigns.new_id(directory, now),
            key=key,
            started_at=now.isoformat(timespec="seconds"),
            study=study.name,
            study_digest=study.digest(),
            version=version(),
        )
        freeze(study, campaigns.folder(directory, log.campaign))
    kept, adopted = _valid(study, store, log, facts, lab, outer)
    log = replace(
        log,
        hosts={**log.hosts, **hosts},
        adopted=_merged(log.adopted, adopted),
        contradictions=_contradictions(study, log.contradictions, facts),
    )
    campaigns.write_log(directory, log)
    return CampaignRecord(study, directory, log, kept, set(store.parts()))


def open_visit(
    study: Study, visit: Visit, directory: Path, lab: Lab | None = None
) -> tuple[CampaignRecord, Visit]:
    """The record of a campaign, opened for one visit, and the visit with its missing runs.

    The caller has the lock of the directory, :func:`netlab.experiment.campaign.exclusive`.
    """
    check_study(study, directory)
    facts = host_facts(study, lab=lab, only=visit.link)
    record = open_record(study, directory, facts, lab, outer=visit.outer)
    return record, visit.only({run.run_id for run in visit.runs} - record.kept)


def _valid(
    study: Study,
    store: Store,
    log: CampaignLog,
    facts: dict[str, dict[str, dict]],
    lab: Lab | None,
    outer: Levels,
) -> tuple[frozenset[str], dict[str, list[str]]]:
    """Runs with a valid record, and those records of other campaigns by their parts."""
    records = store.records()
    good = records[records["flags"] == ""]
    if good.empty:
        return frozenset(), {}
    places = zip(good["part"], good["run_id"], strict=True)
    by_key = dict(zip(good["provenance_key"], places, strict=True))
    contexts: dict[str, dict] = {}
    kept: set[str] = set()
    adopted: dict[str, list[str]] = {}
    for visit in visits(study):
        if visit.outer != outer or visit.link not in facts:
            continue
        if visit.block_id not in contexts:
            contexts[visit.block_id] = context_of(study, visit, facts[visit.link], lab)
        for run in visit.runs:
            found = by_key.get(provenance_key(study, visit, run, contexts[visit.block_id]))
            if found is None or found[1] != run.run_id:
                continue
            kept.add(run.run_id)
            if campaigns.campaign_of(found[0]) != log.campaign:
                adopted.setdefault(found[0], []).append(run.run_id)
    return frozenset(kept), adopted


def _merged(
    before: Mapping[str, tuple[str, ...]], new: dict[str, list[str]]
) -> dict[str, tuple[str, ...]]:
    return {
        part: tuple(sorted({*before.get(part, ()), *new.get(part, ())}))
        for part in sorted({*before, *new})
    }


def _contradictions(
    study: Study, before: Mapping[str, str], facts: dict[str, dict[str, dict]]
) -> dict[str, str]:
    """Stated buses that hosts contradict; hosts that are not measured now stay as before."""
    ends = [(host, found) for link in facts.values() for host, found in link.items()]
    said = {host: text for host, text in before.items() if host not in dict(ends)}
    for host, found in ends:
        if text := contradiction(study, host, found):
            said[host] = text
    return said


def _key(study: Study) -> str:
    return _digest([frozen_text(study), netlab.__version__, core.source_digest()])


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
