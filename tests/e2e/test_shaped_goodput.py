"""A study on a shaped path gets what TCP can carry there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from noise import Shares, tries

from netlab.results import Store
from tests.e2e.conftest import measured_through, run_netlab, small_study

pytestmark = pytest.mark.e2e


@pytest.mark.timing
@pytest.mark.timeout(600)
def test_goodput_on_a_shaped_path_is_what_tcp_can_carry(tmp_path: Path, machine_untouched):
    """At 1 Gb/s of frames goodput is within 1 % of MSS / (MTU + 14) of it, for both MTUs."""
    content = small_study("shaped")
    content["paths"]["cable"]["link"] = {"rate_Mbps": 1000.0}
    content["groups"] = content["groups"][:1]
    content["tunings"] = [{"name": "openlab-2003-normal", "mtus_B": [1500, 9000]}]
    content["streams"] = [4]
    content["groups"][0]["buffer_B"] = 0
    content["timing"] = {"rounds": 3, "seconds": 1.0, "warmup_s": 0.3, "interval_ms": 50}
    path = tmp_path / "shaped.yml"
    path.write_text(yaml.safe_dump(content))
    shares = {mtu_B: Shares(bound=0.01) for mtu_B in (1500, 9000)}
    settled = set()
    for attempt in tries(3, later=6):
        results = tmp_path / f"results-{attempt}"
        done = run_netlab("run", str(path), "--results", str(results))
        measured_through(done)
        runs = Store(results).runs()
        runs = runs[~runs["flags"].str.contains("failed|lost_host|stalled")]
        assert (runs["ledger_error_B"] == 0).all()
        # a busy machine can only take from a shaped path, so its best run shows what it carries
        for run in runs.itertuples():
            share = run.goodput_MBps / (125.0 * (run.mtu_B - 52) / (run.mtu_B + 14))
            if shares[run.mtu_B].settled(share, run.steal_percent / 100 * os.cpu_count()):
                settled.add(run.mtu_B)
        if settled == set(shares):
            break
    for mtu_B, measured in shares.items():
        assert measured.confirmed, (mtu_B, measured.seen)
