"""Flows that start, end and are paced by plan on a lab: known rates, shares and times."""

import json

import pytest
from e2e.conftest import run_on_lab
from studies import two_hosts

import netlab

START_S, END_S, PACED_MBPS = 2.0, 4.0, 1.0


def test_paced_flows_have_their_known_shares_while_all_are_on(tmp_path, machine_untouched):
    """Two flows of 1 MB/s, one of 2 from 2 s on and one of 4 until 4 s, far below the link's rate.

    While all are on they have 1, 1, 2 and 4 of 8 parts; the whole window would give other shares.
    """
    emulator = {"with": "netlab", "rtt_ms": 10, "rate_Mbps": 200}
    entries = [
        {"count": 2, "pacing_MBps": PACED_MBPS},
        {"pacing_MBps": 2 * PACED_MBPS, "start_s": START_S},
        {"pacing_MBps": 4 * PACED_MBPS, "end_s": END_S},
    ]
    content = two_hosts(
        "by-plan",
        {"emulator": emulator},
        {"flows": entries, "buffer_B": 262144},
        **{"streams": [4], "congestion": "cubic"},
        timing={"rounds": 1, "seconds": 5, "warmup_s": 0.5, "drain_s": 30},
    )
    run_on_lab(tmp_path, content, timeout_s=120)
    results = netlab.Results(tmp_path / "r")
    (run,) = results.runs.to_dict("records")
    flags = set(filter(None, run["flags"].split(",")))
    assert not flags & {"stalled", "starved", "unsteady", "failed", "ledger_mismatch"}
    assert json.loads(run["flows"])[1] == {"pacing_MBps": 2.0, "start_s": 2.0}
    assert run["ledger_error_B"] == 0 and run["silent_streams"] == 0
    # (1 + 1 + 2 + 4)² / (4 · (1 + 1 + 4 + 16))
    assert run["jain_index"] == pytest.approx(64 / 88, abs=0.08)
    shares = results.tables.stream_shares().data["share_percent"].tolist()
    assert shares == pytest.approx([12.5, 12.5, 25, 50], abs=6)
    (late,) = results.tables.newcomers().data.to_dict("records")
    assert late["start_s"] == START_S and late["n_fair"] == 1
    assert 0 <= late["fair_after_s"] < 3
    rates = results.intervals[results.intervals["bytes"] > 0]
    first_s, last_s = (rates.groupby("stream")["t_s"].agg(end) for end in ("min", "max"))
    assert START_S <= first_s[2] < START_S + 1.2 and first_s[[0, 1, 3]].max() < 1.2
    assert END_S <= last_s[3] < END_S + 1.2 and last_s[[0, 1, 2]].min() > 5
    assert len(results.charts.shares().charts) == 3  # index, rates and shares over time
