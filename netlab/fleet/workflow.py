"""The workflow of a fleet for Snakemake: jobs, their order, and a limit for every host."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from netlab.errors import NetlabError
from netlab.files.json_file import write_json, write_text
from netlab.files.yaml_file import yaml_text
from netlab.fleet.plan import DONE, FleetJob, FleetPlan, pair_id

SCHEDULER_SUBSAMPLE = 1000
"""Jobs that a pass of the scheduler considers; more take minutes."""

SNAKEFILE = """\
# Written by netlab; `netlab fleet run` writes it anew. `snakemake` in this folder runs it, too:
# profiles/default has the limits, without which Snakemake ignores the resources of jobs.
configfile: "workflow.json"

missing = set().union(*config["pairs"].values()) - set(workflow.global_resources)
if missing:
    raise WorkflowError(f"{len(missing)} hosts have no limit; use profiles/default")

def before(job):
    return [ancient(f"done/{other}.json") for other in config["after"][job]]

rule all:
    default_target: True
    input: [f"done/{job}.json" for job in config["after"]]

for pair, hosts in config["pairs"].items():
    rule:
        name: f"pair_{hosts[0]}_{hosts[1]}"
        output: f"done/{pair}/{{visit}}.json"
        wildcard_constraints: visit="[^/]+"
        input: lambda wildcards, pair=pair: before(f"{pair}/{wildcards.visit}")
        params: job=config["job"], pair=pair
        resources: **{host: 1 for host in hosts}
        shell: "exec {params.job:q} {params.pair:q} {wildcards.visit:q} --parent $PPID"
"""


def require_engine() -> None:
    """Refuse to go on without Snakemake.

    Raises
    ------
    NetlabError
        It is not installed; the message says how to install it.
    """
    if importlib.util.find_spec("snakemake") is None:
        raise NetlabError(
            "a fleet runs on Snakemake 9, which is not installed: `uv sync --group fleet` in a "
            "checkout, or `pip install 'snakemake>=9,<10'` into netlab's environment",
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
    job_argv: Sequence[str] | None = None,
) -> Path:
    """Write the workflow of some jobs.

    Parameters
    ----------
    plan : FleetPlan
        What they belong to.
    jobs : sequence of FleetJob
        What is missing, as :meth:`FleetPlan.remaining` says; failed results of them are removed.
    at_once : int
        Jobs at a time.
    number : int
        Lease number of the campaign; a job refuses to start under another.
    job_argv : sequence of str, optional
        The command of a job, before its options, pair and visit.

    Returns
    -------
    Path
        Its folder.
    """
    folder, names = plan.folder, resource(plan)
    argv = job_argv or (sys.executable, "-m", "netlab.fleet.job", str(plan.directory))
    content = {
        "job": [*argv, "--lease", str(number)],
        "pairs": {pair_id(j.pair): [names[host] for host in j.pair] for j in jobs},
        "after": {job.job_id: list(job.after) for job in jobs},
    }
    for job in jobs:
        plan.done_file(job.job_id).unlink(missing_ok=True)
    write_json(folder / "workflow.json", content)
    write_text(folder / "Snakefile", SNAKEFILE)
    (folder / DONE).mkdir(exist_ok=True)
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
    """The command that runs the workflow of a folder."""
    return (
        *(sys.executable, "-m", "snakemake", "--snakefile", str(folder / "Snakefile")),
        *("--directory", str(folder), "--workflow-profile", str(folder / "profiles" / "default")),
        *("--nocolor", "--quiet", "progress", "rules"),
    )
