"""A study of several flows, as a file."""

from __future__ import annotations

import yaml
from studies import two_hosts

from netlab.experiment.conditions import context_of
from netlab.files.recorded_facts import end_facts
from netlab.study import schedule
from netlab.study.keys import provenance_key

PAIR = [{"congestion": "bbr"}, {"congestion": "cubic", "count": 4, "start_s": 2.0}]


def written(tmp_path, entries=PAIR, **more):
    """A stranger's file with unequal flows on a slow path."""
    group = {"name": "late", "flows": entries, **more.pop("group", {})}
    timing = {"seconds": 6.0, "warmup_s": 1.0, "rounds": 1}
    emulator = {"rtt_ms": 20.0, "rate_Mbps": 20.0}
    usual = {"ends": ("a", "b"), "path": "slow", "streams": [5], "timing": timing}
    content = two_hosts("late", {"emulator": emulator}, group, **{**usual, **more})
    file = tmp_path / "late.yml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def keys_of(study) -> set[str]:
    found = end_facts({"kernel": "6.1", "mtu_B": 1500})
    visit = schedule.rounds(study)[0][0]
    ends = dict.fromkeys(study.path(visit.link).hosts, found)
    context = context_of(study, visit, ends, None)
    return {provenance_key(study, visit, run, context) for run in visit.runs}
