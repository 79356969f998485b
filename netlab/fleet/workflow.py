"""The workflow of a fleet for Snakemake: jobs, their order, and a limit for every host."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from netlab.errors import NetlabError
from netlab.files.writing import write_text
from netlab.files.yaml_file import yaml_text
from netlab.fleet.batches import BATCH_S, batches
from netlab.fleet.plan import DONE, FleetJob, FleetPlan, pair_id

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
