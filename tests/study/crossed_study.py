"""A study that crosses further factors."""

from __future__ import annotations

import copy

from studies import two_hosts

from netlab.files.yaml_file import validated
from netlab.study import Study
from netlab.study.schedule import rounds

CONTEXT = {"version": "0.1.0"}
BASE = two_hosts(
    "crossed",
    None,
    {"name": "one"},
    tunings=[{"name": "plain", "mtus_B": [1500, 9000], "knobs": []}],
    streams=[1, 4],
    timing={"rounds": 2, "seconds": 0.5, "warmup_s": 0.1},
    **{"title": "Crossed", "noise": None},
)


def crossed(**changes) -> Study:
    return validated(Study, {**copy.deepcopy(BASE), **changes}, "my.yml")


def runs_of(study: Study) -> list:
    return [run for each in rounds(study)[0] for run in each.runs]
