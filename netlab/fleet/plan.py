"""The plan of a fleet: pairs, visits and their order; and its workflow for Snakemake."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from pydantic import TypeAdapter

import netlab.version
from netlab.errors import BadInput, NetlabError, why
from netlab.files.writing import read_json, write_json, write_text
from netlab.files.yaml_file import validated, yaml_text
from netlab.fleet.inventory import FleetHost, Inventory, Pair, rounds_of
from netlab.study import Study, load_stored
from netlab.study.file import freeze, frozen_text
from netlab.study.schedule import rounds, run_s

# The study of a fleet: a study of one path, whose two hosts stand for those of any pair.

PairEnds = tuple[tuple[str, str], tuple[str, str]]
"""Data address and interface of the first and the second host of a pair."""


def check_template(study: Study) -> None:
    """Refuse a study that cannot be measured on other hosts than its own."""
    if len(study.paths) != 1 or len(study.hosts) != 2:
        raise BadInput(
            "a fleet takes a study of one path and two hosts, which stand for those of each pair",
            where=study.name,
            key="paths",
            value=len(study.paths),
            code="E-FLEET-023",
        )
    (path,) = study.paths.values()
    if path.link is not None or any("+" in link for link in study.links):
        text = "only a lab has links that netlab makes; leave the link out"
        raise BadInput(text, where=study.name, key="paths", code="E-FLEET-024")
    if study.outer:
        text = "a fleet has no factors that a person sets between runs"
        raise BadInput(text, where=study.name, key="outer", code="E-FLEET-025")
    if study.precision is not None and study.precision.budget is not None:
        text = "a fleet has no budget of time; give max_rounds"
        raise BadInput(text, where=study.name, key="precision.budget", code="E-FLEET-026")


def pair_study(
    study: Study, pair: Pair, hosts: tuple[FleetHost, FleetHost], ends: PairEnds
) -> Study:
    ((name, path),) = study.paths.items()
    roles = [end.host for end in path.ends]
    named = dict(zip(roles, pair, strict=True))
    content = study.model_dump(mode="python")
    content["hosts"] = {
        named[role]: host.ssh(named[role]).model_dump()
        | {key: content["hosts"][role][key] for key in ("profiles", "bus")}
        for role, host in zip(roles, hosts, strict=True)
    }
    content["paths"][name]["ends"] = tuple(
        {"host": host, "address": address, "interface": interface}
        for host, (address, interface) in zip(pair, ends, strict=True)
    )
    for group in content["groups"]:
        group["sender"] = named[group["sender"]]
    return validated(Study, content, f"{study.name} for {pair[0]} and {pair[1]}")


# The plan of a fleet: pairs, visits and their order, in files that a job can start from.

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


# Batches of a fleet: short jobs of one pair in one round, which one process makes in turn.
#
# To start a process, Python and Snakemake's part take as long as a short job. A batch never has two
# rounds of the study, so that two values of a cell stay as far apart as in its schedule.

BATCH_S = 60.0
MOST = 100
"""Jobs of a batch: all their names are arguments of one command."""


@dataclass(frozen=True)
class Batch:
    pair: Pair
    number: int
    visits: tuple[FleetVisit, ...]
    after: tuple[str, ...]

    @property
    def batch_id(self) -> str:
        """Pair and number: ``a~b/3``."""
        return f"{pair_id(self.pair)}/{self.number}"


def batches(
    plan: FleetPlan, jobs: Iterable[FleetJob], batch_s: float = BATCH_S
) -> tuple[Batch, ...]:
    wanted = {(job.pair, job.visit) for job in jobs}
    pairs = [pair for each in rounds_of(plan.pairs) for pair in each]
    last: dict[str, str] = {}
    all_batches = []
    for number, part in enumerate(_parts(plan.visits, batch_s)):
        for pair in pairs:
            if visits := tuple(visit for visit in part if (pair, visit) in wanted):
                after = dict.fromkeys(last[name] for name in pair if name in last)
                batch = Batch(pair, number, visits, tuple(after))
                last |= dict.fromkeys(pair, batch.batch_id)
                all_batches.append(batch)
    return tuple(all_batches)


def _parts(visits: Iterable[FleetVisit], batch_s: float) -> Iterator[list[FleetVisit]]:
    """Consecutive visits of one round that take at most the time of a batch."""
    for _, of_round in groupby(visits, key=lambda visit: visit.round):
        part: list[FleetVisit] = []
        for visit in of_round:
            long = sum(each.seconds for each in part) + visit.seconds > batch_s
            if part and (long or len(part) == MOST):
                yield part
                part = []
            part.append(visit)
        yield part


# The workflow of a fleet for Snakemake: jobs, their order, and a limit for every host.

BATCHES = "batches"
"""Folder with an empty file for each batch that Snakemake has made."""

SCHEDULER_SUBSAMPLE = 1000
"""Jobs that a pass of the scheduler considers; more take minutes."""

SNAKEFILE = """\
# Written by netlab; `netlab fleet run` writes it anew. `snakemake` in this folder runs it, too:
# profiles/default has the limits, without which Snakemake ignores the resources of jobs.
configfile: "workflow.json"

