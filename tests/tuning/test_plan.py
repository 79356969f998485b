"""From a profile and a host's answers to changes, and how they are shown."""

import pytest

from netlab.errors import TuningError
from netlab.tuning.knobs import Knob
from netlab.tuning.plan import make_plan
from netlab.tuning.plan_text import plan_html, plan_text
from netlab.tuning.profiles import Profile, load_profile


class Host:
    """Answers reads from a table; a knob that is not in it is missing."""

    def __init__(self, values, read_only=(), reason="no such setting in this kernel"):
        self.values, self.read_only, self.reason = values, read_only, reason

    def __call__(self, knob):
        value = self.values.get(knob.label)
        writable = value is not None and knob.label not in self.read_only
        reason = self.reason if value is None else None if writable else "read-only here"
        return {
            "value": value,
            "supported": value is not None,
            "writable": writable,
            "reason": reason,
        }


def profile(*items):
    return Profile(name="p", title="t", source="s", lineage=("p",), notes=(), items=items)


def sysctl(value, name="net.ipv4.tcp_sack", **more):
    return Knob(kind="sysctl", name=name, value=value, source="appendix C", **more)


def test_a_plan_distinguishes_a_change_an_equal_value_and_a_missing_knob():
    gone = sysctl("1", "net.ipv4.tcp_tw_recycle", when_missing="left Linux in 4.12")
    host = Host({"net.ipv4.tcp_sack": "1", "mtu": "1500"})
    plan = make_plan(host, profile(sysctl("0"), gone), "eth0", mtu_B=1500)
    mtu, sack, recycle = plan
    assert (mtu.changes, mtu.supported, mtu.interface) == (False, True, "eth0")
    assert (sack.changes, sack.old, sack.new, sack.interface) == (True, "1", "0", None)
    assert not recycle.supported and recycle.old is None
    assert recycle.reason == "no such setting in this kernel; left Linux in 4.12"
    assert plan_text(plan) == (
        "  eth0 mtu = 1500   # the study's MTU\n"
        "- net.ipv4.tcp_sack = 1\n"
        "+ net.ipv4.tcp_sack = 0   # appendix C\n"
        "! net.ipv4.tcp_tw_recycle = 1   # unsupported: no such setting in this kernel; "
        "left Linux in 4.12 (appendix C)\n"
    )


def test_a_read_only_knob_that_has_the_value_is_not_a_failure():
    host = Host({"net.ipv4.tcp_sack": "1"}, read_only=("net.ipv4.tcp_sack",))
    (same,) = make_plan(host, profile(sysctl("1")), "eth0")
    (other,) = make_plan(host, profile(sysctl("0")), "eth0")
    assert same.supported and not same.changes
    assert not other.supported and other.reason == "read-only here" and other.old == "1"


def test_the_first_supported_way_wins_and_the_others_are_recorded():
    none = load_profile("openlab-2003-normal")
    card = make_plan(Host({"coalesce rx-usecs": "3"}), none, "eth0", software_deferral=True)
    assert [c.knob.label for c in card if c.parameter] == ["coalesce rx-usecs"]
    veth = Host({"defer gro_flush_timeout": "0", "defer napi_defer_hard_irqs": "0"})
    ways = [c for c in make_plan(veth, none, "eth0", software_deferral=True) if c.parameter]
    assert [(c.knob.label, c.supported) for c in ways] == [
        ("coalesce rx-usecs", False),
        ("defer napi_defer_hard_irqs", True),
        ("defer gro_flush_timeout", True),
    ]
    assert ways[0].reason.endswith("defer gro_flush_timeout instead")
    (unasked,) = [c for c in make_plan(veth, none, "eth0") if c.parameter]
    assert not unasked.supported


def test_half_of_an_option_is_not_set():
    half = Host({"defer gro_flush_timeout": "0"})
    ways = [
        c
        for c in make_plan(
            half, load_profile("openlab-2003-normal"), "eth0", software_deferral=True
        )
        if c.parameter
    ]
    assert not any(c.supported for c in ways)
    assert "other knob" in ways[-1].reason


def test_extra_knobs_replace_the_profiles_and_come_last():
    extra = sysctl("2")
    host = Host({"net.ipv4.tcp_sack": "1", "mtu": "1500"})
    plan = make_plan(host, profile(sysctl("0")), "eth0", mtu_B=9000, extra_knobs=[extra])
    assert [(c.knob.label, c.new) for c in plan] == [("mtu", "9000"), ("net.ipv4.tcp_sack", "2")]


def test_a_missing_interface_is_an_error_not_an_unsupported_knob():
    host = Host({}, reason="no such interface: eth9")
    with pytest.raises(TuningError, match="eth9"):
        make_plan(host, profile(), "eth9", mtu_B=1500)


def test_values_are_escaped_in_html():
    host = Host({"net.ipv4.tcp_sack": "<script>"})
    shown = plan_html(make_plan(host, profile(sysctl("a&b")), "eth0"))
    assert "&lt;script&gt;" in shown and "a&amp;b" in shown and "<script>" not in shown


def test_as_found_records_without_setting():
    profile = load_profile("as-found")
    assert profile.items == ()
    labels = [setting.label for setting in profile.records]
    assert len(labels) == len(set(labels))
    assert {"mtu", "ring rx", "feature tso", "net.ipv4.tcp_rmem", "coalesce rx-usecs"} <= set(
        labels
    )


@pytest.mark.parametrize("name", ["kernel.core_pattern", "vm.drop_caches", "fs.file-max"])
def test_a_sysctl_that_runs_programs_or_cannot_be_put_back_is_refused(name):
    with pytest.raises(ValueError, match=r"a tuning sets sysctls of net|not the name"):
        sysctl("1", name)
    assert sysctl("0", "kernel.numa_balancing").label == "kernel.numa_balancing"
