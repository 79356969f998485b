"""The plan of a fleet: pairs, visits and their order, in files that a job can start from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import netlab
from netlab.errors import BadInput, NetlabError, why
from netlab.files.json_file import write_json
from netlab.fleet.inventory import FleetHost, Inventory
from netlab.fleet.pairs import Pair
from netlab.fleet.template import PairEnds, check_template
from netlab.study import Study, load_stored
from netlab.study.frozen import freeze, frozen_text
from netlab.study.schedule import rounds, run_s

FOLDER = "fleet"
FORMAT = 1
DONE, FAILED = "done", "failed"


def pair_id(pair: Pair) -> str:
    """Name of a pair for files; no host's name has a ``~``."""
    return "~".join(pair)


@dataclass(frozen=True)
class FleetVisit:
    """A visit of the study, which every pair makes."""

    block_id: str
    round: int
    runs: int
    seconds: float

    @property
    def visit_id(self) -> str:
        """Block and round, as in :class:`netlab.study.schedule.Visit`."""
        return f"{self.block_id}@r{self.round}"


@dataclass(frozen=True)
class FleetJob:
    """One visit of one pair."""

    pair: Pair
    visit: FleetVisit

    @property
    def job_id(self) -> str:
        """Pair and visit: ``a~b/cable@none@1500@r1``."""
        return f"{pair_id(self.pair)}/{self.visit.visit_id}"


@dataclass(frozen=True)
class FleetPlan:
    """The plan of a fleet in a directory of results."""

    directory: Path
    key: str
    hosts: dict[str, FleetHost]
    pairs: tuple[Pair, ...]
    visits: tuple[FleetVisit, ...]

    @property
    def folder(self) -> Path:
        """Folder of the plan, its workflow, its results of jobs and its log."""
        return self.directory / FOLDER

    def study(self) -> Study:
        """The study that the pairs share."""
        return load_stored(self.folder / "study.yml")

    @cached_property
    def jobs(self) -> tuple[FleetJob, ...]:
        """All jobs: visit after visit of the study, in each all pairs."""
        return tuple(FleetJob(pair, visit) for visit in self.visits for pair in self.pairs)

    def done_file(self, job_id: str) -> Path:
        """File of a job's result."""
        return self.folder / DONE / f"{job_id}.json"

    def pair_directory(self, pair: Pair) -> Path:
        """Directory of the results of a pair, as ``netlab run`` writes them."""
        return self.directory / "pairs" / pair_id(pair)

    def pair_key(self, pair: Pair) -> str:
        """Digest of what a job of a pair depends on: the study, and how its hosts are reached."""
        if pair not in self._keys:
            hosts = [self.hosts[name].model_dump(exclude={"groups", "labels"}) for name in pair]
            self._keys[pair] = _digest([self.key, hosts])
        return self._keys[pair]

    @cached_property
    def _keys(self) -> dict[Pair, str]:
        return {}

    def ends(self, pair: Pair) -> PairEnds | None:
        """Data addresses and interfaces of a pair; None if its hosts must be asked."""
        one, other = (self.hosts[name] for name in pair)
        if one.data_address and one.interface and other.data_address and other.interface:
            return (one.data_address, one.interface), (other.data_address, other.interface)
        return None

    def result(self, job: FleetJob) -> dict | None:
        """Result of a job under this plan; None without one."""
        try:
            found = json.loads(self.done_file(job.job_id).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if found.get("key") == self.pair_key(job.pair) else None

    def remaining(self) -> Iterator[FleetJob]:
        """Jobs without a valid result."""
        return (job for job in self.jobs if not self.is_done(job))

    def is_done(self, job: FleetJob) -> bool:
        """True if a job has a valid result."""
        return (self.result(job) or {}).get("status") == DONE

    def job(self, pair: str, visit: str) -> FleetJob:
        """A job by its pair and visit."""
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


def make_plan(
    study: Study, inventory: Inventory, pairs: Sequence[Pair], directory: Path
) -> FleetPlan:
    """Plan a study over pairs of hosts, and write the plan."""
    check_template(study)
    names = dict.fromkeys(name for pair in pairs for name in pair)
    visits = tuple(
        FleetVisit(
            visit.block_id, visit.round, len(visit.runs), sum(run_s(study, r) for r in visit.runs)
        )
        for each in rounds(study)
        for visit in each
    )
    key = _digest([frozen_text(study), netlab.__version__])
    hosts = {name: inventory.hosts[name] for name in names}
    plan = FleetPlan(directory.absolute(), key, hosts, tuple(pairs), visits)
    freeze(study, plan.folder)
    content = {
        "format": FORMAT,
        "key": key,
        "study": study.name,
        "hosts": {name: host.model_dump(mode="json") for name, host in hosts.items()},
        "pairs": [list(pair) for pair in pairs],
        "visits": [vars(visit) for visit in visits],
    }
    write_json(plan.folder / "plan.json", content)
    return plan


def read_plan(directory: Path) -> FleetPlan:
    """Read the plan of a directory of results."""
    path = directory / FOLDER / "plan.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, expected {FORMAT}")
        return FleetPlan(
            directory.absolute(),
            content["key"],
            {name: FleetHost.model_validate(host) for name, host in content["hosts"].items()},
            tuple((one, other) for one, other in content["pairs"]),
            tuple(FleetVisit(**visit) for visit in content["visits"]),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NetlabError(
            f"{path} cannot be read as the plan of a fleet: {why(error)}; run `netlab fleet plan`",
            code="E-FLEET-028",
        ) from None


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
