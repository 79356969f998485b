"""The dead-man timer: whichever process dies, and however, the knobs are reverted, once."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

import pytest
from native.seccomp import refusing
from native.tuning.conftest import RUN, SACK, on_own_disk, recorded, statuses

REQUESTS = [
    "begin",
    f"set {SACK} value=0",
    "set knob=sysctl name=net.ipv4.tcp_rmem value=4096%2087380%20174760",
    "set knob=sysctl name=net.ipv4.tcp_wmem value=409600%20163840%20oops",
    "set knob=mtu interface=v0 value=9000",
    "set knob=txqueuelen interface=v0 value=3000",
    "set knob=feature name=tx-checksum interface=v0 value=off",
    "set knob=feature name=rx-checksum interface=v0 value=off",
    "set knob=defer name=napi_defer_hard_irqs interface=v0 value=1",
    "set knob=defer name=gro_flush_timeout interface=v0 value=52429",
    "set knob=offload name=gso_max_size interface=v0 value=185000",
    "set knob=qdisc interface=v0 value=bfifo",
    "set knob=channels name=rx interface=v0 value=2",
    "set knob=mtu interface=v0 value=4000",
]


def begun(namespace, count, *options):
    channel = namespace.tune(*options)
    for request in REQUESTS[: count + 1]:
        assert channel.ask(request)["event"] in ("begun", "set")
    return channel


@pytest.mark.parametrize("whole_group", [False, True])
def test_the_guard_reverts_every_knob_when_the_process_or_its_group_is_killed(host, whole_group):
    channel = begun(host, len(REQUESTS) - 1)
    if whole_group:
        os.killpg(channel.pid, signal.SIGKILL)
        channel.process.wait(timeout=30)
    else:
        channel.kill()


@pytest.mark.parametrize("delay_ms", [0, 2, 8])
def test_a_kill_in_the_middle_of_many_requests_reverts_them_all(host, delay_ms):
    channel = begun(host, 0)
    channel.send_bytes("\n".join([*REQUESTS[1:], "verify", "revert", ""]).encode())
    time.sleep(delay_ms / 1000)
    channel.kill()


def test_the_guard_has_none_of_its_parents_streams_open(namespace):
    channel = begun(namespace, 1)
    guard = channel.guard_pid()
    held = {os.readlink(f"/proc/{guard}/fd/{fd}") for fd in os.listdir(f"/proc/{guard}/fd")}
    streams = {os.readlink(f"/proc/{channel.pid}/fd/{fd}") for fd in (0, 1)}
    assert not held & streams
    assert os.getsid(guard) == guard
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        os.kill(guard, number)
    assert channel.ask("keepalive") == {"event": "alive"}
    assert channel.guard_pid() == guard


@pytest.mark.parametrize("refused", [(), ("close_range",)], ids=["at once", "one by one"])
def test_the_guard_has_no_descriptor_that_a_controller_left_open(namespace, refused):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = min(1000 if refused else 70_000, hard - 1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number + 1), hard))
    try:
        os.dup2(0, number)
        channel = namespace.tune(pass_fds=(number,), preexec_fn=refusing(*refused))
    finally:
        os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert channel.ask("begin")["event"] == "begun"
    assert str(number) in os.listdir(f"/proc/{channel.pid}/fd")
    assert str(number) not in os.listdir(f"/proc/{channel.guard_pid()}/fd")


def test_silence_longer_than_the_hold_time_reverts_and_the_process_detects_it(namespace):
    before = namespace.dump()
    channel = begun(namespace, 6, "--hold-s", "3")
    namespace.settled_journal()
    assert namespace.dump() == before
    answer = channel.ask(f"set {SACK} value=0")
    assert (answer["event"], answer["code"]) == ("error", "timeout")
    assert namespace.dump() == before
    assert channel.ask("begin")["event"] == "begun"
    assert channel.ask_all("end", "ended")[-1]["event"] == "ended"
    assert channel.close() == 1


@pytest.mark.parametrize(
    ("request_line", "answer"),
    [("keepalive", ("event", "alive")), (f"read {SACK}", ("value", "0"))],
)
def test_a_request_of_any_kind_holds_the_tuning(namespace, request_line, answer):
    channel = begun(namespace, 1, "--hold-s", "3")
    for _ in range(9):
        time.sleep(0.4)
        assert answer in channel.ask(request_line).items()
    assert namespace.sysctl("net.ipv4.tcp_sack") == "0"


def test_a_stopped_process_loses_its_tuning_and_detects_it_when_continued(namespace):
    channel = begun(namespace, 1, "--hold-s", "3")
    channel.kill(signal.SIGSTOP)
    namespace.settled_journal()
    assert namespace.sysctl("net.ipv4.tcp_sack") == "1"
    channel.kill(signal.SIGCONT)
    assert channel.ask("verify")["code"] == "timeout"


def test_a_killed_guard_is_replaced(host):
    channel = begun(host, 3)
    first = channel.kill_guard()
    assert channel.ask("keepalive") == {"event": "alive"}
    assert channel.guard_pid() != first
    channel.kill()


def test_when_both_are_killed_the_next_session_recovers(namespace):
    before = namespace.dump()
    begun(namespace, len(REQUESTS) - 1).kill_both()
    assert namespace.dump() != before
    assert len(namespace.journals()) == 1
    channel = namespace.tune()
    assert channel.ready["stale"] == 12
    answers = channel.ask_all("recover", "reverted_all")
    counts = {"conflicts": 0, "absent": 0, "failed": 0}
    assert answers[-1] == {"event": "reverted_all", **counts}
    assert set(statuses(answers)) == {"restored"}
    assert namespace.dump() == before
    assert namespace.journals() == []
    assert channel.close() == 0


def test_the_journal_of_a_living_session_is_not_stale(namespace):
    begun(namespace, 1)
    channel = namespace.tune()
    assert channel.ready["stale"] == 0
    assert channel.ask("recover")["code"] == "in_use"
    assert namespace.sysctl("net.ipv4.tcp_sack") == "0"


def test_a_journal_of_another_namespace_is_left_alone(make_namespace):
    """Also one of a deleted namespace whose inode this one has: its cookie differs."""
    here, there = make_namespace(), make_namespace()
    begun(there, 1).kill_both()
    (journal,) = there.journals()
    here.sysctl("net.ipv4.tcp_sack", "0")
    _, _, cookie, boot = journal.stem.split("-")
    assert int(cookie) > 0
    copy = journal.with_name(f"tune-{here.inode}-{cookie}-{boot}.journal")
    copy.write_bytes(journal.read_bytes())
    channel = here.tune()
    assert channel.ready["stale"] == 0
    assert len(channel.ask_all("recover", "reverted_all")) == 1
    assert here.sysctl("net.ipv4.tcp_sack") == "0"
    assert journal.exists() and copy.exists()
    recovering = there.tune()
    assert recovering.ask_all("recover", "reverted_all")[0]["status"] == "restored"


def test_the_journal_is_not_in_the_home(namespace, tmp_path):
    """Hosts that share a home over NFS share no journal."""
    namespace.prefix = ("env", f"HOME={tmp_path}", f"XDG_CACHE_HOME={tmp_path}")
    channel = begun(namespace, 4)
    (journal,) = namespace.journals()
    assert (journal.stat().st_mode & 0o777, journal.parent.stat().st_mode & 0o022) == (0o600, 0)
    assert channel.close() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["uid=65534,mode=700", "mode=777"])
def test_an_unsafe_directory_is_refused(namespace, how):
    namespace.prefix = on_own_disk(how)
    answer = namespace.tune().ask("begin")
    assert answer["code"] == "refused" and "belongs to another user" in answer["message"]


@pytest.mark.parametrize(
    ("pages", "reason"), [(0, "nothing was changed"), (1, "the knob was reverted")]
)
def test_a_full_disk_refuses_a_change(namespace, pages, reason):
    """The record of a change takes a page, its readback a second."""
    namespace.prefix = on_own_disk("size=8m,mode=700")
    channel = begun(namespace, 0)
    recorded(channel)
    disk = Path(f"/proc/{channel.pid}/root{RUN}")
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes((free.f_bavail - pages) * free.f_bsize))
    for value in (9000, 3000):
        answer = channel.ask(f"set knob=txqueuelen interface=v0 value={value}")
        assert answer["status"] == "refused" and reason in answer["reason"], answer
        assert "No space left on device" in answer["reason"]
        assert namespace.link("txqueuelen") == 1000


def test_a_disk_without_room_for_the_state_of_the_host_refuses_every_change(namespace):
    namespace.prefix = on_own_disk("size=8k,mode=700")
    channel = begun(namespace, 0)
    for value in (9000, 3000):
        answer = channel.ask(f"set knob=mtu interface=v0 value={value}")
        assert answer["status"] == "refused" and "nothing was changed" in answer["reason"], answer
        assert "No space left on device" in answer["reason"]
        assert namespace.link("mtu") == 1500
    assert channel.ask_all("end", "ended") == [
        {"event": "ended", "conflicts": 0, "absent": 0, "failed": 0}
    ]
    assert channel.close() == 0


def test_a_process_without_input_ends_and_reverts(host):
    """A controller that lost power never closes its end: `tune` ends by itself."""
    channel = begun(host, 6, "--silence-s", "3")
    for _ in range(9):
        time.sleep(0.4)
        channel.send("")  # no answer
    assert channel.ask("keepalive") == {"event": "alive"}
    assert channel.process.wait(timeout=30) == 1
