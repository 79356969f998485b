"""Conditions of the blocks of a campaign, as found and as last found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import netlab.version
from netlab import core
from netlab.files.recorded_facts import (
    STABLE,
    BlockConditions,
    EndFacts,
    HostFacts,
    KnownConditions,
    LabFacts,
    StableFacts,
)
from netlab.lab.lab import Lab
from netlab.results.campaign_files import Conditions
from netlab.results.columns import SCHEMA_VERSION
from netlab.study import Study
from netlab.study.factors import Levels
from netlab.study.keys import RULE, provenance_key
from netlab.study.schedule import Visit, rounds
from netlab.tuning.knobs import is_driver_set


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


def context_of(
    study: Study, visit: Visit, facts: Mapping[str, EndFacts], lab: Lab | None
) -> BlockConditions:
    """Conditions of a visit that its study does not fix: versions, machines, settings found.

    With the factors of a run they make its key. `facts` are those of the ends of the visit's link,
    since a host with two cards has other facts on each.
    """
    place: LabFacts = {
        "emulated_with": None if lab is None else lab.emulated_with(visit.link),
        "task_group": None if lab is None else lab.task_group,
        "user_namespace": lab is not None and lab.user_namespace,
    }
    return block_context(study, visit, facts, place, Measurer.this())


def block_context(
    study: Study,
    visit: Visit,
    facts: Mapping[str, EndFacts],
    place: LabFacts,
    measurer: Measurer,
) -> BlockConditions:
    hosts = study.path(visit.link).hosts
    conditions: BlockConditions = {
        **_known(study, visit, measurer),
        "hosts": {host: stable_facts(facts[host]) for host in hosts},
        "emulated_with": place["emulated_with"],
        "task_group": place["task_group"],
        # a run stands only as long as the settings that its tuning leaves are the same
        "found": {host: _settings_left(study, visit, host, facts[host]) for host in hosts},
        "generators": {
            name: {host: facts[host]["generators"][name] for host in hosts}
            for name in study.generators(visit.path)
        },
    }
    if place["user_namespace"]:  # absent otherwise, so that the runs of other labs stand
        conditions["user_namespace"] = True
    return conditions


def _known(study: Study, visit: Visit, measurer: Measurer) -> KnownConditions:
    """The part of a context that is known without asking a host."""
    hosts = study.path(visit.link).hosts
    profiles = {host: study.tuning_profile(host, visit.tuning) for host in hosts}
    return {
        "schema": measurer.schema,
        "version": measurer.version,
        "agent": measurer.agent,
        "rule": measurer.rule,
        "profiles": {host: profile.content() for host, profile in profiles.items()},
    }


def _settings_left(
    study: Study, visit: Visit, host: str, facts: EndFacts
) -> dict[str, str | int | None]:
    """Settings found on a host that the tuning of a visit leaves as they are."""
    profile, fixed = study.tuning_profile(host, visit.tuning), facts["fixed"]
    sets = profile.surely_sets() - set(fixed)
    found = {"mtu_B": facts["mtu_B"], **facts["found"]}
    set_to = {label: v for label, v in profile.values().items() if label not in fixed}
    in_force = {label: set_to.get(label, value) for label, value in found.items()}
    of_mtu = {"mtu", "mtu_B"} if visit.mtu_B is not None else set()
    return {
        label: value
        for label, value in found.items()
        if label not in sets | of_mtu and not is_driver_set(label, in_force)
    }


def stable_facts(facts: HostFacts) -> StableFacts:
    """Facts of a host that a result depends on: without load, free space and uptime."""
    values: Mapping[str, object] = facts
    return cast(StableFacts, {name: values[name] for name in STABLE})


def conditions_of(
    study: Study,
    facts: Mapping[str, Mapping[str, EndFacts]],
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
    return combined_conditions(study, found, before, Measurer.this())


def combined_conditions(
    study: Study, found: Mapping[str, BlockConditions], before: Conditions, measurer: Measurer
) -> Conditions:
    # with those of blocks that the study lacks now, since it may have them again
    contexts = dict(before.contexts)
    keys: dict[str, str] = {}
    for visit in rounds(study)[0]:
        if visit.block_id in found:
            # as it is read again
            context = cast(BlockConditions, json.loads(json.dumps(found[visit.block_id])))
        elif visit.block_id in contexts:
            context = {**contexts[visit.block_id], **_known(study, visit, measurer)}
        else:
            continue
        contexts[visit.block_id] = context
        keys |= {run.cell_id: provenance_key(study, visit, run, context) for run in visit.runs}
    return Conditions(contexts, keys, before.trials)
