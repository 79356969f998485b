"""A study that sets a knob which may not revert exactly says why, or is refused."""

from __future__ import annotations

import pytest

from netlab.cli.loading import with_tunings
from netlab.errors import BadInput
from netlab.study.design import Study
from netlab.study.file import load, load_stored
from netlab.study.frozen import freeze
from netlab.study.model import contents

STUDY = """netlab: 1
name: forwarding
title: Forwarding
hosts: {left: {kind: lab}, right: {kind: lab}}
paths: {link: {ends: [{host: left}, {host: right}]}}
streams: [1]
groups: [{name: one, path: link, sender: left}]
"""
INLINE = """tunings:
  - name: still
    knobs:
      - {kind: sysctl, name: net.core.rmem_max, value: 67108864}
      - {kind: sysctl, name: net.ipv4.ip_forward, value: 0}
"""


def study(tmp_path, text: str) -> Study:
    (tmp_path / "forwarding.yml").write_text(STUDY + text, encoding="utf-8")
    return load(tmp_path / "forwarding.yml")


def refused(tmp_path, text: str) -> BadInput:
    with pytest.raises(BadInput, match="not among the knobs that revert exactly") as caught:
        study(tmp_path, text)
    assert caught.value.code == "E-STUDY-089"
    return caught.value


def test_a_knob_of_an_inline_tuning_is_refused_at_its_line(tmp_path):
    error = refused(tmp_path, INLINE)
    assert f"{tmp_path / 'forwarding.yml'}:12: tunings.0.knobs.1" in str(error)
    assert 'risk: "..."' in str(error)


def test_a_knob_of_a_choice_of_a_profile_is_refused(tmp_path):
    error = refused(
        tmp_path,
        "tunings: [{name: own}]\nprofiles:\n  own:\n    knobs:\n      - parameter: Forward\n"
        "        published: 0\n        first_supported:\n"
        "          - knobs: [{kind: sysctl, name: net.ipv4.conf.all.forwarding, value: 0}]\n",
    )
    assert error.key == "profiles.own.knobs.0.first_supported.0.knobs.0"


def test_a_knob_of_a_tuning_beside_the_study_is_refused_with_the_line_of_that_file(tmp_path):
    beside = tmp_path / "own.yml"
    beside.write_text("knobs:\n  - {kind: sysctl, name: net.ipv4.ip_forward, value: 0}\n")
    assert str(refused(tmp_path, "tunings: [{name: own}]\n")).startswith(f"{beside}:2: ")


@pytest.mark.parametrize(
    "text",
    [
        INLINE.replace("name: still", "name: still\n    risk: Nobody is forwarded to."),
        INLINE.replace("value: 0}", "value: 0, risk: Nobody is forwarded to.}"),
    ],
)
def test_a_stated_risk_of_tuning_or_knob_reaches_the_plan_and_no_digest(tmp_path, text):
    loaded = study(tmp_path, text)
    (rmem, forward) = loaded.tuning_profile("left", "still").items
    assert (rmem.risk, forward.risk) == (None, "Nobody is forwarded to.")
    assert "risk" not in str(contents(loaded))
    other = study(tmp_path, text.replace("Nobody", "No host"))
    assert other.digest() == loaded.digest()


def test_a_risk_without_own_knobs_is_refused(tmp_path):
    with pytest.raises(BadInput, match="risk: state it where the knobs are"):
        study(tmp_path, "tunings: [{name: esnet-10g, risk: none}]\n")


def test_results_that_were_measured_without_a_risk_are_read_and_not_measured_again(tmp_path):
    text = INLINE.replace("value: 0}", "value: 0, risk: Nobody is forwarded to.}")
    file = freeze(study(tmp_path, text), tmp_path)
    assert with_tunings(load_stored(file)).tuning_profile("left", "still").items[1].risk
    old = file.read_text().replace("risk: Nobody is forwarded to.", "risk: null")
    file.write_text(old)
    assert load_stored(file).tuning_profile("left", "still").items[1].risk is None
    with pytest.raises(BadInput, match="to set it all the same") as caught:
        with_tunings(load_stored(file))
    assert caught.value.code == "E-CLI-045"
