"""A job of a simulated fleet: agents and leases are real, the run is a sleep.

Each host is a network namespace, ``label netns``. A job appends the time that it has both hosts to
``holds.jsonl``. A host with the label ``dead`` fails.
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
from netlab.fleet.job import JobOutcome, main
from netlab.fleet.plan import FleetJob, FleetPlan
from netlab.hosts.agent import HostLease


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
            labels = plan.hosts[host].labels
            if "dead" in labels:
                raise HostError(host, "is dead", code="E-HOST-011")
            (plan.folder / "leases").mkdir(mode=0o700, exist_ok=True)
            held(host, labels["netns"], plan.folder, lease, stack)
        began_s = time.time()
        time.sleep(float(os.environ.get("SIMULATED_S", job.visit.seconds)))
        hold = {"job": job.job_id, "hosts": job.pair, "began_s": began_s, "ended_s": time.time()}
        fd = os.open(plan.folder / "holds.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, f"{json.dumps(hold)}\n".encode())
        os.close(fd)
    return JobOutcome(measured=job.visit.runs)


if __name__ == "__main__":
    sys.exit(main(measure=measure))
