"""Campaigns of made-up records over links whose hosts have other facts on each."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Mapping
from pathlib import Path

import synthetic

from netlab import core
from netlab.experiment.campaign_record import CampaignRecord
from netlab.experiment.conditions import context_of
from netlab.files.recorded_facts import EndFacts, end_facts
from netlab.files.yaml_file import validated
from netlab.study import Study
from netlab.study.factors import Levels
from netlab.study.keys import RULE, provenance_key
from netlab.study.schedule import Visit, visits
from netlab.version import version

Facts = dict[str, dict[str, EndFacts]]
HOST = end_facts(
    {"kernel": "6.1", "cpu_model": "Some CPU", "mtu_B": 1500, "generators": {"netlab": "1"}}
)
STUDY = {
    "netlab": 1,
    "name": "two-cards",
    "title": "A host with two cards",
    "hosts": {
        name: {"kind": "ssh", "address": f"{name}.example"} for name in ("left", "middle", "right")
    },
    "paths": {
        "p1": {
            "ends": [
                {"host": "left", "address": "192.0.2.1", "interface": "eth1"},
                {"host": "middle", "address": "192.0.2.2", "interface": "eth1"},
            ]
        },
        "p2": {
            "ends": [
                {"host": "middle", "address": "192.0.2.5", "interface": "eth2"},
                {"host": "right", "address": "192.0.2.6", "interface": "eth2"},
            ]
        },
    },
    "groups": [
        {"name": "one", "path": "p1", "sender": "left"},
        {"name": "two", "path": "p2", "sender": "middle"},
    ],
    "tunings": [{"name": "as-found"}],
    "streams": [1],
    "factors": {"nodelay": [False, True]},
    "timing": {"rounds": 3, "seconds": 1.0, "warmup_s": 0.2},
}


ENDS = {"p1": ("left", "middle"), "p2": ("middle", "right"), "p3": ("middle", "far")}
CARDS = {"p1": "ixgbe", "p2": "mlx5_core", "p3": "ice"}
THIRD = {
    "ends": [
        {"host": "middle", "address": "192.0.2.9", "interface": "eth3"},
        {"host": "far", "address": "192.0.2.10", "interface": "eth3"},
    ]
}


def third_card() -> dict[str, object]:
    """Hosts, paths and groups of the study with a third card in its middle host."""
    far = {"far": {"kind": "ssh", "address": "far.example"}}
    groups = [*STUDY["groups"], {"name": "three", "path": "p3", "sender": "far"}]
    paths = {**STUDY["paths"], "p3": THIRD}
    return {"hosts": {**STUDY["hosts"], **far}, "paths": paths, "groups": groups}


def study(**changes: object) -> Study:
    """The study of both paths, which measures its hosts as found."""
    return validated(Study, {**copy.deepcopy(STUDY), **changes}, "two-cards.yml")


def facts(
    congestion: str = "cubic", *, links: Collection[str] = ("p1", "p2"), **drivers: str
) -> Facts:
    """Facts of the ends of each link: its card's driver, and the settings found."""
    cards = {**CARDS, **drivers}
    found = {"found": {"net.ipv4.tcp_congestion_control": congestion}}
    return {
        link: {host: {**HOST, **found, "nic_driver": cards[link]} for host in ENDS[link]}
        for link in links
    }


def only(link: str, of: Facts) -> Facts:
    return {link: of[link]}


def write(
    record: CampaignRecord,
    of: Facts,
    *,
    runs: Collection[str] | None = None,
    outer: Levels = (),
    **columns: object,
) -> set[tuple[str, str]]:
    """Store a record of each run of the links that has no valid one; ids and keys of the runs."""
    made = synthetic.runs_of(record.study)
    written = set()
    for visit in visits(record.study):
        if visit.link not in of or visit.outer != outer:
            continue
        keys = keys_of(record.study, visit, of[visit.link])
        wanted = keys.keys() - record.kept
        part = made[made["run_id"].isin(wanted if runs is None else wanted & set(runs))]
        if part.empty:
            continue
        part = part.assign(
            provenance_key=part["run_id"].map(keys).astype("string"),
            campaign=record.log.campaign,
            provenance=provenance_of(of[visit.link]),
            flags="",
            **columns,
        ).reset_index(drop=True)
        samples = synthetic.intervals_of(part, record.study)
        record.store.write(record.new_part(visit), part, samples)
        written |= set(zip(part["run_id"], part["provenance_key"], strict=True))
    return written


def provenance_of(ends: Mapping[str, EndFacts]) -> str:
    """What a run's record says of hosts with these facts."""
    return json.dumps(
        {
            "netlab": version(),
            "agent": core.source_digest(),
            "rule": RULE,
            "hosts": ends,
            **{"emulated_with": None, "task_group": None, "user_namespace": False},
        }
    )


def keys_of(of: Study, visit: Visit, ends: Mapping[str, EndFacts]) -> dict[str, str]:
    """Provenance key of each run of a visit to hosts with these facts."""
    context = context_of(of, visit, dict(ends), None)
    return {run.run_id: provenance_key(of, visit, run, context) for run in visit.runs}


def measured(directory: Path, record: CampaignRecord) -> dict[str, int]:
    """Runs that count, by path."""
    return record.store.runs()["path"].value_counts().to_dict()
