"""Sessions on a busy host, with `gensink tune` and its guard under sanitizers."""

from __future__ import annotations

import platform

import pytest

from .conftest import begun, ended, state

CHANGES = (
    "knob=mtu interface=v0 value=1500",
    "knob=feature name=tso interface=v0 value=off",
    "knob=channels name=rx interface=v0 value=1",
    "knob=sysctl name=net.ipv6.conf.v0.disable_ipv6 value=1 risk=1",
    "knob=sysctl name=net.ipv4.neigh.v0.unres_qlen value=200 risk=1",
    "knob=sysctl name=net.ipv4.tcp_sack value=0",
)


@pytest.mark.parametrize("ending", ["end", "kill", "kill both"])
def test_a_session_of_many_side_effects_is_clean_under_sanitizers(
    hardened, sanitized, tmp_path, ending
):
    """A finding goes to a file, from the guard too, which has no standard error."""
    log = f"log_path={tmp_path}/finding"
    environment = [f"{name}_OPTIONS={log}:halt_on_error=1" for name in ("ASAN", "UBSAN", "TSAN")]
    hardened.prefix = ("env", *environment, "setarch", platform.machine(), "-R")
    hardened.program = (sanitized / "gensink", "tune")
    before = state(hardened)
    channel = begun(hardened)
    for change in CHANGES:
        answers = channel.ask_all(f"set {change}", "set")
        assert answers[-1]["status"] == "applied", answers
    if ending == "end":
        assert ended(channel) == []
    elif ending == "kill":
        channel.kill()
        hardened.settled()
    else:
        channel.kill_both()
        later = hardened.tune()
        assert "unrestored" not in later.ask_all("recover", "reverted_all")[-1]
        assert later.close() == 0
    assert [file.read_text() for file in tmp_path.glob("finding*")] == []
    assert state(hardened) == before
