"""The plan of a fleet: pairs, visits and their order, in files that a job can start from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter

import netlab.version
from netlab.errors import BadInput, NetlabError, why
from netlab.files.bounded_json import read_json
from netlab.files.writing import write_json
from netlab.fleet.inventory import FleetHost, Inventory
from netlab.fleet.pair_study import PairEnds, check_template
from netlab.fleet.pairs import Pair
from netlab.study import Study, load_stored
from netlab.study.durations import run_s
from netlab.study.frozen import freeze, frozen_text
from netlab.study.schedule import rounds

FOLDER = "fleet"
FORMAT = 1
DONE, FAILED = "done", "failed"


def pair_id(pair: Pair) -> str:
    """Name of a pair for files; no host's name has a ``~``."""
    return "~".join(pair)


@dataclass(frozen=True)
class FleetVisit:
    block_id: str
    round: int
    runs: int
    seconds: float

    @property
    def visit_id(self) -> str:
        return f"{self.block_id}@r{self.round}"


@dataclass(frozen=True)
class FleetJob:
    pair: Pair
    visit: FleetVisit

    @property
    def job_id(self) -> str:
        """Pair and visit: ``a~b/cable@none@1500@r1``."""
        return f"{pair_id(self.pair)}/{self.visit.visit_id}"


@dataclass(frozen=True)
class JobOutcome:
    """Runs of a job: measured now, valid from before, and flagged."""

    measured: int = 0
    kept: int = 0
    flagged: int = 0


@dataclass(frozen=True)
class FleetPlan:
    directory: Path
    key: str
    hosts: dict[str, FleetHost]
    pairs: tuple[Pair, ...]
    visits: tuple[FleetVisit, ...]

    @property
    def folder(self) -> Path:
        return self.directory / FOLDER

    def study(self) -> Study:
        return load_stored(self.folder / "study.yml")

    @cached_property
    def jobs(self) -> tuple[FleetJob, ...]:
        """All jobs: visit after visit of the study, in each all pairs."""
        return tuple(FleetJob(pair, visit) for visit in self.visits for pair in self.pairs)

    def done_file(self, job_id: str) -> Path:
        return self.folder / DONE / f"{job_id}.json"

    def pair_directory(self, pair: Pair) -> Path:
        return self.directory / "pairs" / pair_id(pair)

    def pair_key(self, pair: Pair) -> str:
        """Digest of what a job of a pair depends on: the study, and how its hosts are reached."""
        return _digest([self.key, [self._reached[name] for name in pair]])

    @cached_property
    def _reached(self) -> dict[str, dict]:
        without = {"groups", "labels"}
        return {name: host.model_dump(exclude=without) for name, host in self.hosts.items()}

    def ends(self, pair: Pair) -> PairEnds | None:
        """Data addresses and interfaces of a pair; None if its hosts must be asked."""
        one, other = (self.hosts[name] for name in pair)
        if one.data_address and one.interface and other.data_address and other.interface:
            return (one.data_address, one.interface), (other.data_address, other.interface)
        return None

    def result(self, job: FleetJob) -> dict | None:
        """Result of a job under this plan; None without one."""
        try:
            content = read_json(self.done_file(job.job_id))
        except (OSError, ValueError):
            return None
        return content if content.get("key") == self.pair_key(job.pair) else None

    def remaining(self) -> Iterator[FleetJob]:
        return (job for job in self.jobs if not self.is_done(job))

    def is_done(self, job: FleetJob) -> bool:
        return (self.result(job) or {}).get("status") == DONE

    def job(self, pair: str, visit: str) -> FleetJob:
        pairs = {pair_id(each): each for each in self.pairs}
        visits = {each.visit_id: each for each in self.visits}
        if pair not in pairs or visit not in visits:
            raise BadInput(
                "the plan has no such job",
                where=str(self.folder),
                value=f"{pair}/{visit}",
                code="E-FLEET-027",
            )
        return FleetJob(pairs[pair], visits[visit])


PLAN = TypeAdapter(FleetPlan)


def make_plan(
    study: Study, inventory: Inventory, pairs: Sequence[Pair], directory: Path
) -> FleetPlan:
    check_template(study)
    visits = tuple(
        FleetVisit(
            visit.block_id, visit.round, len(visit.runs), sum(run_s(study, r) for r in visit.runs)
        )
        for each in rounds(study)
        for visit in each
    )
    key = _digest([frozen_text(study), netlab.version.RELEASE])
    hosts = {name: inventory.hosts[name] for pair in pairs for name in pair}
    plan = FleetPlan(directory.absolute(), key, hosts, tuple(pairs), visits)
    freeze(study, plan.folder)
    content = PLAN.dump_python(plan, mode="json", exclude={"directory"})
    write_json(plan.folder / "plan.json", {"format": FORMAT, **content})
    return plan


def read_plan(directory: Path) -> FleetPlan:
    path = directory / FOLDER / "plan.json"
    try:
        content = read_json(path)
        if content.get("format") != FORMAT:
            raise ValueError(f"format {content.get('format')}, expected {FORMAT}")
        return PLAN.validate_python({**content, "directory": directory.absolute()})
    except (OSError, ValueError) as error:
        raise NetlabError(
            f"{path} cannot be read as the plan of a fleet: {why(error)}; run `netlab fleet plan`",
            code="E-FLEET-028",
        ) from None


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
