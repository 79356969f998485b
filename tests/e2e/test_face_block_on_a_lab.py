"""The face of a study on a lab: its examples, and a block."""

from __future__ import annotations

import pytest
from e2e.conftest import small_study
from face.examples import ON_A_LAB, examples, failures
from face_home import home_at

import netlab
from netlab.errors import BadInput

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
    # round trips of the emulator are within 200 us
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
