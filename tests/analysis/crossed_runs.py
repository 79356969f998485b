"""Runs of crossed factors, and an analysis of all of them beside one of each combination."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

import pandas as pd
import synthetic
from lab_study import lab_study

from netlab.analysis.cells import usable
from netlab.study import Study

GROUPS = [
    {"name": "one", "path": "a-b", "sender": "a"},
    {"name": "two", "path": "a-b", "sender": "a", "generator": "iperf3"},
]
TUNINGS = [
    {"name": name, "mtus_B": [1500, 9000], "knobs": []} for name in ("plain", "kernel", "full")
]
SLOW = '{"rtt_ms":10.0,"kernel":"up"}'
"""A tenth of the goodput of the others; pooled with them it changes every mean."""


def crossed_study() -> Study:
    """A study of two generators, three tunings, and a further and an outer factor."""
    content = lab_study().model_dump(mode="json")
    content |= {"groups": GROUPS, "tunings": TUNINGS, "streams": [1, 4]}
    content |= {"factors": {"rtt_ms": [0, 10]}, "outer": {"kernel": ["smp", "up"]}}
    content["timing"] = {"rounds": 4, "seconds": 0.5}
    return Study.model_validate(content)


def crossed_runs(study: Study) -> pd.DataFrame:
    """Runs of which iperf3, many streams, one tuning and one MTU each failed in the slow cells."""

    def change(row):
        slow = json.loads(row["factors"]) == json.loads(SLOW)
        row["goodput_MBps"] *= 0.1 if slow else 1
        lost = row["generator"] == "iperf3" or (row["streams"] == 4 and row["tuning"] == "kernel")
        row["flags"] = "failed" if slow and lost else ""

    made = synthetic.runs_of(study, change=change)
    assert set(made["factors"].map(json.loads).map(len)) == {2}
    return made


def by_level(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return dict(list(runs.groupby("factors")))


def assert_alone_as_in_all(
    analysis: Callable[[pd.DataFrame, Study], pd.DataFrame],
    runs: pd.DataFrame,
    study: Study,
    lacking: Collection[str] = (),
) -> None:
    """Check that an analysis of all runs is that of each combination of factors alone."""
    whole = analysis(runs, study)
    assert len(whole) and set(whole["factors"]) == set(usable(runs)["factors"]) - {*lacking}
    for factors, part in by_level(runs).items():
        alone = analysis(part.reset_index(drop=True), study)
        mine = whole[whole["factors"] == factors]
        alone = alone.assign(factors=factors)[[c for c in mine if c in alone or c == "factors"]]
        order = [c for c in alone if alone[c].dtype.kind not in "fF"]
        mine, alone = (frame[[*alone]].sort_values(order) for frame in (mine, alone))
        pd.testing.assert_frame_equal(
            mine.reset_index(drop=True), alone.reset_index(drop=True), check_dtype=False
        )
