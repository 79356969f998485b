"""Knobs that are not known to revert exactly are refused, unless their tuning states a risk."""

from __future__ import annotations

import pytest

from netlab.errors import TuningError
from netlab.tuning.exact import SYSCTLS, is_exact, refusal
from netlab.tuning.knobs import HOSTWIDE, NAMES, Knob
from netlab.tuning.plan import make_plan
from netlab.tuning.profiles import each_knob, load_profile, profile_names

FORWARD = {"kind": "sysctl", "name": "net.ipv4.ip_forward", "value": 0, "source": "here"}


def readable(knob):
    return {"value": "1", "supported": True, "writable": True, "reason": None}


def planned(**words):
    knob = Knob(**FORWARD, **words)
    return make_plan(readable, load_profile("as-found"), "v0", extra_knobs=(knob,))


def test_every_kind_of_knob_is_exact_and_sysctls_are_by_their_names():
    assert all(is_exact(kind, None) for kind in (*NAMES, *HOSTWIDE) if kind != "sysctl")
    assert is_exact("sysctl", "net.core.rmem_max")
    assert not is_exact("sysctl", "net.core.rmem") and not is_exact("sysctl", None)
    assert all(Knob(kind="sysctl", name=name, value=1, source="here") for name in SYSCTLS)


@pytest.mark.parametrize("name", profile_names())
def test_the_tunings_of_netlab_set_exact_knobs_or_state_their_risk(name):
    for _, knob in each_knob(load_profile(name).items):
        assert knob.is_exact or knob.risk, knob.label


def test_a_plan_with_another_knob_is_refused_unless_the_knob_states_its_risk():
    with pytest.raises(TuningError, match="it resets the forwarding") as caught:
        planned()
    assert caught.value.code == "E-TUNING-031"
    (change,) = planned(risk="the host forwards for nobody")
    assert change.changes and change.record()["risk"] == "the host forwards for nobody"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("net.ipv4.tcp_rmen", "did you mean net.ipv4.tcp_rmem?"),
        ("net.core.rmem_mx", "did you mean net.core.rmem_max?"),
        ("net.ipv4.tcp_congestion_control", "`congestion`"),
        ("net.ipv4.neigh.eth0.unres_qlen", "one number in two units"),
        ("net.ipv6.conf.eth0.disable_ipv6", "addresses and routes"),
        ("net.unix.max_dgram_qlen", 'risk: "..."'),
    ],
)
def test_a_refusal_names_what_is_meant_or_known_and_what_to_do(name, hint):
    assert hint in refusal(name) and 'risk: "..."' in refusal(name)
