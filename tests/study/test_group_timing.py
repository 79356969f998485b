"""Timing that a group of a study has for itself."""

from __future__ import annotations

import copy

import pytest
from study.crossed_study import BASE, CONTEXT, crossed, runs_of

from netlab.errors import BadInput
from netlab.study import load
from netlab.study.keys import provenance_key
from netlab.study.schedule import rounds


def test_a_group_has_a_timing_of_its_own():
    group = BASE["groups"][0]
    study = crossed(
        groups=[{**group, "timing": {"seconds": 9.0, "interval_ms": 500}}, {**group, "name": "two"}]
    )
    by_name = {run.group.name: run.study(study).timing for run in runs_of(study)}
    assert (by_name["one"].seconds, by_name["one"].interval_ms) == (9.0, 500)
    assert by_name["one"].warmup_s == by_name["two"].warmup_s == 0.1
    assert by_name["two"].seconds == 0.5


def test_a_groups_timing_changes_the_keys_of_its_runs_alone():
    group = BASE["groups"][0]

    def keys(**changes) -> list[str]:
        study = crossed(groups=[{**group, **changes}, {**group, "name": "two"}])
        planned = [(b, run) for b in rounds(study)[0] for run in b.runs]
        planned.sort(key=lambda pair: pair[1].run_id)
        return [provenance_key(study, b, run, CONTEXT) for b, run in planned]

    plain, longer, alike = keys(), keys(timing={"seconds": 9.0}), keys(timing={"seconds": 0.5})
    assert alike == plain
    assert sum(a != b for a, b in zip(plain, longer, strict=True)) == 4


def test_the_short_form_shortens_a_groups_timing_too():
    group = {**BASE["groups"][0], "timing": {"seconds": 20.0}}
    content = {**copy.deepcopy(BASE), "groups": [group]}
    short = load(content, quick=True)
    assert runs_of(short)[0].study(short).timing.seconds == 5.0
    content["groups"] = [{**group, "quick": {"seconds": 0.25, "warmup_s": 0.0}}]
    short = load(content, quick=True)
    timing = runs_of(short)[0].study(short).timing
    assert (timing.seconds, timing.warmup_s) == (0.25, 0.0)


def test_seconds_given_at_the_call_replace_those_of_groups():
    group = {**BASE["groups"][0], "timing": {"seconds": 20.0, "warmup_s": 2.0}}
    study = load({**copy.deepcopy(BASE), "groups": [group]}, seconds=0.3)
    timing = runs_of(study)[0].study(study).timing
    assert (timing.seconds, timing.warmup_s) == (0.3, 2.0)


def test_a_forced_loss_must_come_within_the_groups_own_timing():
    content = {
        "paths": {"cable": {**BASE["paths"]["cable"], "link": {"emulator": {"rtt_ms": 1}}}},
        "groups": [{**BASE["groups"][0], "force_loss_at_s": 5.0, "timing": {"seconds": 9.0}}],
    }
    assert crossed(**content).groups[0].force_loss_at_s == 5.0
    content["groups"][0].pop("timing")
    with pytest.raises(BadInput, match=r"a run is over after 0\.6 s"):
        crossed(**content)
