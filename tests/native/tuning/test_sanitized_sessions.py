"""Sessions on a busy host, with `gensink tune` and its guard under sanitizers."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest
from native.tuning.conftest import RUN, begun, ended, on_own_disk, recorded, state

CHANGES = (
    "knob=mtu interface=v0 value=1500",
    "knob=feature name=tso interface=v0 value=off",
    "knob=channels name=rx interface=v0 value=1",
    "knob=sysctl name=net.ipv6.conf.v0.disable_ipv6 value=1 risk=1",
    "knob=sysctl name=net.ipv4.neigh.v0.unres_qlen value=200 risk=1",
    "knob=sysctl name=net.ipv4.tcp_sack value=0",
)


def sanitized_words(place: Path) -> tuple[str, ...]:
    """Words before a sanitized program: its findings go to files of a place.

    Also those of the guard, which has no standard error.
    """
    log = f"log_path={place}/finding"
    environment = [f"{name}_OPTIONS={log}:halt_on_error=1" for name in ("ASAN", "UBSAN", "TSAN")]
    return ("env", *environment, "setarch", platform.machine(), "-R")


def findings(place: Path) -> list[str]:
    return [file.read_text() for file in place.glob("finding*")]


@pytest.mark.parametrize("ending", ["end", "kill", "kill both"])
def test_a_session_of_many_side_effects_is_clean_under_sanitizers(
    hardened, sanitized, tmp_path, ending
):
    hardened.prefix = sanitized_words(tmp_path)
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
    assert findings(tmp_path) == []
    assert state(hardened) == before


def test_changes_that_a_full_disk_refuses_leave_no_memory_behind(namespace, sanitized, tmp_path):
    namespace.program = (sanitized / "gensink", "tune")
    namespace.prefix = (*on_own_disk("size=8m,mode=700"), *sanitized_words(tmp_path))
    channel = begun(namespace)
    recorded(channel)
    disk = Path(f"/proc/{channel.pid}/root{RUN}")
    free = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(bytes(free.f_bavail * free.f_bsize))
    for value in (9000, 3000, 2000):
        answer = channel.ask(f"set knob=mtu interface=v0 value={value}")
        assert answer["status"] == "refused" and "nothing was changed" in answer["reason"], answer
    filler.unlink()
    assert ended(channel) == []
    assert findings(tmp_path) == []
