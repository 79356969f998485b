"""The study that is written is valid, whatever was found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.study import is_name, load
from netlab.survey.findings import Finding
from netlab.survey.study_text import Reached, name_of, study_text
from netlab.survey.surveyed import FoundEnd, FoundPath, HostSurvey, Interface

printable = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)


def written(tmp_path, text):
    file = tmp_path / "found.yml"
    file.write_text(text)
    return load(file)


@settings(max_examples=20)
@given(os=printable, cpu=printable, driver=printable, reason=printable, rtt=st.floats(0.001, 2000))
def test_it_is_valid(tmp_path_factory, os, cpu, driver, reason, rtt):
    card = Interface("eth2", speed_Mbps=100_000, driver=driver, mtu_B=9000)
    left = HostSurvey("alpha", os=os, cpu_model=cpu, cpus=64)
    right = HostSurvey("beta", kernel=os)
    ends = (FoundEnd(left, card, "192.0.2.1"), FoundEnd(right, card, "192.0.2.2"))
    hosts = (Reached("alpha", "alpha.example.org", port=2222), Reached("beta", "::1", user="me"))
    path = FoundPath(ends, rtt)
    text = study_text("mine", hosts, (path, path), (Finding("alpha", reason, reason),))
    study = written(tmp_path_factory.mktemp("text"), text)
    assert study.hosts["alpha"].port == 2222 and study.hosts["beta"].user == "me"
    assert [level.name for level in study.tunings] == ["as-found"]
    assert study.streams == (1, 4, 32) or list(study.streams) == [1, 4, 32]
    warmup_s = study.timing.warmup_s
    assert warmup_s is None or warmup_s >= 20 * rtt / 1e3 - 0.1


def test_what_stands_in_comments_is_valid_too(tmp_path):
    card = Interface("eth2", speed_Mbps=10_000)
    left, right = HostSurvey("alpha"), HostSurvey("beta")
    ends = (FoundEnd(left, card, "192.0.2.1"), FoundEnd(right, card, "192.0.2.2"))
    hosts = (Reached("alpha", "alpha"), Reached("beta", "beta"))
    text = study_text("mine", hosts, (FoundPath(ends, 183.2),), ())
    lines = [
        line.replace("# ", "", 1) if "# -" in line or line.startswith("  #  ") else line
        for line in text.splitlines()
    ]
    study = written(tmp_path, "\n".join(lines))
    assert [group.name for group in study.groups] == [
        "alpha -> beta",
        "beta -> alpha",
        "alpha <-> beta",
    ]
    larger = study.tuning_profile("alpha", "larger")
    # four times the bandwidth-delay product of 10 Gb/s and 183.2 ms
    assert [item.value for item in larger.items] == ["4096 131072 916000000"] * 2


@pytest.mark.parametrize(
    ("address", "taken", "name"),
    [
        ("alpha.example.org", [], "alpha"),
        ("192.0.2.1", [], "left"),
        ("192.0.2.1", ["left"], "right"),
        ("::1", [], "left"),
        ("alpha", ["alpha"], "left"),
        ("node_1", [], "node_1"),
    ],
)
def test_the_name_of_a_host(address, taken, name):
    assert name_of(address, taken) == name


@given(st.text(min_size=1, max_size=60))
def test_every_name_of_a_host_is_valid_in_a_study(address):
    assert is_name(name_of(address))
