"""Studies on shaped paths get what TCP can carry there, whichever program sends."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from e2e.conftest import measured_through, run_netlab, small_study
from e2e.generator_study import GENERATORS, RATE_MBPS, study_of

from netlab.results.store import Store

ROUNDS = 5


def measured(content: dict, rate_Mbps: float, place: Path) -> pd.DataFrame:
    """Runs of a study, with their share of the goodput that frames of this rate can carry."""
    path = place / "shaped.yml"
    path.write_text(yaml.safe_dump(content))
    results = place / "results"
    done = run_netlab("run", str(path), "--results", str(results), timeout_s=280)
    measured_through(done)
    runs = Store(results).runs()
    carried = rate_Mbps / 8 * (runs["mtu_B"] - 52) / (runs["mtu_B"] + 14)
    return runs.assign(share=runs["goodput_MBps"] / carried)


@pytest.mark.timeout(600)
def test_goodput_is_what_tcp_can_carry(tmp_path):
    """At 1 Gb/s of frames goodput is within 1 % of MSS / (MTU + 14) of it, for both MTUs."""
    content = small_study("shaped")
    content["paths"]["cable"]["link"] = {"rate_Mbps": 1000.0}
    content["groups"] = content["groups"][:1]
    content["tunings"] = [{"name": "openlab-2003-normal", "mtus_B": [1500, 9000]}]
    content["streams"] = [4]
    content["groups"][0]["buffer_B"] = 0
    content["timing"] = {"rounds": ROUNDS, "seconds": 1.0, "warmup_s": 0.3, "interval_ms": 50}
    content["noise"] |= {"steal_percent": 2.0, "retries": 5}  # 3 % of it can cost 5 % of goodput
    runs = measured(content, 1000.0, tmp_path)
    runs = runs[runs["flags"] == ""]
    assert (runs["ledger_error_B"] == 0).all()
    shares = runs.groupby("mtu_B")["share"].median()
    assert set(shares.index) == {1500, 9000} and (shares - 1).abs().max() < 0.01, shares


@pytest.mark.timeout(600)
def test_all_generators_agree(tmp_path):
    content = study_of(streams=(4,), rounds=ROUNDS, seconds=1.0, warmup_s=0.4)
    runs = measured(content, RATE_MBPS, tmp_path)
    shares = runs.groupby(["generator", "mtu_B"])["share"].median()
    assert len(shares) == 2 * len(GENERATORS) and (shares - 1).abs().max() < 0.02, shares
