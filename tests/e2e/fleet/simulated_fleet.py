"""A simulated fleet: hosts are empty network namespaces, runs sleep, leases are real."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from netlab.fleet.inventory import Inventory
from netlab.fleet.plan import FleetPlan

JOB = str(Path(__file__).with_name("simulated_job.py"))
STUDY = """\
netlab: 1
name: simulated
title: Runs that sleep
hosts: {{left: {{kind: lab}}, right: {{kind: lab}}}}
paths: {{cable: {{ends: [{{host: left}}, {{host: right}}]}}}}
groups: [{{name: only, path: cable, sender: left}}]
tunings:
  - name: sack-off
    mtus_B: [{mtus}]
    knobs: [{{kind: sysctl, name: net.ipv4.tcp_sack, value: 0}}]
streams: [1]
timing: {{rounds: {rounds}, seconds: 0.05, warmup_s: 0.0}}
"""


def study_text(rounds: int, blocks: int = 1) -> str:
    """A study with so many blocks a round."""
    mtus = ", ".join(str(1500 + number) for number in range(blocks))
    return STUDY.format(rounds=rounds, mtus=mtus)


def job_argv(plan: FleetPlan) -> tuple[str, ...]:
    """The command of a job, before pair and visits."""
    return sys.executable, JOB, str(plan.directory)


@contextlib.contextmanager
def simulated_hosts(count: int, *, names: int = 0) -> Iterator[Inventory]:
    """So many network namespaces, as the hosts of an inventory that may name more."""
    labels = [f"h{number:03}" for number in range(max(count, names))]
    spaces = {name: f"nfs{os.getpid()}-{name}" for name in labels}
    made = []
    try:
        for space in list(spaces.values())[:count]:
            subprocess.run(("ip", "netns", "add", space), check=True)
            made.append(space)
        hosts = {name: {"labels": {"netns": space}} for name, space in spaces.items()}
        yield Inventory.model_validate({"hosts": hosts})
    finally:
        for space in made:
            subprocess.run(("ip", "netns", "del", space), check=True)


def holds(plan: FleetPlan) -> list[dict]:
    """Times in which jobs had their hosts, also those of jobs that were killed later."""
    file = plan.folder / "holds.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def overlaps(found: list[dict]) -> list[tuple[dict, dict]]:
    """Pairs of holds of one host that overlap in time."""
    wrong = []
    for host in {name for hold in found for name in hold["hosts"]}:
        own = sorted((h for h in found if host in h["hosts"]), key=lambda h: h["began_s"])
        wrong += [(a, b) for a, b in pairwise(own) if b["began_s"] < a["ended_s"]]
    return wrong
