"""A study's options of sockets and threads take effect in its runs, or are refused before."""

from __future__ import annotations

import json
import os

import yaml

from netlab.results.store import Store
from tests.e2e.conftest import measured_through, run_netlab, small_study

RATE_MBPS = 5.0


def asked(tmp_path, **socket) -> str:
    """A study of two lab hosts whose sockets are asked for this; four runs of one stream."""
    study = small_study("sockets") | {
        "tunings": [{"name": "openlab-2003-normal", "mtus_B": [1500]}],
        "streams": [1, 2],
        "timing": {"rounds": 1, "seconds": 0.5, "warmup_s": 0.1, "interval_ms": 50},
        "socket": socket,
    }
    path = tmp_path / "sockets.yml"
    path.write_text(yaml.safe_dump(study, sort_keys=False))
    return str(path)


def test_runs_are_paced_marked_bounded_and_pinned_as_the_study_asks(tmp_path):
    cpu = min(os.sched_getaffinity(0))
    options = {"pacing_MBps": RATE_MBPS, "dscp": 46, "mss_B": 1000, "nodelay": True}
    options |= {"cpus_sender": cpu, "cpus_receiver": str(cpu)}
    results = tmp_path / "results"
    done = run_netlab("run", asked(tmp_path, **options), "--results", str(results))
    measured_through(done)
    runs = Store(results).runs()
    assert len(runs) == 4
    for row in runs.itertuples():
        assert not {"failed", "ledger_mismatch", "implausible"} & set(row.flags.split(",")), (
            row.message
        )
        assert row.mss_B == 988.0  # less the timestamps option
        paced_MBps = RATE_MBPS * row.streams * (2 if row.direction == "<->" else 1)
        # a window may hold a little of what was sent before it
        assert row.goodput_MBps < 1.3 * paced_MBps
        assert row.pacing_MBps == paced_MBps
        assert row.bottleneck == "pacing" or row.goodput_MBps < 0.95 * paced_MBps
        assert json.loads(row.provenance)["socket"] == options | {"cpus_sender": str(cpu)}
        sent, _, received = row.engine.partition("/")
        assert sent.endswith(":copy") and received.endswith(":copy")
        assert "auto" not in row.engine


def test_a_cpu_that_is_not_there_is_told_by_the_check_and_by_the_runs(tmp_path):
    study = asked(tmp_path, cpus_receiver="4095")
    checked = run_netlab("check", study)
    assert checked.returncode == 1
    assert "CPU 4095 does not exist" in checked.stdout
    done = run_netlab("run", study, "--results", str(tmp_path / "results"))
    assert done.returncode == 1
    assert "CPU 4095 does not exist" in done.stderr
