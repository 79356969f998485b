"""Studies on a real lab as a notebook makes them: crossed factors, examples, and a block."""

from __future__ import annotations

import json

import pytest
import yaml
from e2e.conftest import run_netlab, small_study
from face.examples import ON_A_LAB, examples, failures
from face_home import home_at

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


# The face of a study on a lab: its examples, and a block.

EXAMPLES = examples()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A directory with studies and results of its own, current for the tests."""
    with pytest.MonkeyPatch.context() as patch:
        yield home_at(tmp_path_factory.mktemp("home"), patch)


@pytest.mark.parametrize("name", sorted(ON_A_LAB))
def test_an_example_on_a_lab_is_true_and_leaves_nothing(name, home, machine_untouched):
    assert failures(EXAMPLES[name]) == ""


def test_a_block_is_measured_once_and_shows_what_it_met(home, machine_untouched):
    study = netlab.Study(small_study("blocks"), rounds=2)
    block = study.measure("cable@openlab-2003-full@9000")
    assert block.result.runs["round"].tolist() == [1] * len(block.result.runs)
    assert "net.ipv4.tcp_sack" in repr(block.changes) and "tcp_tw_recycle" in repr(block.notes)
    assert "packets transmitted" in block.path.text and "4 Streams" in repr(block.cells)
    again = study.measure("cable@openlab-2003-full@9000")
    assert len(again.result.runs) == (block.result.runs["flags"] != "").sum()
    second = study.measure("cable@openlab-2003-full@9000", round=2)
    assert sorted(second.runs["round"].unique()) == [1, 2]
    with pytest.raises(BadInput, match="no such block"):
        study.measure("cable@openlab-2003-full@1500")


def test_a_block_names_what_a_knob_with_a_risk_changed_beside_itself(home, machine_untouched):
    forwards = {"kind": "sysctl", "name": "net.ipv4.ip_forward", "value": 1}
    content = small_study("forwards") | {
        "groups": [{"name": "one", "path": "cable", "sender": "left", "timing": {"seconds": 0.3}}],
        "streams": [1],
        "tunings": [{"name": "forwards", "mtus_B": [1500], "knobs": [forwards]}],
    }
    with pytest.raises(BadInput, match="not among the knobs that revert exactly") as caught:
        netlab.Study(content)
    assert caught.value.code == "E-STUDY-089"
    content["tunings"][0]["risk"] = "Hosts of the lab have nobody to forward to."
    block = netlab.Study(content).measure("cable@forwards@1500")
    assert "risk: Hosts of the lab" in repr(block.changes)
    named = block.notes.frame.query("what == 'risk'").set_index("host")["reason"]
    assert set(named.index) == {"left", "right"}
    assert "net.ipv4.conf.all.accept_redirects, 1 to 0" in named["left"]
    assert block.result.conflicts == []


def test_a_study_in_a_line_is_measured_and_read_as_frames(tmp_path, machine_untouched):
    study = netlab.Study.between(
        "left", "right", rate_Mbps=100, rtt_ms=[5, 20], streams=4, name="line",
        timing={"rounds": 1, "seconds": 0.5, "warmup_s": 0.5},
    )  # fmt: skip
    results = study.run(results=tmp_path / "r", progress=False)
    runs = results.runs
    assert len(runs) == 2 and set(runs["rtt_ms"]) == {5, 20}
    # the emulator keeps round trips within 200 us
    assert (runs["min_rtt_us"].dropna() >= 1000 * runs["rtt_ms"] - 200).all()
    # netlab fails a run of its own whose streams ended before the window, as on a busy machine
    made = runs["goodput_MBps"].dropna()
    assert (made <= 100 / 8 * 1.02).all() and (made > 0).all()
    rates = results.rates
    assert rates.groupby("run_id")["bytes"].sum().sum() == runs["interval_sum_B"].sum()
    assert set(results.settings.query("setting == 'host.kernel'")["host"]) == {"left", "right"}
    # the same study, from its file, has nothing left to measure
    study.to_yaml(tmp_path / "line.yml")
    valid = runs.loc[runs["flags"] == "", ["run_id", "started_at"]]
    again = netlab.Study(tmp_path / "line.yml").run(results=tmp_path / "r", progress=False).runs
    assert len(again.merge(valid, on=["run_id", "started_at"])) == len(valid)
