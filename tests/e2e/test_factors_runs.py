"""Factors crossed on a real lab: within a block, between blocks, and set by a person."""

from __future__ import annotations

import json

import pytest
import yaml

import netlab
from netlab.errors import BadInput
from tests.e2e.conftest import run_netlab, small_study

CONTENT = {
    **small_study("crossed"),
    "groups": [{"name": "one", "path": "cable", "sender": "left", "timing": {"seconds": 0.3}}],
    "hosts": {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
    "tunings": [{"name": "plain", "mtus_B": [9000], "knobs": []}],
    "streams": [1],
    "factors": {
        "record_length_B": [1024, 65536],
        "engine": ["plain", "epoll"],
        "rate_Mbps": [50, 200],
    },
    "exclude": [{"engine": "plain", "record_length_B": 1024}],
    "outer": {"kernel": ["smp", "up"]},
    "noise": {"foreign_cpu_percent": 100, "steal_percent": 100, "retries": 0},
}


def test_a_crossed_study_is_measured_resumed_and_read_by_its_factors(tmp_path, machine_untouched):
    study = netlab.Study(CONTENT)
    plan = study.plan()
    assert len(plan) == 2 * 3 * 2 and set(plan["seconds"]) == {0.35}
    with pytest.raises(BadInput) as caught:
        study.run(results=tmp_path / "r", progress=False)
    assert caught.value.code == "E-STUDY-073"
    assert not (tmp_path / "r").exists()

    results = study.run(results=tmp_path / "r", outer={"kernel": "smp"}, progress=False)
    runs = results.runs
    assert len(runs) == 6 and set(runs["kernel"]) == {"smp"}
    for row in runs.itertuples():
        levels = json.loads(row.factors)
        assert row.record_length_B == levels["record_length_B"]
        assert row.engine.split(":")[0] == levels["engine"]
        assert row.goodput_MBps < 1.15 * row.rate_Mbps / 8  # what waited for the reader counts, too
        link = json.loads(row.provenance)["link"]["left"]
        assert link["rate_bps"] == row.rate_Mbps * 1e6
        assert row.window_s > 0.29  # its end waits for a CPU beside other tests
        assert json.loads(row.provenance)["outer"] == {"kernel": "smp"}
    long = results.runs_of(record_length_B=65536, flags="")
    for rate, part in long.groupby("rate_Mbps"):
        assert part["goodput_MBps"].max() > 0.3 * rate / 8  # other work may take its CPU

    both = study.run(results=tmp_path / "r", outer={"kernel": "up"}, progress=False)
    assert len(both.runs) == 12 and set(both.runs["kernel"]) == {"smp", "up"}
    assert len(both.cells) == 12 and both.runs["campaign"].nunique() == 1
    started = both.runs.set_index("run_id")["started_at"]
    again = study.run(results=tmp_path / "r", outer={"kernel": "smp"}, progress=False)
    valid = both.runs.loc[both.runs["flags"] == "", "run_id"]
    assert (again.runs.set_index("run_id")["started_at"][valid] == started[valid]).all()

    table = both.table("record_length_B", "rate_Mbps", engine="epoll", kernel="up")
    assert table.frame.shape == (2, 2)
    ax = both.plot(x="rate_Mbps", hue="engine", record_length_B=65536, kernel="smp")
    assert ax.get_xlabel() == "rate, Mb/s"


RATE_MBPS = 5.0


def test_a_policy_and_options_of_sockets_are_in_force_and_recorded(tmp_path):
    socket = {"pacing_MBps": RATE_MBPS, "dscp": 46, "mss_B": 1000, "nodelay": True}
    content = {
        **CONTENT,
        **{"name": "policy", "outer": {}, "exclude": [], "streams": [4], "engine": "epoll"},
        "factors": {"batch_B": ["auto", "none", 65536]},
        "policy": {"yield_B": 131072, "sched_batch": False, "spread": True},
        "socket": socket,
        "timing": {"rounds": 1, "seconds": 0.5, "warmup_s": 0.1, "interval_ms": 50},
    }
    runs = netlab.Study(content).run(results=tmp_path / "r", progress=False).runs
    assert len(runs) == 3
    for row in runs.itertuples():
        assert not {"failed", "ledger_mismatch", "implausible"} & set(row.flags.split(","))
        for end in json.loads(row.policy).values():
            assert (end["sched_batch"], end["spread"]) == (False, True)
            if row.batch_B == "auto":
                assert end["batch_B"] > 65536
            else:
                assert end["batch_B"] == (None if row.batch_B == "none" else 65536)
        assert json.loads(row.policy)["sender"]["yield_B"] == 131072
        assert row.mss_B == 988.0  # less the timestamps option
        # a window may hold a little of what was sent before it
        assert row.goodput_MBps < 1.3 * 4 * RATE_MBPS == 1.3 * row.pacing_MBps
        assert row.bottleneck == "pacing" or row.goodput_MBps < 0.95 * row.pacing_MBps
        assert json.loads(row.provenance)["socket"] == socket


def test_a_cpu_that_is_not_there_is_told_by_the_check_and_by_the_runs(tmp_path):
    study = small_study("sockets") | {"socket": {"cpus_receiver": "4095"}}
    (tmp_path / "sockets.yml").write_text(yaml.safe_dump(study))
    checked = run_netlab("check", str(tmp_path / "sockets.yml"))
    assert checked.returncode == 1 and "CPU 4095 does not exist" in checked.stdout
    argv = ("run", str(tmp_path / "sockets.yml"), "--results", str(tmp_path / "results"))
    done = run_netlab(*argv)
    assert done.returncode == 1 and "CPU 4095 does not exist" in done.stderr
