"""Studies on a real lab as a notebook makes them: crossed factors, examples, and a block."""

from __future__ import annotations

import json

import pytest
import yaml
from e2e.conftest import run_netlab, small_study

import netlab
from netlab.errors import BadInput

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
        link = json.loads(row.provenance)["link"]["left"]
        assert link["rate_bps"] == row.rate_Mbps * 1e6
        assert row.window_s > 0.29  # its end waits for a CPU beside other tests
        assert json.loads(row.provenance)["outer"] == {"kernel": "smp"}
    # what waited for the reader of one run counts, too
    share = runs["goodput_MBps"] / (runs["rate_Mbps"] / 8)
    assert (share.groupby(runs["rate_Mbps"]).median() < 1.15).all(), share
    long = results.runs_of(record_length_B=65536, flags="")
    for rate, part in long.groupby("rate_Mbps"):
        assert part["goodput_MBps"].max() > 0.03 * rate / 8  # other work may take its CPU

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


def test_a_cpu_that_is_not_there_is_told_by_the_check_and_by_the_runs(tmp_path):
    study = small_study("sockets") | {"socket": {"cpus_receiver": "4095"}}
    (tmp_path / "sockets.yml").write_text(yaml.safe_dump(study))
    checked = run_netlab("check", str(tmp_path / "sockets.yml"))
    assert checked.returncode == 1 and "CPU 4095 does not exist" in checked.stdout
    done = run_netlab("run", str(tmp_path / "sockets.yml"), "--results", str(tmp_path / "results"))
    assert done.returncode == 1 and "CPU 4095 does not exist" in done.stderr
