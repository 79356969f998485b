"""A study in a line, and its YAML."""

from __future__ import annotations

import pytest
from refusals import refused

import netlab
from netlab.errors import BadInput, NetlabError
from netlab.files.paths import data_dir

STUDIES = sorted(path.stem for path in (data_dir() / "studies").glob("*.yml"))


def link(study):
    (path,) = study.design.paths.values()
    return path.link


def test_two_names_make_a_study_of_two_lab_hosts():
    study = netlab.Study.between("left", "right")
    assert study.name == "left-right" and len(study.plan()) == 5
    assert {host.kind for host in study.design.hosts.values()} == {"lab"}
    assert link(study).segmentation_offload and link(study).emulator is None
    assert study.plan()["tuning"].unique().tolist() == ["as-found"]


def test_a_rate_is_of_the_link_and_an_rtt_makes_an_emulated_path():
    assert link(netlab.Study.between("a", "b", rate_Mbps=100)).rate_Mbps == 100
    far = link(netlab.Study.between("a", "b", rate_Mbps=100, rtt_ms=20, loss=0.01, queue_B=9000))
    assert (far.emulator.rate_Mbps, far.emulator.rtt_ms) == (100, 20)
    assert (far.emulator.loss, far.emulator.queue_B) == (0.01, 9000)


def test_a_list_is_a_factor_and_a_level_is_none():
    study = netlab.Study.between(
        "a", "b", rtt_ms=[1, 10], rate_Mbps=50, streams=[1, 4], mtu_B=[1500, 9000],
        congestion=["cubic", "reno"], both_ways=True, name="mine", timing={"rounds": 2},
    )  # fmt: skip
    plan = study.plan()
    assert len(plan) == 2 * 2 * 2 * 2 * 2 and study.name == "mine"
    assert set(plan["rtt_ms"]) == {1, 10} and "rate_Mbps" not in plan
    assert set(plan["direction"]) == {"<->"} and set(plan["tuning"]) == {"untuned"}
    assert set(plan["congestion"]) == {"cubic", "reno"} and set(plan["mtu_B"]) == {1500, 9000}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"ssh": True, "rtt_ms": 5}, "E-FACE-014"),
        ({"data": ("192.0.2.1", "192.0.2.2")}, "E-FACE-015"),
        ({"ssh": True, "rate_Mbps": [1, 2]}, "E-FACE-016"),
    ],
)
def test_what_makes_no_path_is_refused(given, code):
    with refused(BadInput, code):
        netlab.Study.between("a", "b", **given)


@pytest.mark.parametrize(
    "given", [{"streams": 0}, {"no_such_factor": 1}, {"tuning": "no-such"}, {"timing": {"s": 1}}]
)
def test_a_mistake_names_its_key(given):
    with pytest.raises(BadInput, match=next(iter(given)).partition("_")[0]):
        netlab.Study.between("a", "b", **given)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_the_same_from_its_yaml(name, quick, tmp_path):
    study = netlab.Study(name, quick=quick)
    text = study.to_yaml(tmp_path / "deep" / "mine.yml")
    assert (tmp_path / "deep" / "mine.yml").read_text("utf-8") == text
    again = netlab.Study(tmp_path / "deep" / "mine.yml")
    assert again.design == study.design and again.to_yaml() == text


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with refused(NetlabError, "E-FACE-013"):
        netlab.Study.between("a", "b").to_yaml(tmp_path / "file" / "mine.yml")


@pytest.mark.parametrize("hosts", [("left", "left"), ("left", None)])
def test_one_host_is_no_path(hosts):
    with refused(BadInput, "E-FACE-042"):
        netlab.Study.between(*hosts)


def test_a_timing_that_is_not_a_mapping_is_refused_by_its_name():
    with refused(BadInput, "E-FACE-043", match="timing"):
        netlab.Study.between("left", "right", timing=5)
