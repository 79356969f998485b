"""Measure a simulated fleet: planning time, overhead of a job, and kills that lose nothing.

    python tests/fleet/simulated_campaign.py --hosts 300 --rounds 10 --at-once 8 --kills 3

As root: each host is an empty network namespace. The figures of docs/fleet.md come from it.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simulated_fleet import STUDY, holds, job_argv, overlaps, simulated_hosts

from netlab.fleet.controller import FleetOptions, run_fleet
from netlab.fleet.events import read_events
from netlab.fleet.pairs import pairs_of
from netlab.fleet.plan import FleetPlan, make_plan, read_plan
from netlab.fleet.workflow import engine_argv, write_workflow
from netlab.study import load


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("hosts", 300), ("rounds", 4), ("at-once", 8), ("kills", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", default="0.05", help="duration of a run")
    parser.add_argument("--pairs", default="ring")
    parser.add_argument("--plan-only", action="store_true")
    parser.add_argument("--controller", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["SIMULATED_S"] = given.seconds
    if given.controller:
        plan = read_plan(Path(given.controller))
        run_fleet(plan, FleetOptions(given.at_once, retry_s=0), job_argv=job_argv(plan))
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        simulated_hosts(0 if given.plan_only else given.hosts, names=given.hosts) as inventory,
    ):
        directory = Path(folder)
        (directory / "study.yml").write_text(STUDY.format(rounds=given.rounds))
        began_s = time.monotonic()
        plan = make_plan(
            load(directory / "study.yml"), inventory, pairs_of(inventory, given.pairs), directory
        )
        count = len(plan.jobs)
        planned_s = time.monotonic() - began_s
        write_workflow(plan, plan.jobs, at_once=given.at_once, number=1, job_argv=job_argv(plan))
        written_s = time.monotonic() - began_s - planned_s
        print(f"{count} jobs: planned in {planned_s:.2f} s, written in {written_s:.2f} s")
        began_s = time.monotonic()
        subprocess.run((*engine_argv(plan.folder), "-n"), check=True, capture_output=True)
        print(f"Snakemake's dry run: {time.monotonic() - began_s:.1f} s")
        if not given.plan_only:
            campaign(plan, given)


def campaign(plan: FleetPlan, given: argparse.Namespace) -> None:
    """Run the whole plan, killing the controller at random moments."""
    argv = (sys.executable, __file__, "--controller", str(plan.directory))
    argv += ("--at-once", str(given.at_once), "--seconds", given.seconds)
    count, generator, kills = len(plan.jobs), random.Random(2003), given.kills
    at = sorted(generator.sample(range(count), kills))
    began_s = time.monotonic()
    for moment in [*at, count]:
        process = subprocess.Popen(argv, start_new_session=True)
        while process.poll() is None and (moment == count or done(plan) < moment):
            time.sleep(0.5)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
    wall_s = time.monotonic() - began_s
    found = holds(plan)
    jobs = {hold["job"] for hold in found}
    print(
        f"{count} jobs, {given.at_once} at once, {kills} kill -9: {wall_s:.0f} s, "
        f"{1e3 * wall_s / count:.0f} ms a job; lost {count - len(jobs)}, "
        f"not done {len(list(plan.remaining()))}, twice {len(found) - len(jobs)}, "
        f"overlapping {len(overlaps(found))}"
    )
    if not kills:  # a controller that is killed does not account for its children
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{1e3 * (used.ru_utime + used.ru_stime) / count:.0f} ms of CPU time a job")


def done(plan: FleetPlan) -> int:
    """Jobs done so far."""
    return sum(event["event"] == "job_done" for event in read_events(plan.folder))


if __name__ == "__main__":
    main()