missing = set().union(*config["pairs"].values()) - set(workflow.global_resources)
if missing:
    raise WorkflowError(f"{len(missing)} hosts have no limit; use profiles/default")

def before(batch):
    return [ancient(f"batches/{other}") for other in config["batches"][batch]["after"]]

def visits(batch):
    return [config["visits"][number] for number in config["batches"][batch]["visits"]]

rule all:
    default_target: True
    input: [f"batches/{batch}" for batch in config["batches"]]

for pair, hosts in config["pairs"].items():
    rule:
        name: f"pair_{hosts[0]}_{hosts[1]}"
        output: f"batches/{pair}/{{number}}"
        wildcard_constraints: number="[0-9]+"
        input: lambda wildcards, pair=pair: before(f"{pair}/{wildcards.number}")
        params:
            job=config["job"],
            pair=pair,
            visits=lambda wildcards, pair=pair: visits(f"{pair}/{wildcards.number}"),
        resources: **{host: 1 for host in hosts}
        shell:
            "exec {params.job:q} --mark {output:q} --parent $PPID {params.pair:q} {params.visits:q}"
"""


def require_engine() -> None:
    if importlib.util.find_spec("snakemake") is None:
        raise NetlabError(
            "a fleet runs on Snakemake 9, which is not installed: pip install 'netlab[fleet]', or "
            "`uv sync --extra fleet` in a checkout",
            code="E-FLEET-032",
        )


def resource(plan: FleetPlan) -> dict[str, str]:
    """Host -> name of its resource, which Snakemake takes without dots and dashes."""
    return {
        name: f"host_{number}_{re.sub('[^A-Za-z0-9]', '_', name)}"
        for number, name in enumerate(plan.hosts)
    }


def write_workflow(
    plan: FleetPlan,
    jobs: Sequence[FleetJob],
    *,
    at_once: int,
    number: int,
    batch_s: float = BATCH_S,
    job_argv: Sequence[str] | None = None,
) -> Path:
    folder, names = plan.folder, resource(plan)
    argv = job_argv or (sys.executable, "-m", "netlab.fleet.job", str(plan.directory))
    at = {visit: position for position, visit in enumerate(plan.visits)}
    content = {
        "job": [*argv, "--lease", str(number)],
        "pairs": {pair_id(j.pair): [names[host] for host in j.pair] for j in jobs},
        "visits": [visit.visit_id for visit in at],
        "batches": {
            batch.batch_id: {"visits": [at[v] for v in batch.visits], "after": batch.after}
            for batch in batches(plan, jobs, batch_s)
        },
    }
    for job in jobs:
        plan.done_file(job.job_id).unlink(missing_ok=True)
    shutil.rmtree(folder / BATCHES, ignore_errors=True)
    write_text(folder / "workflow.json", json.dumps(content))
    write_text(folder / "Snakefile", SNAKEFILE)
    for name in (DONE, BATCHES):
        (folder / name).mkdir(exist_ok=True)
    profile = {
        "cores": at_once,
        "resources": dict.fromkeys(names.values(), 1),
        "scheduler": "greedy",
        "scheduler-subsample": SCHEDULER_SUBSAMPLE,
        "keep-going": True,
        "rerun-incomplete": True,
        "rerun-triggers": ["mtime"],
        "nolock": True,  # the controller has a lock, which dies with it
        "latency-wait": 0,
    }
    write_text(folder / "profiles" / "default" / "config.yaml", yaml_text(profile))
    return folder


def engine_argv(folder: Path) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "snakemake", "--snakefile", str(folder / "Snakefile")),
        *("--directory", str(folder), "--workflow-profile", str(folder / "profiles" / "default")),
        *("--nocolor", "--quiet", "progress", "rules"),
    )
