"""The plan of a small fleet, and results of its jobs."""

from __future__ import annotations

from pathlib import Path

import yaml
from fleet.fleet_study import TEMPLATE

from netlab.files.writing import write_json
from netlab.fleet.inventory import FleetHost, Inventory
from netlab.fleet.pairs import pairs_of
from netlab.fleet.plan import DONE, FleetPlan, make_plan
from netlab.study import load

SACK = {"knobs": [{"kind": "sysctl", "name": "net.ipv4.tcp_sack", "value": 0}]}


STUDY = yaml.safe_load(TEMPLATE) | {
    "hosts": {
        "left": {"kind": "lab", "profiles": {"off": "sack-off"}},
        "right": {"kind": "lab", "bus": {"bandwidth_MBps": 800.0, "label": "PCI-X"}},
    },
    "groups": [
        {"name": "there", "path": "cable", "sender": "left"},
        {"name": "back", "path": "cable", "sender": "right"},
    ],
    "tunings": [{"name": "off", "mtus_B": [1500, 9000]}],
    "profiles": {"off": SACK, "sack-off": SACK},
    "timing": {"rounds": 3, "seconds": 1.0, "warmup_s": 0.0},
}


def fleet(count: int = 4) -> Inventory:
    return Inventory(hosts={f"h{n}": FleetHost(address=f"192.0.2.{n}") for n in range(count)})


def planned(directory: Path, rule: str = "ring", hosts: Inventory | None = None) -> FleetPlan:
    hosts = hosts or fleet()
    return make_plan(load(STUDY), hosts, pairs_of(hosts, rule), directory)


def write_result(plan: FleetPlan, job, status: str = DONE) -> None:
    write_json(plan.done_file(job.job_id), {"key": plan.pair_key(job.pair), "status": status})
