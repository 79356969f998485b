"""``netlab fleet plan | run``: one study over many pairs of hosts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from netlab.cli import options
from netlab.files import paths
from netlab.fleet.controller import FleetOptions, controlling, open_campaign, run_fleet
from netlab.fleet.inventory import load_inventory
from netlab.fleet.pairs import pairs_of, rounds_of
from netlab.fleet.plan import FleetPlan, make_plan
from netlab.fleet.status import fleet_status
from netlab.fleet.workflow import require_engine, write_workflow
from netlab.results.flags import PAGE
from netlab.study import Study


def plan_fleet(batch_s: float, **asked: Any) -> None:
    plan = _planned(**asked)
    left = list(plan.remaining())
    with controlling(plan.directory):
        number = open_campaign(plan, FleetOptions())["number"]
        at_once = _at_once(plan, None)
        folder = write_workflow(plan, left, at_once=at_once, number=number, batch_s=batch_s)
    runs = sum(job.visit.runs for job in plan.jobs)
    matches = len(rounds_of(plan.pairs))
    turns = max(matches, -(-len(plan.pairs) // at_once))
    least_s = sum(visit.seconds for visit in plan.visits) * turns
    duration = f"{least_s / 60:.0f} min" if least_s >= 30 else f"{least_s:.0f} s"
    bound = "at least" if plan.study().precision is None else "up to"
    options.note(
        f"{len(plan.pairs)} pairs of {len(plan.hosts)} hosts in {matches} rounds without a common "
        f"host; {len(plan.jobs)} jobs of {runs} runs, {len(left)} jobs left; {bound} {duration} of "
        "measuring"
    )
    click.echo(folder)


def run(at_once: int | None, **asked: Any) -> None:
    require_engine()
    given = {name: asked.pop(name) for name in ("attempts", "skip_after", "retry_s", "batch_s")}
    plan = _planned(**asked)
    chosen = FleetOptions(_at_once(plan, at_once), **given)
    console = Console(stderr=True, markup=False, highlight=False)
    # Without a thread of its own: the engine is forked meanwhile.
    with Live(console=console, auto_refresh=False, transient=True) as line:
        done = run_fleet(
            plan,
            chosen,
            say=lambda text: console.print(f"netlab: {text}", soft_wrap=True),
            watch=lambda: line.update(Text(fleet_status(plan).sentence), refresh=True),
        )
    click.echo(plan.directory)
    options.note(f"{done} of {len(plan.jobs)} jobs have a result")
    if (now := fleet_status(plan)).flagged:
        text = f"{now.flagged} of {now.runs} runs are flagged"
        options.note(f"{text}; {PAGE} says what to do about each")
    if done < len(plan.jobs):
        options.note("`netlab fleet status` has the reasons; run again to go on")
        sys.exit(1)


def _planned(
    study: Study,
    inventory: Path,
    format_: Any,
    pairs: str,
    only: tuple[str, ...],
    results: Path | None,
) -> FleetPlan:
    hosts = load_inventory(inventory, format=format_).only(only)
    directory = results or paths.results_dir(study.name)
    chosen = pairs_of(hosts, pairs)
    with controlling(directory):
        return make_plan(study, hosts, chosen, directory)


def _at_once(plan: FleetPlan, given: int | None) -> int:
    return given or max(1, min(8, len(plan.hosts) // 2))
