"""Request of a screen: rows as tunings of a study, knobs that are factors, refusals."""

from __future__ import annotations

import pytest
from refusals import refused
from search.screened import SYSCTLS, screened_study

from netlab.errors import BadInput
from netlab.search.screen.design import FOLDED, design
from netlab.search.screen.probe import Probed, probed
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.run import screen
from netlab.study.schedule import rounds
from netlab.tuning.plan import Change


def ask(**how) -> ScreenRequest:
    return ScreenRequest(**{"study": screened_study(), "tuning": "mine"} | how)


def test_the_rows_are_the_tunings_of_a_study_with_the_rules_of_its_base():
    precision = {"half_width_percent": 3.0, "min_rounds": 4, "max_rounds": 9}
    request = ask(study=screened_study(precision=precision, seed=12))
    plan = design(request.items, FOLDED)
    study = request.screen_study(plan)
    assert [level.name for level in study.tunings] == list(plan.rows)
    assert study.precision == request.study.precision and study.seed == 12
    assert {level.mtus_B for level in study.tunings} == {(9000,)}
    for level, chosen in zip(study.tunings, plan.rows.values(), strict=True):
        profile = study.tuning_profile("a", level.name)
        assert [request.items[knob] for knob in chosen] == list(profile.items)
    assert all(len(each) == len(plan.rows) for each in rounds(study))
    assert study.name == "lab-test-screen"


def test_the_confirmation_has_the_whole_tuning_its_least_set_and_none():
    request = ask(confirm_rounds=7)
    study = request.confirm_study(("net.ipv4.tcp_rmem",))
    names = [level.name for level in study.tunings]
    sizes = {name: len(study.tuning_profile("a", name).items) for name in names}
    assert sizes == {"full-tuning": len(request.items), "least-set": 1, "no-knob": 0}
    assert study.max_rounds == 7


def test_a_tuning_of_netlab_needs_no_level_of_the_study_and_an_mtu_may_be_a_knob():
    request = ask(tuning="openlab-2003-full")
    assert request.mtus_B is None and len(request.items) > 10
    assert ask(mtu_B=1500).mtus_B == (1500,)
    tunings = [{"name": "mine", "knobs": [{"kind": "mtu", "value": "9000"}]}]
    request = ask(study=screened_study(tunings=tunings))
    study = request.screen_study(design(request.items))
    assert {level.mtus_B for level in study.tunings} == {None}


def groups(*names: str) -> tuple[dict, ...]:
    return tuple({"name": name, "path": "a-b", "sender": "a"} for name in names)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"design": "half"}, "E-SCREEN-005"),
        ({"same_within_percent": 0.0}, "E-SCREEN-006"),
        ({"confirm_rounds": 2}, "E-SCREEN-007"),
        ({"tuning": "as-found"}, "E-SCREEN-008"),
        ({"study": screened_study(factors={"buffer_B": [0, 65536]})}, "E-SCREEN-009"),
        ({"study": screened_study(outer={"kernel": ["old", "new"]})}, "E-SCREEN-009"),
        ({"study": screened_study(groups=groups("one", "two"))}, "E-SCREEN-010"),
        ({"group_name": "other"}, "E-SCREEN-010"),
        ({"tuning": "unknown"}, "E-TUNING-008"),
    ],
)
def test_a_request_that_cannot_be_measured_is_refused(how, code):
    with refused(BadInput, code):
        ask(**how)


def change(knob, *, old="0", supported=True, reason=None, parameter=None) -> Change:
    interface = None if knob.kind == "sysctl" else "eth0"
    return Change(knob, interface, old, supported, reason, parameter)


def test_knobs_are_sorted_into_factors_and_what_hosts_lack_or_have():
    items = ask().items
    sysctl = [items[f"net.ipv4.{name}"] for name in SYSCTLS]
    ring, delay = items["ring rx"], items["RxIntDelay"].first_supported[0].knobs[0]
    lacking = {"supported": False, "reason": "no rings"}
    refused_by_a = change(sysctl[5], supported=False, reason="no such sysctl")
    of_a = [*map(change, sysctl[:4]), change(sysctl[4], old="1"), refused_by_a]
    of_b = [*(change(knob, old="1") for knob in sysctl[:5]), change(sysctl[5], old="0")]
    of_a += [change(ring, **lacking), change(delay, parameter="RxIntDelay", **lacking)]
    of_b += [change(ring, **lacking), change(delay, parameter="RxIntDelay")]
    found = probed(items, {"a": of_a, "b": of_b})
    assert found.factors == (*(f"net.ipv4.{n}" for n in (*SYSCTLS[:4], SYSCTLS[5])), "RxIntDelay")
    assert ("a", "net.ipv4.tcp_ecn") in {(one["host"], one["knob"]) for one in found.unsupported}
    assert found.left_out == {
        "net.ipv4.tcp_retries2": "a, b: is 1 already",
        "ring rx": "a, b: no rings",
    }


def test_a_buffer_limit_that_netlab_observes_itself_is_a_factor():
    name = "net.core.rmem_max"
    knobs = [{"kind": "sysctl", "name": name, "value": "65536"}]
    request = ask(study=screened_study(tunings=[{"name": "mine", "knobs": knobs}]))
    plan = [change(request.items[name], supported=False, reason="belongs to the machine")]
    found = probed(request.items, {"a": plan, "b": plan})
    assert found.factors == (name,) and len(found.unsupported) == 2


def test_a_tuning_that_changes_nothing_here_is_refused_with_the_reasons(tmp_path):
    nothing = Probed((), ({"host": "a", "knob": "ring rx", "reason": "no rings"},))
    lines: list[str] = []
    with refused(BadInput, "E-SCREEN-011"):
        screen(ask(), tmp_path, read=lambda request: nothing, say=lines.append)
    assert lines == ["not a factor: ring rx: a: no rings"]
    assert not list(tmp_path.iterdir())
