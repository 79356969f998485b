"""False alarms of `unsteady` on a lab whose paths are steady: at most 1 of 200 short runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from e2e.conftest import measured_through, run_netlab
from studies import ANY_NOISE, two_hosts

from netlab.results.store import Store

RUNS, ROUNDS = 200, 25
RATE_MBPS = 100.0
"""So slow that the path limits every run, and other programs on the machine explain no step."""


def steady_study(link: dict, noise: dict) -> dict:
    """A hundred runs of 0.5 s in 25 intervals: one and four streams, two congestion controls."""
    controls = ("reno", "bbr")
    return two_hosts(
        "steady",
        link,
        *({"name": name, "congestion": name} for name in controls),
        tunings=[{"name": "openlab-2003-normal", "mtus_B": [1500]}],
        streams=[1, 4],
        timing={"rounds": ROUNDS, "seconds": 0.5, "warmup_s": 0.3, "interval_ms": 20},
        noise={"retries": 0, "wait": 0, **noise},
    )


def runs_of(content: dict, place: Path) -> pd.DataFrame:
    place.mkdir()
    study = place / "steady.yml"
    study.write_text(yaml.safe_dump(content))
    done = run_netlab("run", str(study), "--results", str(place / "results"), timeout_s=900)
    measured_through(done)
    return Store(place / "results").runs()


@pytest.mark.timeout(2000)
def test_at_most_one_of_two_hundred_steady_runs_is_called_unsteady(tmp_path):
    """Half of them over a shaped path, whatever else runs; half as fast as the machine can."""
    shaped = runs_of(steady_study({"rate_Mbps": RATE_MBPS}, ANY_NOISE), tmp_path / "shaped")
    free = runs_of(steady_study({}, {}), tmp_path / "free")
    assert len(shaped) + len(free) == RUNS
    assert not (shaped["flags"].str.contains("failed")).any(), shaped["message"].unique()
    runs = pd.concat([shaped, free])
    called = runs[runs["flags"].str.contains("unsteady")]
    assert len(called) <= RUNS // 200, called[["group", "streams", "message"]].to_dict("records")
