"""A job of a simulated fleet: agents and leases are real, the run is a sleep.

Each host is a network namespace, ``label netns``. A job appends the time that it has both hosts to
``holds.jsonl``. With a directory alone this is the controller of the plan there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from netlab.core import gensink_path
from netlab.errors import HostError
from netlab.files.writing import replaced
from netlab.fleet.controller import FleetOptions, run_fleet
from netlab.fleet.job import main
from netlab.fleet.plan import FleetJob, FleetPlan, JobOutcome, read_plan
from netlab.hosts.lease import HostLease


def job_argv(plan: FleetPlan) -> tuple[str, ...]:
    """The command of a job, before pair and visits."""
    return sys.executable, __file__, str(plan.directory)


def held(host: str, netns: str, folder: Path, lease: HostLease, stack: ExitStack) -> None:
    """Start the agent of a host and take its lease, until the stack closes."""
    words = ("nsenter", f"--net=/run/netns/{netns}", str(gensink_path()), "agent")
    process = stack.enter_context(
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    )

    def ask(line: str) -> dict:
        process.stdin.write(line.encode())
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    ready = json.loads(process.stdout.readline())
    if ready["event"] != "ready":
        raise HostError(host, f"{ready['message']} ({ready['code']})", code="E-RUN-006")
    answer = ask(
        f"lease controller={lease.controller} number={lease.number} directory={folder / 'leases'}\n"
    )
    if answer["event"] != "lease":
        raise HostError(host, answer["message"], code="E-HOST-042")


def measure(plan: FleetPlan, job: FleetJob, lease: HostLease) -> JobOutcome:
    """Have both hosts for the time of the visit."""
    with ExitStack() as stack:
        for host in sorted(job.pair):
            (plan.folder / "leases").mkdir(mode=0o700, exist_ok=True)
            held(host, plan.hosts[host].labels["netns"], plan.folder, lease, stack)
        began_s = time.time()
        time.sleep(job.visit.seconds)
        hold = {"job": job.job_id, "hosts": job.pair, "began_s": began_s, "ended_s": time.time()}
        fd = os.open(plan.folder / "holds.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, f"{json.dumps(hold)}\n".encode())
        os.close(fd)
        part_B = int(os.environ.get("SIMULATED_PART_B", "0"))
        with replaced(plan.directory / f"{job.visit.visit_id}.part") as partial:
            partial.write_bytes(bytes(part_B))
    return JobOutcome(measured=job.visit.runs)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        planned = read_plan(Path(sys.argv[1]))
        run_fleet(planned, FleetOptions(at_once=3, retry_s=0), job_argv=job_argv(planned))
    else:
        sys.exit(main(measure=measure))
