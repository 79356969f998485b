"""Conditions of the blocks of a campaign: as found, as last found, or rebuilt from its records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netlab.version
from netlab import core
from netlab.errors import NetlabError
from netlab.files.bounded_json import parse_json
from netlab.lab.lab import Lab
from netlab.results import campaign_files
from netlab.results.campaign_files import Conditions
from netlab.results.columns import SCHEMA_VERSION
from netlab.results.store import Store
from netlab.study import Study, load_stored
from netlab.study.factors import Levels
from netlab.study.keys import RULE, provenance_key
from netlab.study.schedule import Visit, rounds
from netlab.tuning.knobs import is_driver_set

STABLE_FACTS = (
    *("kernel", "machine", "cpu_model", "cpus", "governor"),
    *("nic_driver", "nic_driver_version", "nic_firmware", "link_speed_Mbps"),
    *("pci_vendor", "pci_device", "bus_width", "bus_speed"),
    *("bus_slot_speed", "bus_pci_x_bits"),
)


@dataclass(frozen=True)
class Measurer:
    """The netlab that measures a run: what it stores, its version, C core and rule of keys."""

    schema: int
    version: str
    agent: str
    rule: int

    @classmethod
    def this(cls) -> Measurer:
        return cls(SCHEMA_VERSION, netlab.version.RELEASE, core.source_digest(), RULE)


def context_of(study: Study, visit: Visit, facts: dict[str, dict], lab: Lab | None) -> dict:
    """Conditions of a visit that its study does not fix: versions, machines, settings found.

    With the factors of a run they make its key. `facts` are those of the ends of the visit's link,
    since a host with two cards has other facts on each.
    """
    place = {
        "emulated_with": None if lab is None else lab.emulated_with(visit.link),
        "task_group": None if lab is None else lab.task_group,
        "user_namespace": lab is not None and lab.user_namespace,
    }
    return _context(study, visit, facts, place, Measurer.this())


def _context(
    study: Study, visit: Visit, facts: dict[str, dict], place: dict[str, Any], measurer: Measurer
) -> dict:
    hosts = study.path(visit.link).hosts
    return {
        **_known(study, visit, measurer),
        "hosts": {host: stable_facts(facts[host]) for host in hosts},
        "emulated_with": place["emulated_with"],
        "task_group": place["task_group"],
        # absent otherwise, so that the runs of other labs stand
        **({"user_namespace": True} if place["user_namespace"] else {}),
        # a run stands only as long as the settings that its tuning leaves are the same
        "found": {host: _settings_left(study, visit, host, facts[host]) for host in hosts},
        "generators": {
            name: {host: facts[host]["generators"][name] for host in hosts}
            for name in study.generators(visit.path)
        },
    }


def _known(study: Study, visit: Visit, measurer: Measurer) -> dict:
    """The part of a context that is known without asking a host."""
    hosts = study.path(visit.link).hosts
    profiles = {host: study.tuning_profile(host, visit.tuning) for host in hosts}
    return {
        **vars(measurer),
        "profiles": {host: profile.content() for host, profile in profiles.items()},
    }


def _settings_left(study: Study, visit: Visit, host: str, facts: dict) -> dict:
    """Settings found on a host that the tuning of a visit leaves as they are."""
    profile, fixed = study.tuning_profile(host, visit.tuning), facts.get("fixed", ())
    sets = profile.surely_sets() - set(fixed)
    found = {"mtu_B": facts.get("mtu_B"), **facts.get("found", {})}
    set_to = {label: v for label, v in profile.values().items() if label not in fixed}
    in_force = {label: set_to.get(label, value) for label, value in found.items()}
    of_mtu = {"mtu", "mtu_B"} if visit.mtu_B is not None else set()
    return {
        label: value
        for label, value in found.items()
        if label not in sets | of_mtu and not is_driver_set(label, in_force)
    }


def stable_facts(facts: dict) -> dict:
    """Facts of a host that a result depends on: without load, free space and uptime."""
    return {name: facts.get(name) for name in STABLE_FACTS}


def conditions_of(
    study: Study,
    facts: dict[str, dict[str, dict]],
    lab: Lab | None,
    outer: Levels,
    before: Conditions,
) -> Conditions:
    """Conditions of every block: as found now, else as they were last found."""
    found = {
        visit.block_id: context_of(study, visit, facts[visit.link], lab)
        for visit in rounds(study)[0]
        if visit.outer == outer and visit.link in facts
    }
    return _combined(study, found, before, Measurer.this())


def _combined(
    study: Study, found: dict[str, dict], before: Conditions, measurer: Measurer
) -> Conditions:
    # with those of blocks that the study lacks now, since it may have them again
    contexts = dict(before.contexts)
    keys: dict[str, str] = {}
    for visit in rounds(study)[0]:
        if visit.block_id in found:
            context = json.loads(json.dumps(found[visit.block_id]))  # as it is read again
        elif visit.block_id in contexts:
            context = {**contexts[visit.block_id], **_known(study, visit, measurer)}
        else:
            continue
        contexts[visit.block_id] = context
        keys |= {run.cell_id: provenance_key(study, visit, run, context) for run in visit.runs}
    return Conditions(contexts, keys, before.trials)


# Conditions made again from the records of a campaign, whose file of them is lost.


def rebuild(directory: Path) -> dict[Path, Conditions | NetlabError]:
    """Write the conditions of campaigns that lost theirs; by file, these or why there are none."""
    made: dict[Path, Conditions | NetlabError] = {}
    before = Conditions()
    for campaign in campaign_files.ids(directory):
        try:
            before = campaign_files.read_conditions(directory, campaign) or before
        except NetlabError:
            file = campaign_files.conditions_file(directory, campaign)
            try:
                made[file] = before = rebuilt(directory, campaign, before)
            except NetlabError as error:  # such as a study that is lost as well
                made[file] = error
            else:
                campaign_files.write_conditions(directory, campaign, before)
    return made


def rebuilt(directory: Path, campaign: str, before: Conditions) -> Conditions:
    """Conditions of a campaign from the facts that its records hold.

    A record names the hosts' facts and settings as it was made; the first of a block are those that
    the campaign began with. Blocks without records stay as in the campaign before.
    """
    study = load_stored(campaign_files.study_file(directory, campaign))
    own = Store(directory).made_by(campaign)
    first = own.drop_duplicates("block_id").set_index("block_id")
    stored = own.drop_duplicates("run_id").set_index("run_id")["provenance_key"]
    found, measurer = {}, Measurer.this()
    for visit in rounds(study)[0]:
        if visit.block_id in first.index:
            row = first.loc[visit.block_id]
            made = parse_json(row["provenance"], "provenance")
            measurer = Measurer(
                int(row["schema_version"]),
                made["netlab"].partition("+")[0],
                made["agent"],
                made.get("rule", 1),
            )
            found[visit.block_id] = _context(study, visit, made["hosts"], made, measurer)
    conditions = _combined(study, found, before, measurer)
    of_cells = stored.groupby(stored.index.str.rpartition("@").get_level_values(0)).first()
    keys = {**conditions.keys, **{c: k for c, k in of_cells.items() if c in conditions.keys}}
    trials = {key: dict(runs) for key, runs in conditions.trials.items()}
    for run_id, key in stored.items():
        cell = str(run_id).rsplit("@", 2)[0]
        if cell in keys and str(run_id).rpartition("@")[0] not in keys:
            trials.setdefault(keys[cell], {})[str(run_id)] = str(key)
    return Conditions(conditions.contexts, keys, trials)
