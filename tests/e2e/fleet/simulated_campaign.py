"""Measure a simulated fleet: planning time, overhead of a job, and kills that lose nothing.

    python tests/e2e/fleet/simulated_campaign.py    # 300 hosts, 10,200 jobs, 3 kills
    python tests/e2e/fleet/simulated_campaign.py --plan-only --rounds 34 --blocks 10   # 102,000

As root: each host is an empty network namespace. The figures of docs/fleet.md come from it.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from simulated_fleet import holds, job_argv, overlaps, simulated_hosts, study_text

from netlab.fleet.controller import FleetOptions, fleet_status, run_fleet
from netlab.fleet.events import read_events
from netlab.fleet.inventory import pairs_of
from netlab.fleet.plan import (
    BATCH_S,
    FleetPlan,
    batches,
    engine_argv,
    make_plan,
    read_plan,
    write_workflow,
)
from netlab.study import load

PR_SET_CHILD_SUBREAPER = 36
DEFAULTS = {"hosts": 300, "rounds": 2, "blocks": 17, "at-once": 8, "kills": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in DEFAULTS.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", default="0.05", help="duration of a run")
    parser.add_argument("--batch-s", type=float, default=BATCH_S)
    parser.add_argument("--pairs", default="ring")
    parser.add_argument("--plan-only", action="store_true")
    parser.add_argument("--controller", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["SIMULATED_S"] = given.seconds
    if given.controller:
        plan = read_plan(Path(given.controller))
        options = FleetOptions(given.at_once, retry_s=0, batch_s=given.batch_s)
        run_fleet(plan, options, job_argv=job_argv(plan))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # remove the namespaces
    with (
        tempfile.TemporaryDirectory() as folder,
        simulated_hosts(0 if given.plan_only else given.hosts, names=given.hosts) as inventory,
    ):
        directory = Path(folder)
        (directory / "study.yml").write_text(study_text(given.rounds, given.blocks))
        study, pairs = load(directory / "study.yml"), pairs_of(inventory, given.pairs)
        plan = planned(given, lambda: make_plan(study, inventory, pairs, directory))
        if not given.plan_only:
            campaign(plan, given)


def planned(given: argparse.Namespace, make) -> FleetPlan:
    """The plan; print how long it and its workflow take."""
    moments = [time.monotonic()]
    plan = make()
    count = len(plan.jobs)
    moments.append(time.monotonic())
    left = list(plan.remaining())
    made = batches(plan, left, given.batch_s)
    options = {"at_once": given.at_once, "batch_s": given.batch_s, "job_argv": job_argv(plan)}
    write_workflow(plan, left, number=1, **options)
    moments.append(time.monotonic())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run((*engine_argv(plan.folder), "-n"), check=True, capture_output=True)
    moments.append(time.monotonic())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    fleet_status(plan)
    moments.append(time.monotonic())
    took = [later - earlier for earlier, later in pairwise(moments)]
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{count} jobs of {len(plan.pairs)} pairs in {len(made)} batches: planned in "
        f"{took[0]:.2f} s, workflow {took[1]:.2f} s, Snakemake's dry run {took[2]:.1f} s "
        f"({cpu_s:.1f} s of CPU time, {after.ru_maxrss / 2**20:.2f} GiB), status {took[3]:.2f} s",
        flush=True,
    )
    return plan


def campaign(plan: FleetPlan, given: argparse.Namespace) -> None:
    """Run the whole plan, killing the controller at random moments."""
    # processes whose parent is killed become children of this one, so that their time counts
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    argv = (sys.executable, __file__, "--controller", str(plan.directory))
    argv += ("--at-once", str(given.at_once), "--seconds", given.seconds)
    argv += ("--batch-s", str(given.batch_s))
    count, generator, kills = len(plan.jobs), random.Random(2003), given.kills
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.monotonic()
    for moment in [*sorted(generator.sample(range(count), kills)), count]:
        process = subprocess.Popen(argv, start_new_session=True)
        while process.poll() is None and (moment == count or done(plan) < moment):
            time.sleep(2.0)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            print(f"killed after {done(plan)} jobs", flush=True)
        process.wait()
    reap()
    wall_s = time.monotonic() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = holds(plan)
    jobs = {hold["job"] for hold in found}
    finished = [event["job"] for event in read_events(plan.folder) if event["event"] == "job_done"]
    slept_s = sum(hold["ended_s"] - hold["began_s"] for hold in found)
    print(
        f"{count} jobs, {given.at_once} at once, {kills} kill -9: {wall_s:.0f} s\n"
        f"lost {count - len(jobs)}, not done {len(list(plan.remaining()))}, done twice "
        f"{len(finished) - len(set(finished))}, begun twice {len(found) - len(jobs)}, "
        f"overlapping {len(overlaps(found))}\n"
        f"overhead of a job: {1e3 * (given.at_once * wall_s - slept_s) / count:.0f} ms of a slot "
        f"of {given.at_once}, {1e3 * (wall_s - slept_s / given.at_once) / count:.0f} ms of the "
        f"campaign, {1e3 * cpu_s / count:.0f} ms of CPU time"
    )


def reap() -> None:
    """Wait for all children."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def done(plan: FleetPlan) -> int:
    """Jobs done so far."""
    return sum(event["event"] == "job_done" for event in read_events(plan.folder))


if __name__ == "__main__":
    main()
