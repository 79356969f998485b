"""The record of a campaign in a directory of results: its study, its log and its valid runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import netlab.version
from netlab import core
from netlab.errors import BadInput, NetlabError
from netlab.experiment.conditions import conditions_of
from netlab.experiment.found_facts import host_facts
from netlab.experiment.path_bus import contradiction
from netlab.experiment.request import VisitRequest
from netlab.files.locks import take
from netlab.files.reading import open_regular
from netlab.files.recorded_facts import EndFacts
from netlab.lab.lab import Lab
from netlab.results import campaign_files
from netlab.results.campaign_files import CampaignLog, Conditions
from netlab.results.conditions import changes, left_out
from netlab.results.store import Store
from netlab.study import Study
from netlab.study.factors import Levels
from netlab.study.frozen import freeze, frozen_text
from netlab.study.schedule import Visit, visits
from netlab.version import version


@dataclass
class CampaignRecord:
    study: Study
    directory: Path
    log: CampaignLog
    kept: frozenset[str]
    conditions: Conditions = field(default_factory=Conditions)
    anew: str = ""
    """The reason why records of the campaign before do not count; empty if none is left out."""
    _parts: set[str] = field(default_factory=set)

    @property
    def store(self) -> Store:
        return Store(self.directory)

    @property
    def study_file(self) -> Path:
        return campaign_files.folder(self.directory, self.log.campaign) / "study.yml"

    def new_part(self, visit: Visit) -> str:
        name = campaign_files.part_name(self.log.campaign, visit.visit_id, self._parts)
        self._parts.add(name)
        return name

    def request(self, visit: Visit, *, lab: Lab | None = None, wait_s: float = 0.0) -> VisitRequest:
        """The request of a visit of this campaign, with a new part of the store."""
        return VisitRequest(
            study=str(self.study_file),
            block_id=visit.block_id,
            round_number=visit.round,
            results=str(self.directory),
            runs=[run.run_id for run in visit.runs],
            part=self.new_part(visit),
            lab=lab.id if lab is not None else "",
            wait_s=wait_s,
        )

    def expect(self, run_id: str, key: str, *, cell_key: str) -> None:
        """Plan a run that the schedule does not have: records of it count if they have the key.

        It stands while its cell, whose key is given, is measured under these conditions.
        """
        trials = self.conditions.trials.get(cell_key, {})
        if trials.get(run_id) != key:
            changed = {**self.conditions.trials, cell_key: {**trials, run_id: key}}
            self.conditions = replace(self.conditions, trials=changed)
            campaign_files.write_conditions(self.directory, self.log.campaign, self.conditions)

    def note_look(self, look: dict[str, int]) -> None:
        """Add a look to the log; one after the same round takes its place."""
        before = tuple(one for one in self.log.looks if one["round"] != look["round"])
        self.log = replace(self.log, looks=(*before, look))
        campaign_files.write_log(self.directory, self.log)


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with open_regular(directory / ".lock", "a+b") as lock:
        holder = take(lock.fileno())
        if holder is not None:
            raise NetlabError(
                f"another netlab is measuring into {directory}: {holder}", code="E-RUN-002"
            )
        yield


def check_study(study: Study, directory: Path) -> None:
    """Refuse a directory with results of another study, such as the short form of this one."""
    last = campaign_files.latest(directory)
    if last is None:
        return
    stored = campaign_files.read_log(directory, last).study
    if stored != study.name:
        raise BadInput(
            f"holds results of {stored!r}; choose another directory for those of {study.name!r}",
            where=str(directory),
            key="results",
            code="E-RUN-016",
        )


def open_record(
    study: Study,
    directory: Path,
    facts: Mapping[str, Mapping[str, EndFacts]],
    lab: Lab | None,
    *,
    outer: Levels = (),
    now: datetime | None = None,
) -> CampaignRecord:
    """Go on with the latest campaign if it measures the same study under the same conditions.

    Otherwise begin a new one. Every record whose key is that of its run now counts in it, whichever
    campaign made it. Links that are not in `facts` stay under the conditions last found. Nothing in
    the directory is changed or removed.
    """
    store = Store(directory)
    key = _digest([frozen_text(study), netlab.version.RELEASE, core.source_digest()])
    last = campaign_files.latest(directory)
    log = campaign_files.read_log(directory, last) if last is not None else None
    before = campaign_files.read_conditions(directory, last)
    records = store.every_record()  # before anything is written: some may be of a newer netlab
    conditions = conditions_of(study, facts, lab, outer, before or Conditions())
    changed = before is None or any(
        before.keys.get(cell, now_key) != now_key for cell, now_key in conditions.keys.items()
    )
    anew = ""
    if log is None or log.key != key or changed:
        if before is not None and changed:
            anew = changes(before, conditions) or "another study file"
        now = now or datetime.now(UTC)
        log = CampaignLog(
            campaign=campaign_files.new_id(directory, now),
            key=key,
            started_at=now.isoformat(timespec="seconds"),
            study=study.name,
            study_digest=study.digest(),
            version=version(),
            rule="conditions",
        )
        freeze(study, campaign_files.folder(directory, log.campaign))
    # first, since a campaign without conditions is read as one of an older netlab
    campaign_files.write_conditions(directory, log.campaign, conditions)
    # hosts that are not measured now stay as before; of several links of a host one may tell
    texts = dict(log.contradictions)
    for host in {host: None for path in facts.values() for host in path}:
        found = (contradiction(study, host, path[host]) for path in facts.values() if host in path)
        texts[host] = next(filter(None, found), "")
    log = replace(log, contradictions={host: text for host, text in texts.items() if text})
    campaign_files.write_log(directory, log)
    asked = (v for v in visits(study) if v.outer == outer and v.link in facts)
    kept = store.valid_runs(log.campaign, records) & {
        run.run_id for visit in asked for run in visit.runs
    }
    if last is not None and before is None and left_out(store, log.campaign):
        anew = "an older netlab measured them"
    return CampaignRecord(study, directory, log, kept, conditions, anew, set(store.parts()))


def open_visit(
    study: Study, visit: Visit, directory: Path, lab: Lab | None = None
) -> tuple[CampaignRecord, Visit]:
    """The record of a campaign, opened for one visit, and the visit with its missing runs.

    The caller has the lock of the directory, :func:`netlab.experiment.campaign_record.exclusive`.
    """
    check_study(study, directory)
    facts = host_facts(study, lab=lab, only=visit.link)
    record = open_record(study, directory, facts, lab, outer=visit.outer)
    return record, visit.only({run.run_id for run in visit.runs} - record.kept)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
